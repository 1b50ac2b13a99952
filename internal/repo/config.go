package repo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile bounds what is read of a file of git's.
const maxFile = 1 << 20

// config are the settings of a git config file, in order.
type config []setting

// setting has the key "section.subsection.name", section and name in lower case.
type setting struct{ key, value string }

// first returns the first value of a setting. The first URL of a remote is the one that
// git fetches from.
func (c config) first(key string) string {
	for _, s := range c {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

// last returns the last value of a setting, which is the one that counts.
func (c config) last(key string) (value string) {
	for _, s := range c {
		if s.key == key {
			value = s.value
		}
	}
	return value
}

func (c config) boolean(key string) bool {
	switch strings.ToLower(c.last(key)) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// readConfig reads a config file. One that is missing is empty.
func readConfig(name string) (config, error) {
	content, err := readFile(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseConfig(string(content)), nil
}

// readFile reads a file of git's, which is never large.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return content, err
}

// readLine reads a file with one line.
func readLine(name string) (string, error) {
	content, err := readFile(name)
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return strings.TrimRight(string(line), "\r"), err
}

// parseConfig reads what it can: a line that is wrong is skipped, as git itself will
// complain about it.
func parseConfig(text string) (c config) {
	p := configParser{rest: strings.TrimPrefix(text, "\ufeff")}
	section := ""
	for {
		p.skipSpace()
		switch {
		case p.rest == "":
			return c
		case p.rest[0] == '#' || p.rest[0] == ';':
			p.skipLine()
		case p.rest[0] == '[':
			section = p.section()
		default:
			name, value, ok := p.variable()
			if ok && section != "" {
				c = append(c, setting{section + "." + name, value})
			}
		}
	}
}

type configParser struct{ rest string }

func (p *configParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *configParser) skipLine() { _, p.rest, _ = strings.Cut(p.rest, "\n") }

// section reads [section], [section "subsection"] and the old [section.subsection].
func (p *configParser) section() string {
	p.rest = p.rest[1:]
	end := strings.IndexAny(p.rest, "]\"\n")
	if end < 0 {
		p.rest = ""
		return ""
	}
	name := strings.ToLower(strings.TrimSpace(p.rest[:end]))
	ending := p.rest[end]
	p.rest = p.rest[end+1:]
	switch ending {
	case ']':
		return name
	case '\n':
		return ""
	}
	var sub strings.Builder
	for p.rest != "" && p.rest[0] != '"' && p.rest[0] != '\n' {
		if p.rest[0] == '\\' && len(p.rest) > 1 {
			p.rest = p.rest[1:]
		}
		sub.WriteByte(p.rest[0])
		p.rest = p.rest[1:]
	}
	p.rest = strings.TrimPrefix(p.rest, `"`)
	p.rest = strings.TrimLeft(p.rest, " \t")
	if !strings.HasPrefix(p.rest, "]") {
		p.skipLine()
		return ""
	}
	p.rest = p.rest[1:]
	return name + "." + sub.String()
}

// variable reads name = value, or a name alone, which is true.
func (p *configParser) variable() (name, value string, ok bool) {
	end := strings.IndexAny(p.rest, "=\n#;")
	if end < 0 {
		end = len(p.rest)
	}
	name = strings.ToLower(strings.TrimSpace(p.rest[:end]))
	p.rest = p.rest[end:]
	if !strings.HasPrefix(p.rest, "=") {
		p.skipLine()
		return name, "true", name != ""
	}
	p.rest = p.rest[1:]
	value, ok = p.value()
	return name, value, ok && name != ""
}

// value reads up to the end of the line: quotes, escapes, comments, and lines that a
// backslash continues.
func (p *configParser) value() (string, bool) {
	var b strings.Builder
	size, quoted := 0, false // size leaves out the space at the end
	p.rest = strings.TrimLeft(p.rest, " \t")
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '\n':
			return b.String()[:size], !quoted
		case c == '"':
			quoted = !quoted
			size = b.Len()
			continue
		case (c == '#' || c == ';') && !quoted:
			p.skipLine()
			return b.String()[:size], true
		case c == '\\':
			if !p.escape(&b) {
				p.skipLine()
				return "", false
			}
			size = b.Len()
			continue
		}
		b.WriteByte(c)
		if quoted || c != ' ' && c != '\t' && c != '\r' {
			size = b.Len()
		}
	}
	return b.String()[:size], !quoted
}

// escape reads what stands behind a backslash.
func (p *configParser) escape(b *strings.Builder) bool {
	p.rest = strings.TrimPrefix(p.rest, "\r")
	if p.rest == "" {
		return false
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	switch c {
	case '\n':
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'b':
		b.WriteByte('\b')
	case '"', '\\':
		b.WriteByte(c)
	default:
		return false
	}
	return true
}
