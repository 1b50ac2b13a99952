package remote

// Together makes the store send even a single call as a batch.
func Together(s *Store) *Store {
	s.batcher.always = true
	return s
}

// What the tests of batches count on.
const (
	MaxAlone = seats
	MaxHold  = maxHold
	MaxBatch = maxBatch
)
