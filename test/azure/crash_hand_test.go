//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// hand does one thing after the other to what it has, all of one kind, and
// remembers what it was told.
type hand[T any] struct {
	ledger
	craft[T]
	name  string // of its container
	face  face
	names []string // of what it has
	known map[string]entry[T]

	// What it was doing when the server died: to what, and what that would be
	// if it was done.
	to    string
	maybe entry[T]
}

// craft is what a hand can do, and how it looks at what it has.
type craft[T any] struct {
	feats      []feat[T]
	describe   func(T) string // all that can be seen of it
	look       func(context.Context, *hand[T]) (map[string]sight, error)
	leasing[T] // nothing where no leases are taken
}

// feat is something to do. The plan is what comes of it, and how; nil if it
// makes no sense. Where the answer tells more, the act puts that in.
type feat[T any] struct {
	name string
	plan func(h *hand[T], name string, r entry[T]) (entry[T], move[T])
}

type move[T any] func(ctx context.Context, next *entry[T]) error

// entry is what is known of one thing. Values are never changed.
type entry[T any] struct {
	there bool
	is    T
	text  string // how it looks, but for its lease; "" if nobody has looked yet
	hold  hold
	shots map[string]string // how its snapshots look, by id
}

// with is the entry of a thing that has become something else.
func (r entry[T]) with(is T) entry[T] {
	r.there, r.is, r.text = true, is, ""
	return r
}

// sight is how a thing looks.
type sight struct {
	there bool
	text  string
	lease string
	shots map[string]string
}

func (s sight) String() string {
	if !s.there {
		return fmt.Sprintf("nothing, with snapshots %v", s.shots)
	}
	return fmt.Sprintf("%s, %s, with snapshots %v", s.text, s.lease, s.shots)
}

func newHand[T any](kind, name string, things int, c craft[T]) *hand[T] {
	var duties []string
	for _, f := range c.feats {
		duties = append(duties, f.name)
	}
	h := &hand[T]{ledger: newLedger(kind, duties), craft: c, name: name, known: map[string]entry[T]{}}
	for i := range things {
		thing := fmt.Sprintf("%s-%d", name, i)
		h.names = append(h.names, thing)
		h.known[thing] = entry[T]{}
	}
	return h
}

func (h *hand[T]) connect(f face) { h.face = f }

func (h *hand[T]) container() *container.Client { return h.face.client.NewContainerClient(h.name) }

func (h *hand[T]) open(ctx context.Context) error {
	_, err := h.container().Create(ctx, nil)
	return err
}

func (h *hand[T]) close(ctx context.Context) error {
	_, err := h.container().Delete(ctx, nil)
	return err
}

// work goes on until the server dies. A refusal is an error, unless it is what
// the hand wanted to see.
func (h *hand[T]) work(ctx context.Context) error {
	for {
		name := h.names[rand.IntN(len(h.names))]
		f := h.feats[rand.IntN(len(h.feats))]
		before := h.known[name]
		next, do := f.plan(h, name, before)
		if do == nil {
			continue // makes no sense now
		}
		h.doing, h.to, h.maybe = f.name, name, next
		if err := do(ctx, &next); err != nil {
			if unlessGone(err) != nil {
				return fmt.Errorf("%s: %s of %s, which is %v: %w", h.name, f.name, name, h.sight(before), err)
			}
			return nil
		}
		h.known[name], h.doing = next, ""
		h.acks[f.name]++
	}
}

// refused is for what the server must not do: it is an error if it was done.
func refused(err error, code bloberror.Code) error {
	switch {
	case bloberror.HasCode(err, code):
		return nil
	case err == nil:
		return fmt.Errorf("was done, want %s: %w", code, errWrong)
	}
	return fmt.Errorf("want %s: %w", code, err)
}
