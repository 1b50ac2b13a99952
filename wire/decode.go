package wire

import (
	"encoding/json"
	"strconv"
	"time"
)

// Decode is json.Unmarshal, with a shortcut for the most frequent answers as
// our own server writes them: leases, grants and batches of them.
func Decode(text []byte, out any) error {
	switch out := out.(type) {
	case *Grant:
		if w, ok := scanGrant(text); ok {
			*out = w
			return nil
		}
	case *Lease:
		if w, ok := scanGrant(text); ok {
			*out = w.Lease
			return nil
		}
	case *BatchAnswer:
		if w, ok := scanBatch(text); ok {
			*out = w
			return nil
		}
	}
	return json.Unmarshal(text, out)
}

// scanGrant decodes a lease or grant without escapes, other letters than ASCII
// or unknown fields. Anything else it refuses, and encoding/json decides: the
// two never disagree.
func scanGrant(text []byte) (w Grant, ok bool) {
	s := scanner{text: text}
	s.object(func(key []byte) {
		switch string(key) {
		case "lease_id":
			w.LeaseID = s.plain()
		case "resource":
			w.Resource = s.plain()
		case "holder":
			w.Holder = s.plain()
		case "status":
			w.Status = s.plain()
		case "token":
			s.failed = s.failed || len(s.text) > 0 && s.text[0] == '-' // -0 as well
			w.Token = uint64(s.integer())
		case "renewals":
			w.Renewals = int(s.integer())
		case "max_renewals":
			w.MaxRenewals = int(s.integer())
		case "waited_ms":
			w.WaitedMS = new(s.integer())
		case "ttl_seconds":
			w.TTL = s.decimal()
		case "remaining_seconds":
			w.Remaining = s.decimal()
		case "acquired_at":
			w.AcquiredAt = s.time()
		case "renewed_at":
			w.RenewedAt = s.time()
		case "expires_at":
			w.ExpiresAt = nil
			if !s.literal("null") {
				w.ExpiresAt = new(s.time())
			}
		case "idempotent":
			w.Idempotent = s.boolean()
		case "success":
			s.boolean()
		case "metadata":
			s.failed = s.failed || w.Metadata != nil
			w.Metadata = map[string]string{}
			s.object(func(key []byte) { w.Metadata[string(key)] = s.plain() })
		default:
			s.failed = true
		}
	})
	return w, s.end()
}

// scanBatch splits the answer to a batch as our own server writes it. It does
// not look into the bodies: who decodes one finds out whether it is JSON.
func scanBatch(text []byte) (w BatchAnswer, ok bool) {
	s := scanner{text: text}
	s.failed = !s.literal(`{"answers":[`)
	for more := true; more && !s.failed; more = s.accept(',') {
		s.failed = !s.literal(`{"status":`)
		status := s.integer()
		s.failed = s.failed || !s.literal(`,"body":`)
		w.Answers = append(w.Answers, Answer{Status: int(status), Body: s.rawObject()})
		s.expect('}')
	}
	s.expect(']')
	s.expect('}')
	return w, s.end()
}

// scanner reads JSON without spaces, escapes and exponents. After its first
// failure it reads nothing.
type scanner struct {
	text   []byte
	failed bool
}

// end reports whether nothing failed and nothing is left.
func (s *scanner) end() bool {
	if len(s.text) > 0 && s.text[0] == '\n' {
		s.text = s.text[1:]
	}
	return !s.failed && len(s.text) == 0
}

// accept reads c if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.failed || len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

func (s *scanner) expect(c byte) {
	if !s.accept(c) {
		s.failed = true
	}
}

// object reads an object. It calls field for each key; field reads the value.
func (s *scanner) object(field func(key []byte)) {
	s.expect('{')
	if s.accept('}') {
		return
	}
	for !s.failed {
		key := s.bytes()
		s.expect(':')
		field(key)
		if s.accept('}') {
			return
		}
		s.expect(',')
	}
}

// plain reads a string of printable ASCII without escapes.
func (s *scanner) plain() string { return string(s.bytes()) }

// bytes is plain without a copy.
func (s *scanner) bytes() []byte {
	s.expect('"')
	for i, c := range s.text {
		if c == '"' && !s.failed {
			text := s.text[:i]
			s.text = s.text[i+1:]
			return text
		}
		if c < ' ' || c > '~' || c == '\\' {
			break
		}
	}
	s.failed = true
	return nil
}

// number reads a number: digits, perhaps a sign before them and, where allowed,
// a fraction after them.
func (s *scanner) number(fraction bool) string {
	end, digits, point := 0, 0, false
	for ; end < len(s.text); end++ {
		c := s.text[end]
		switch {
		case c >= '0' && c <= '9':
			digits++
			continue
		case c == '-' && end == 0:
			continue
		case c == '.' && fraction && !point && digits > 0:
			point, digits = true, 0
			continue
		}
		break
	}
	number := string(s.text[:end])
	s.text = s.text[end:]
	first := 0
	if end > 0 && number[0] == '-' {
		first = 1
	}
	padded := end > first+1 && number[first] == '0' && number[first+1] != '.'
	s.failed = s.failed || digits == 0 || digits > 18 || padded
	return number
}

func (s *scanner) integer() int64 {
	n, err := strconv.ParseInt(s.number(false), 10, 64)
	s.failed = s.failed || err != nil
	return n
}

func (s *scanner) decimal() float64 {
	f, err := strconv.ParseFloat(s.number(true), 64)
	s.failed = s.failed || err != nil
	return f
}

func (s *scanner) time() (t time.Time) {
	if err := t.UnmarshalText(s.bytes()); err != nil {
		s.failed = true
	}
	return t
}

// literal reads the text if it comes next.
func (s *scanner) literal(want string) bool {
	if s.failed || len(s.text) < len(want) || string(s.text[:len(want)]) != want {
		return false
	}
	s.text = s.text[len(want):]
	return true
}

func (s *scanner) boolean() bool {
	if s.literal("true") {
		return true
	}
	s.failed = s.failed || !s.literal("false")
	return false
}

// rawObject reads an object without decoding it.
func (s *scanner) rawObject() []byte {
	depth, quoted := 0, false
	for i := 0; i < len(s.text) && !s.failed; i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 {
			if s.text[0] != '{' {
				break
			}
			object := s.text[:i+1]
			s.text = s.text[i+1:]
			return object
		}
	}
	s.failed = true
	return nil
}
