//go:build unix

package azuretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// crashClient uses the server, in containers of its own, and knows what was
// acknowledged to it.
type crashClient interface {
	connect(endpoint)            // of the server that runs now
	open(context.Context) error  // creates its containers, once
	work(context.Context) error  // until the server dies
	check(context.Context) error // after the server has restarted
	close(context.Context) error // deletes its containers
	counts() *counters
}

// counters say what a client has done.
type counters struct {
	kind         string
	required     []string       // operations that must be acknowledged, or the test shows nothing about them
	acknowledged map[string]int // by operation
	interrupted  map[string]int // by operation: under way when the server died
	leases       map[string]int // by state: leases checked after a crash
	current      string         // the operation under way; "" if none
}

func newCounters(kind string, required []string) counters {
	return counters{kind: kind, required: required, acknowledged: map[string]int{}, interrupted: map[string]int{}, leases: map[string]int{}}
}

func (c *counters) counts() *counters { return c }

// countCrash counts the operation that the crash interrupted.
func (c *counters) countCrash() {
	if c.current != "" {
		c.interrupted[c.current]++
	}
}

// add adds the counts of another client of the same kind.
func (c *counters) add(o *counters) {
	for operation, n := range o.acknowledged {
		c.acknowledged[operation] += n
	}
	for operation, n := range o.interrupted {
		c.interrupted[operation] += n
	}
	for state, n := range o.leases {
		c.leases[state] += n
	}
}

// missing returns the required operations that were never acknowledged. A kind
// that acquires leases must also find one after a crash.
func (c *counters) missing() (never []string) {
	for _, operation := range c.required {
		if c.acknowledged[operation] == 0 && !slices.Contains(never, operation) {
			never = append(never, operation)
		}
	}
	if slices.Contains(c.required, "acquire") && c.leases[leased] == 0 {
		never = append(never, "leases that outlive a server")
	}
	return never
}

func (c *counters) String() string {
	text := fmt.Sprintf("%s: acknowledged %d (%s); interrupted %d (%s)",
		c.kind, total(c.acknowledged), listCounts(c.acknowledged), total(c.interrupted), listCounts(c.interrupted))
	if len(c.leases) > 0 {
		text += fmt.Sprintf("; leases checked %d (%s)", total(c.leases), listCounts(c.leases))
	}
	return text
}

// sumByKind adds up the counters of all clients of a kind.
func sumByKind(clients []crashClient) (sums []*counters) {
	found := map[string]*counters{}
	for _, client := range clients {
		c := client.counts()
		sum := found[c.kind]
		if sum == nil {
			n := newCounters(c.kind, c.required)
			sum = &n
			found[c.kind] = sum
			sums = append(sums, sum)
		}
		sum.add(c)
	}
	return sums
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func listCounts(counts map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
}

// errViolation marks an error that no crash explains.
var errViolation = errors.New("must never happen")

// ignoreCrash drops an error that only says that no server answered.
func ignoreCrash(err error) error {
	if statusOf(err) == 0 && !errors.Is(err, errViolation) {
		return nil
	}
	return err
}

// parallel runs the functions at the same time and joins their errors.
func parallel(ctx context.Context, all []func(context.Context) error) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { errs[i] = f(ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// forEachClient calls the method on all clients at the same time.
func forEachClient(ctx context.Context, clients []crashClient, method func(crashClient, context.Context) error) error {
	var all []func(context.Context) error
	for _, client := range clients {
		all = append(all, func(ctx context.Context) error { return method(client, ctx) })
	}
	return parallel(ctx, all)
}
