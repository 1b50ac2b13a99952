package testserver

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold/internal/sleep"
)

// Disturb breaks the network until ctx ends, each time for up to the time broken,
// and heals it for up to the time healed. Others are faults of another kind to choose
// from, as a server's Restart. Each kind comes once before any comes again. It returns
// how many faults there were.
func (n *Network) Disturb(ctx context.Context, seed uint64, broken, healed time.Duration, others ...func()) int {
	n.t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	pauseUpTo := func(most time.Duration) {
		sleep.For(ctx, 10*time.Millisecond+time.Duration(random.Int64N(int64(most))))
	}
	slow := func() { n.Delay(20*time.Millisecond, 20*time.Millisecond) }
	faults := append([]func(){n.Cut, slow, n.Reset, n.ResetRequests, n.Swallow}, others...)
	order := random.Perm(len(faults))
	count := 0
	for ; ctx.Err() == nil; count++ {
		faults[order[count%len(order)]]()
		pauseUpTo(broken)
		n.Heal()
		pauseUpTo(healed)
	}
	return count
}
