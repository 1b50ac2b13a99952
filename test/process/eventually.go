package process

import "time"

// Eventually waits until the condition holds. No event says how far another process is,
// so it polls.
func Eventually(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
