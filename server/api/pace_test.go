package api

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// However many streams there are, together they take their share and no more.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		if got := time.Until(p.wrote(100)); got != flushEvery {
			t.Errorf("a stream that is alone may be written to again after %v, want %v", got, flushEvery)
		}
		var last time.Time
		const flushes = 10_000
		for range flushes {
			last = p.wrote(flushMost)
		}
		worth := time.Duration(flushes * (flushCost + flushMost*byteCost))
		want := time.Duration(float64(worth) / streamShare / float64(runtime.GOMAXPROCS(0)))
		if got := time.Until(last); got < want-streamBurst || got > want {
			t.Errorf("the last of %d flushes is paid for after %v, want about %v", flushes, got, want)
		}
		time.Sleep(time.Until(last) + streamBurst)
		if got := time.Until(p.wrote(100)); got != flushEvery {
			t.Errorf("after a quiet time a stream may be written to again after %v, want %v", got, flushEvery)
		}
	})
}
