package remote

// AlwaysBatch makes the store send even a single call as a batch.
func AlwaysBatch(s *Store) *Store {
	s.batcher.always = true
	return s
}

// What the tests of batches count on.
const (
	MaxRequests = maxRequests
	MaxDelay    = maxDelay
	MaxBatch    = maxBatch
)
