package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/storetest"
)

// impatient makes a swallowed answer not take long.
func impatient(prefix string) *Options {
	return &Options{Prefix: prefix, Timeout: 1500 * time.Millisecond}
}

// sleeper sleeps for random times until ctx ends.
func sleeper(ctx context.Context, random *rand.Rand) func(least, most int) {
	return func(least, most int) {
		sleep.For(ctx, time.Duration(least+random.IntN(most))*time.Millisecond)
	}
}

// openRound opens a store for a round. Half of the rounds have no history: lost
// answers are then found out in another way.
func openRound(t testing.TB, round int, addrs ...string) leasehold.Store {
	t.Helper()
	s := openOn(t, newClient(t, addrs...), impatient(fmt.Sprintf("round%d/", round)))
	if round%2 == 0 {
		return s
	}
	if _, err := s.SetSetting(t.Context(), leasehold.SettingKeepHistory, false); err != nil {
		t.Fatalf("SetSetting = %v", err)
	}
	return s
}

// TestLinearizable breaks connections and the server while 16 workers acquire,
// renew, transfer, break and release.
func TestLinearizable(t *testing.T) {
	server := testserver.Etcd(t)
	network := testserver.Proxy(t, server.Addr)
	storetest.HammerWithFaults(t, storetest.FaultLoad{
		Rounds: soak.Rounds(4, 10),
		Calls:  60,
		Open: func(round int) leasehold.Store {
			return openRound(t, round, network.Addr)
		},
		Disturb: func(ctx context.Context, round int) int {
			return network.Disturb(ctx, uint64(round), 100*time.Millisecond, 200*time.Millisecond, server.Restart)
		},
	})
}

// leader returns which member leads.
func leader(t testing.TB, client *clientv3.Client, members []*testserver.Server) (int, bool) {
	for i, m := range members {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		status, err := client.Status(ctx, m.Addr)
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return i, true
		}
	}
	return 0, false
}

func addrs(members []*testserver.Server) (all []string) {
	for _, m := range members {
		all = append(all, m.Addr)
	}
	return all
}

// cluster is three members that are disturbed.
type cluster struct {
	members []*testserver.Server
	peers   *testserver.Peers
	client  *clientv3.Client
	counts  [3]int // leaders killed, members stopped, members cut off
}

// disturb kills the leader, stops a member and cuts one off in turns until ctx ends. Each
// round starts with another one, since it may be short. It returns how much it did.
func (c *cluster) disturb(ctx context.Context, t testing.TB, round int) (n int) {
	random := rand.New(rand.NewPCG(uint64(round), 2))
	pause := sleeper(ctx, random)
	for ctx.Err() == nil {
		i, ok := leader(t, c.client, c.members)
		if !ok {
			pause(50, 50)
			continue
		}
		member := random.IntN(len(c.members)) // the leader, too
		turn := (round + n) % len(c.counts)
		switch turn {
		case 0:
			c.members[i].Kill()
			pause(500, 1500)
			c.members[i].Start()
		case 1:
			c.members[member].Pause()
			pause(1500, 2000)
			c.members[member].Resume()
		case 2:
			c.peers.CutOff([]int{i, member}[n/3%2])
			pause(1500, 2000)
			c.peers.Heal()
		}
		c.counts[turn]++
		n++
		pause(300, 500)
	}
	return n
}

// TestClusterLinearizable kills leaders, stops members and cuts them off while 16 workers
// are busy: never two holders, tokens grow, nothing acknowledged is lost.
func TestClusterLinearizable(t *testing.T) {
	members, peers := testserver.EtcdPeers(t)
	c := &cluster{members: members, peers: peers, client: newClient(t, addrs(members)...)}
	storetest.HammerWithFaults(t, storetest.FaultLoad{
		Rounds:      soak.Rounds(3, 6),
		Calls:       80,
		Open:        func(round int) leasehold.Store { return openRound(t, round, addrs(members)...) },
		Disturb:     func(ctx context.Context, round int) int { return c.disturb(ctx, t, round) },
		MayLoseNone: true,
	})
	t.Logf("%d leaders killed, %d members stopped, %d members cut off", c.counts[0], c.counts[1], c.counts[2])
	if slices.Contains(c.counts[:], 0) {
		t.Error("too little happened to say anything")
	}
}

// flawed is a backend that is broken on purpose.
type flawed struct {
	*backend
	swap func(b *backend, ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error)
}

func (f flawed) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	return f.swap(f.backend, ctx, v, w)
}

// TestCheckerCatchesFlaws breaks the backend on purpose: the checker must see it.
func TestCheckerCatchesFlaws(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	for name, swap := range map[string]func(b *backend, ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error){
		"a write does not compare": func(b *backend, ctx context.Context, _ cas.Version, w cas.Write) (cas.Item, error) {
			for {
				now, err := b.Load(ctx, w.Row.Resource)
				if err != nil {
					return now, err
				}
				w.Was = now
				item, err := b.Swap(ctx, now.Version, w)
				if err != cas.ErrRaced {
					return item, err
				}
			}
		},
		"tokens repeat": func(b *backend, ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
			if w.Row.Token == 0 {
				w.Row.Token = 7
			}
			return b.Swap(ctx, v, w)
		},
		"a release is forgotten": func(b *backend, ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
			if !w.Row.State.Locked() {
				return w.Was, nil
			}
			return b.Swap(ctx, v, w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			caught := false
			for seed := range uint64(10) {
				b := newBackend(client, (&Options{Prefix: fmt.Sprintf("%s%d/", name, seed)}).orDefaults(), false)
				s := cas.New(flawed{b, swap}, nil)
				rec := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 8, Calls: 40, Seed: seed})
				_ = s.Close()
				if rec.Check() != nil {
					caught = true
					break
				}
			}
			if !caught {
				t.Error("the checker finds nothing wrong")
			}
		})
	}
}
