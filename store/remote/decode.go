package remote

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/leasehold/leasehold/wire"
)

// decode is json.Unmarshal, with a shortcut for the answers that are most
// frequent: grants and leases as our own server writes them.
func decode(text []byte, out any) error {
	switch out := out.(type) {
	case *wire.Grant:
		if g, ok := quickGrant(text); ok {
			*out = g
			return nil
		}
	case *wire.Lease:
		if g, ok := quickGrant(text); ok {
			*out = g.Lease
			return nil
		}
	}
	return json.Unmarshal(text, out)
}

// quickGrant decodes a lease or grant without escapes, foreign letters or
// fields that it does not know. For anything else it gives up, and
// encoding/json has the word: the two never disagree.
func quickGrant(text []byte) (w wire.Grant, ok bool) {
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
			w.Token = uint64(s.whole())
		case "renewals":
			w.Renewals = int(s.whole())
		case "max_renewals":
			w.MaxRenewals = int(s.whole())
		case "waited_ms":
			w.WaitedMS = new(s.whole())
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
			if !s.word("null") {
				w.ExpiresAt = new(s.time())
			}
		case "idempotent":
			w.Idempotent = s.truth()
		case "success":
			s.truth()
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

// scanner reads JSON of the plainest kind. Once it has failed it stays so.
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

// take reads one character.
func (s *scanner) take(c byte) bool {
	if s.failed || len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

func (s *scanner) must(c byte) {
	if !s.take(c) {
		s.failed = true
	}
}

// object reads an object, calling field for each key, which reads the value.
func (s *scanner) object(field func(key []byte)) {
	s.must('{')
	if s.take('}') {
		return
	}
	for !s.failed {
		key := s.bytes()
		s.must(':')
		field(key)
		if s.take('}') {
			return
		}
		s.must(',')
	}
}

// plain reads a string of printable ASCII without escapes.
func (s *scanner) plain() string { return string(s.bytes()) }

// bytes is plain without a copy.
func (s *scanner) bytes() []byte {
	s.must('"')
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

// number cuts a number off: digits, with a sign before and, if asked for, a
// fraction behind.
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

func (s *scanner) whole() int64 {
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

// word reads a word if it is there.
func (s *scanner) word(w string) bool {
	if s.failed || len(s.text) < len(w) || string(s.text[:len(w)]) != w {
		return false
	}
	s.text = s.text[len(w):]
	return true
}

func (s *scanner) truth() bool {
	if s.word("true") {
		return true
	}
	s.failed = s.failed || !s.word("false")
	return false
}
