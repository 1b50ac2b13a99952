package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseYAML reads the plain part of YAML in which our manifests are written:
// mappings, lists and scalars in block style. Anything else is an error, so
// that nothing is read otherwise than a real parser would read it.
func parseYAML(text string) (documents []any, err error) {
	var lines []yamlLine
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		p := yamlParser{lines: lines}
		v, err := p.value(lines[0].indent)
		if err == nil && p.at < len(lines) {
			err = fmt.Errorf("line %d: the indentation fits nothing above", lines[p.at].number)
		}
		documents, lines = append(documents, v), nil
		return err
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case line == "---":
			if err := flush(); err != nil {
				return nil, err
			}
		case strings.ContainsAny(line, "\t&*!|>{}[]%@`\"'") || strings.Contains(line, " #"):
			return nil, fmt.Errorf("line %d: %q is beyond the plain part of YAML", i+1, line)
		default:
			lines = append(lines, yamlLine{i + 1, len(line) - len(trimmed), strings.TrimRight(trimmed, " ")})
		}
	}
	return documents, flush()
}

type yamlLine struct {
	number, indent int
	text           string
}

type yamlParser struct {
	lines []yamlLine
	at    int
}

// value reads the mapping or the list that begins here at this indentation.
func (p *yamlParser) value(indent int) (any, error) {
	if p.here(indent) && (p.lines[p.at].text + " ")[:2] == "- " {
		return p.list(indent)
	}
	return p.mapping(indent)
}

func (p *yamlParser) here(indent int) bool {
	return p.at < len(p.lines) && p.lines[p.at].indent == indent
}

func (p *yamlParser) list(indent int) (any, error) {
	var list []any
	for p.here(indent) {
		line := &p.lines[p.at]
		rest, ok := strings.CutPrefix(line.text, "- ")
		if !ok {
			break
		}
		if !strings.Contains(rest+" ", ": ") && !strings.HasSuffix(rest, ":") {
			list = append(list, rest)
			p.at++
			continue
		}
		// "- a: b" is a mapping that begins after the dash.
		line.indent, line.text = indent+2, rest
		v, err := p.mapping(indent + 2)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (p *yamlParser) mapping(indent int) (any, error) {
	m := map[string]any{}
	for p.here(indent) {
		line := p.lines[p.at]
		key, scalar, ok := strings.Cut(line.text+" ", ": ")
		if _, twice := m[key]; !ok || twice || strings.HasPrefix(key, "- ") {
			return nil, fmt.Errorf("line %d: %q is no new key", line.number, line.text)
		}
		p.at++
		if scalar = strings.TrimSpace(scalar); scalar != "" {
			m[key] = scalar
			continue
		}
		if p.at == len(p.lines) || p.lines[p.at].indent <= indent {
			return nil, fmt.Errorf("line %d: %s has no value", line.number, key)
		}
		v, err := p.value(p.lines[p.at].indent)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

func TestParseYAML(t *testing.T) {
	got, err := parseYAML("# why\na: b\nc:\n  - x\n  - --d=e:8105\n  - f: g\n    h:\n      i: j:k\n---\nl: m\n")
	want := []any{
		map[string]any{"a": "b", "c": []any{"x", "--d=e:8105", map[string]any{"f": "g", "h": map[string]any{"i": "j:k"}}}},
		map[string]any{"l": "m"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("parseYAML() = %v, -want +got:\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"a key twice": "a: b\na: c\n", "no value": "a:\nb: c\n", "a scalar": "a\n", "flow style": "a: [b]\n",
		"a quote": "a: \"b\"\n", "a tab": "a:\n\tb: c\n", "deeper for no reason": "a: b\n  c: d\n", "a list in a mapping": "a: b\n- c\n",
	} {
		if v, err := parseYAML(text); err == nil {
			t.Errorf("parseYAML(%s) = %v, want an error", name, v)
		}
	}
}

// dig follows keys through mappings; a key of digits is an index of a list.
func dig(v any, path ...string) any {
	for _, key := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i := 0
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}
