package cosmos

import "sync"

// maxSessions is how many partitions' tokens are kept.
const maxSessions = 10_000

// sessions has the latest session token of each partition key. A read that shows
// it sees this store's own writes, though the account's consistency is weak.
type sessions struct {
	mu     sync.Mutex
	tokens map[string]string
}

func (s *sessions) get(key string) *string {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.tokens[key]
	if !ok {
		return nil
	}
	return &token
}

func (s *sessions) put(key string, token *string) {
	if token == nil || *token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil || len(s.tokens) >= maxSessions {
		s.tokens = map[string]string{}
	}
	s.tokens[key] = *token
}
