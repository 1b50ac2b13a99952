package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	maxFile   = 8 << 20 // bytes
	maxTokens = 10_000
)

// row is a line of the token file that has a token.
type row struct {
	Token
	Hash hash `json:"hash,omitzero"`
}

// line is any line: its text as people wrote it, which editing leaves alone,
// and the row it stands for, if any.
type line struct {
	text string
	row  *row
}

// document is a token file in memory.
type document []line

// parse reads a token file. Its errors name the line.
func parse(data []byte) (document, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the token file has %d bytes; the limit is %d", len(data), maxFile)
	}
	var d document
	seen := map[string]int{}
	for number := 1; len(data) > 0; number++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		r, err := parseLine(text)
		if err == nil {
			err = unique(seen, r, number)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s", number, hideSecrets(err.Error()))
		}
		d = append(d, line{string(text), r})
	}
	if n := len(d.rows()); n > maxTokens {
		return nil, fmt.Errorf("the token file has %d tokens; the limit is %d", n, maxTokens)
	}
	return d, nil
}

// parseLine returns no row for a line without a token.
func parseLine(text []byte) (*row, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] == '#' {
		return nil, nil
	}
	if !utf8.Valid(text) {
		return nil, errors.New("is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a misspelt "holders" must not mean any holder
	r := new(row)
	if text[0] != '{' {
		return nil, errors.New("wants a JSON object, a comment after #, or nothing")
	}
	if err := d.Decode(r); err != nil {
		return nil, plainError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("has more than one JSON object")
	}
	return r, r.validate()
}

// plainError words the errors of package json for people who do not know Go.
func plainError(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON object has no end; it must stand on one line")
	case errors.As(err, &kind):
		return fmt.Errorf("%s cannot be a %s", kind.Field, kind.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func (r row) validate() error {
	if err := r.Token.validate(); err != nil {
		return err
	}
	if (r.Cert == "") == (r.Hash == hash{}) {
		return errors.New("wants either a hash or a cert")
	}
	return nil
}

// unique refuses a name, a hash or a certificate that an earlier line has: it
// would be a matter of luck which of them counts.
func unique(seen map[string]int, r *row, number int) error {
	if r == nil {
		return nil
	}
	keys := []string{"name " + r.Name, "cert " + r.Cert}
	if r.Cert == "" {
		keys[1] = "hash " + string(r.Hash[:])
	}
	for _, k := range keys {
		if earlier := seen[k]; earlier > 0 {
			what, _, _ := strings.Cut(k, " ")
			return fmt.Errorf("has the %s of line %d", what, earlier)
		}
		seen[k] = number
	}
	return nil
}

// bytes is the inverse of parse: every line as it was, each with its end.
func (d document) bytes() []byte {
	var b bytes.Buffer
	for _, l := range d {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (d document) rows() []row {
	var rows []row
	for _, l := range d {
		if l.row != nil {
			rows = append(rows, *l.row)
		}
	}
	return rows
}

// add appends a row. The result is read again, so that nothing is written that
// could not be read.
func (d document) add(r row) (document, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("token %q: %w", r.Name, err)
	}
	return parse(append(d.bytes(), text...))
}

// without returns the document without the row of that name.
func (d document) without(name string) (document, bool) {
	for i, l := range d {
		if l.row != nil && l.row.Name == name {
			return append(d[:i:i], d[i+1:]...), true
		}
	}
	return d, false
}
