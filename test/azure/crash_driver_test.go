//go:build unix

package azuretest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// driver sends one operation after the other to its targets, which are all of
// one kind, and keeps the state of each that was acknowledged.
type driver[T any] struct {
	counters
	kind[T]
	name     string // of its container
	endpoint endpoint
	targets  []string // their names
	known    map[string]state[T]

	// The operation under way: on which target, and the state it leads to.
	pendingTarget string
	pending       state[T]
}

// kind is what can be done to targets of one kind, and how they are read.
type kind[T any] struct {
	operations    []operation[T] // one that stands there twice is chosen twice as often
	describe      func(T) string // all of the content that read sees
	read          func(context.Context, *driver[T]) (map[string]view, error)
	leaseRules[T] // zero where no leases are acquired
}

// operation is something to do to a target. plan returns the state that it leads
// to, and the call; no call if it makes no sense in this state.
type operation[T any] struct {
	name string
	plan func(d *driver[T], name string, s state[T]) (state[T], call[T])
}

// call sends the request. It completes the next state with what only the answer
// says.
type call[T any] func(ctx context.Context, next *state[T]) error

// state is what is known of a target. A value never changes: one can be what was
// acknowledged, and another what an operation leads to.
type state[T any] struct {
	exists    bool
	content   T
	text      string // the content as it was read; "" if not read since it changed
	lease     leaseState
	snapshots map[string]string // descriptions of their content, by id
}

// with is the state with other content.
func (s state[T]) with(content T) state[T] {
	s.exists, s.content, s.text = true, content, ""
	return s
}

// view is what can be read of a target.
type view struct {
	exists    bool
	text      string // describes the content
	lease     string
	snapshots map[string]string
}

func (v view) String() string {
	if !v.exists {
		return fmt.Sprintf("nothing, with snapshots %v", v.snapshots)
	}
	return fmt.Sprintf("%s, %s, with snapshots %v", v.text, v.lease, v.snapshots)
}

// view is what should be read of a target in this state.
func (d *driver[T]) view(s state[T]) view {
	v := view{exists: s.exists, text: s.text, snapshots: s.snapshots}
	if s.exists {
		v.lease = s.lease.String()
	}
	if s.exists && s.text == "" {
		v.text = d.describe(s.content)
	}
	return v
}

func newDriver[T any](kindName, name string, targets int, k kind[T]) *driver[T] {
	var required []string
	for _, o := range k.operations {
		required = append(required, o.name)
	}
	d := &driver[T]{counters: newCounters(kindName, required), kind: k, name: name, known: map[string]state[T]{}}
	for i := range targets {
		target := fmt.Sprintf("%s-%d", name, i)
		d.targets = append(d.targets, target)
		d.known[target] = state[T]{}
	}
	return d
}

func (d *driver[T]) connect(e endpoint) { d.endpoint = e }

func (d *driver[T]) container() *container.Client {
	return d.endpoint.client.NewContainerClient(d.name)
}

func (d *driver[T]) open(ctx context.Context) error {
	_, err := d.container().Create(ctx, nil)
	return err
}

func (d *driver[T]) close(ctx context.Context) error {
	_, err := d.container().Delete(ctx, nil)
	return err
}

// work goes on until the server dies. A refusal is an error, unless the
// operation expects it.
func (d *driver[T]) work(ctx context.Context) error {
	for {
		name := d.targets[rand.IntN(len(d.targets))]
		operation := d.operations[rand.IntN(len(d.operations))]
		before := d.known[name]
		next, send := operation.plan(d, name, before)
		if send == nil {
			continue // makes no sense now
		}
		d.current, d.pendingTarget, d.pending = operation.name, name, next
		if err := send(ctx, &next); err != nil {
			if ignoreCrash(err) != nil {
				return fmt.Errorf("%s: %s of %s, which is %v: %w", d.name, operation.name, name, d.view(before), err)
			}
			return nil
		}
		d.known[name], d.current = next, ""
		d.acknowledged[operation.name]++
	}
}

// check compares all targets with what was acknowledged, after a crash.
func (d *driver[T]) check(ctx context.Context) error {
	seen, err := d.read(ctx, d)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	var wrong error
	for _, name := range d.targets {
		if err := d.compare(ctx, name, seen[name]); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	d.current = ""
	return wrong
}

// compare accepts the acknowledged state or, if an operation on the target was
// under way, the state after that one; nothing in between. The accepted state is
// the known one from then on.
func (d *driver[T]) compare(ctx context.Context, name string, seen view) error {
	candidates := []state[T]{d.known[name]}
	if d.current != "" && d.pendingTarget == name {
		candidates = append(candidates, d.pending)
	}
	var wrong error
	for i, c := range candidates {
		err := d.confirm(ctx, name, c, seen)
		if err == nil {
			return nil
		}
		after := "what was acknowledged"
		if i > 0 {
			after = d.current + " under way"
		}
		wrong = errors.Join(wrong, fmt.Errorf("after %s: %w", after, err))
	}
	return wrong
}

func (d *driver[T]) confirm(ctx context.Context, name string, want state[T], seen view) error {
	v := d.view(want)
	if v.exists != seen.exists || v.text != seen.text || v.lease != seen.lease || !sameSnapshots(v.snapshots, seen.snapshots) {
		return fmt.Errorf("is %v, want %v", seen, v)
	}
	want.text, want.snapshots = seen.text, seen.snapshots
	if want.exists && d.newLease != nil {
		var err error
		found := want.lease.name()
		if want, err = checkLease(ctx, d, name, want); err != nil {
			return err
		}
		d.leases[found]++
	}
	d.known[name] = want
	return nil
}

// wantRefused expects the server to refuse with this code. To be acknowledged is
// a violation.
func wantRefused(err error, code bloberror.Code) error {
	switch {
	case bloberror.HasCode(err, code):
		return nil
	case err == nil:
		return fmt.Errorf("was done, want %s: %w", code, errViolation)
	}
	return fmt.Errorf("want %s: %w", code, err)
}
