package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// encoder writes an object, field by field. Its first error stays.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) end() ([]byte, error) { return append(e.b, '}'), e.err }

// key begins a field. Names of fields need no escapes.
func (e *encoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) text(name, value string) {
	e.key(name)
	e.string(value)
}

func (e *encoder) optional(name, value string) {
	if value != "" {
		e.text(name, value)
	}
}

// string leaves everything that may need an escape to encoding/json.
func (e *encoder) string(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			e.marshal(s)
			return
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, s...)
	e.b = append(e.b, '"')
}

func (e *encoder) marshal(v any) {
	data, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.b = append(e.b, data...)
}

func (e *encoder) whole(name string, n int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) optionalToken(token uint64) {
	if token != 0 {
		e.key("token")
		e.b = strconv.AppendUint(e.b, token, 10)
	}
}

// number leaves what is written with an exponent, and what cannot be written,
// to encoding/json.
func (e *encoder) number(name string, f float64) {
	e.key(name)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		e.b = strconv.AppendFloat(e.b, f, 'f', -1, 64)
		return
	}
	e.marshal(f)
}

func (e *encoder) optionalNumber(name string, f *float64) {
	if f != nil {
		e.number(name, *f)
	}
}

func (e *encoder) time(t time.Time) {
	b, err := t.AppendText(append(e.b, '"'))
	if err != nil {
		e.marshal(t) // for its words
		return
	}
	e.b = append(b, '"')
}

func (e *encoder) pairs(name string, m map[string]string) {
	e.key(name)
	if m == nil {
		e.b = append(e.b, "null"...)
		return
	}
	var few [8]string
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	e.b = append(e.b, '{')
	for i, k := range keys {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.string(k)
		e.b = append(e.b, ':')
		e.string(m[k])
	}
	e.b = append(e.b, '}')
}
