//go:build unix

package azuretest

import (
	"context"
	"errors"
	"fmt"
)

// How a hand finds out whether what it was told is so.

func (h *hand[T]) sight(r entry[T]) sight {
	s := sight{there: r.there, text: r.text, shots: r.shots}
	if r.there {
		s.lease = r.hold.String()
	}
	if r.there && r.text == "" {
		s.text = h.describe(r.is)
	}
	return s
}

// check compares everything that the hand has with what it was told, after the
// server died and came back.
func (h *hand[T]) check(ctx context.Context) error {
	seen, err := h.look(ctx, h)
	if err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	var wrong error
	for _, name := range h.names {
		if err := h.compare(ctx, name, seen[name]); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	h.doing = ""
	return wrong
}

// compare takes what was seen for what was acknowledged, or else for what the
// one operation under way makes of it, but for nothing in between. From then on
// that is what is known.
func (h *hand[T]) compare(ctx context.Context, name string, seen sight) error {
	candidates := []entry[T]{h.known[name]}
	if h.doing != "" && h.to == name {
		candidates = append(candidates, h.maybe)
	}
	var wrong error
	for i, c := range candidates {
		err := h.confirm(ctx, name, c, seen)
		if err == nil {
			return nil
		}
		after := "what was acknowledged"
		if i > 0 {
			after = h.doing + " under way"
		}
		wrong = errors.Join(wrong, fmt.Errorf("after %s: %w", after, err))
	}
	return wrong
}

func (h *hand[T]) confirm(ctx context.Context, name string, want entry[T], seen sight) error {
	s := h.sight(want)
	if s.there != seen.there || s.text != seen.text || s.lease != seen.lease || !sameSnapshots(s.shots, seen.shots) {
		return fmt.Errorf("is %v, want %v", seen, s)
	}
	want.text, want.shots = seen.text, seen.shots
	if want.there && h.tenure != nil {
		var err error
		state := want.hold.now()
		if want, err = tryHold(ctx, h, name, want); err != nil {
			return err
		}
		h.found[state]++
	}
	h.known[name] = want
	return nil
}
