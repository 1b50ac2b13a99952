package remote

// AlwaysBatch makes the store send even a single call as a batch.
func AlwaysBatch(s *Store) *Store {
	s.batcher.always = true
	return s
}

// AwaitIdle returns when no call goes on without its caller. Nobody may start one
// meanwhile.
func AwaitIdle(s *Store) { s.running.Wait() }

// What the tests of batches count on.
const (
	MaxRequests = maxRequests
	MaxDelay    = maxDelay
	MaxBatch    = maxBatch
)
