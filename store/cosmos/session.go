package cosmos

import (
	"strconv"
	"strings"
	"sync"
)

// maxSessions is how many partitions' tokens are kept in each of two generations.
const maxSessions = 10_000

// sessions has the latest session token of each partition key. A read that shows
// it sees this store's own writes, and what was in their way, though the account's
// consistency is weak.
type sessions struct {
	mu     sync.Mutex
	tokens map[string]string
	older  map[string]string // those before: the oldest half is forgotten at once
}

func (s *sessions) get(key string) *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.latest(key); token != "" {
		return &token
	}
	return nil
}

func (s *sessions) latest(key string) string {
	if token, ok := s.tokens[key]; ok {
		return token
	}
	return s.older[key]
}

func (s *sessions) put(key, token string) {
	if token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if behind(token, s.latest(key)) {
		return // answers overtake each other
	}
	if s.tokens == nil || len(s.tokens) >= maxSessions {
		s.tokens, s.older = map[string]string{}, s.tokens
	}
	s.tokens[key] = token
}

// behind reports whether a token is known to be older than another. A token is the
// partition's range, a version and how far its log has been seen: 0:-1#7#….
func behind(token, other string) bool {
	prefix, at, ok := seen(token)
	otherPrefix, otherAt, otherOK := seen(other)
	return ok && otherOK && prefix == otherPrefix && at < otherAt
}

func seen(token string) (prefix string, at uint64, ok bool) {
	prefix, rest, ok := strings.Cut(token, "#")
	number, _, _ := strings.Cut(rest, "#")
	at, err := strconv.ParseUint(number, 10, 64)
	return prefix, at, ok && err == nil
}
