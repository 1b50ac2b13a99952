//go:build race

package content

// raceEnabled: sync.Pool forgets on purpose under the race detector.
const raceEnabled = true
