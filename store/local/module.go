package local

import (
	"context"
	"errors"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

// Do implements engine.Engine.
func (e *Engine) Do(ctx context.Context, resource string, decide func(engine.View) (engine.Decision, error)) error {
	if err := leasehold.CheckResource(resource); err != nil {
		return e.opError("do", "", err)
	}
	if ctx.Err() != nil {
		return e.opError("do", resource, unavailable(context.Cause(ctx)))
	}
	b, refusal := e.applyDecision(resource, leasehold.NewID(), decide)
	if err := b.durable(ctx); err != nil {
		return e.opError("do", resource, err)
	}
	return refusal
}

// applyDecision calls decide under the lock and applies what it decided. It
// returns the batch that the answer must wait for, and the refusal.
func (e *Engine) applyDecision(resource string, id leasehold.ID, decide func(engine.View) (engine.Decision, error)) (*batch, error) {
	if err := e.lockReady(); err != nil {
		return nil, e.opError("do", resource, err)
	}
	defer e.mu.Unlock()
	now := e.clock.now()
	fresh := e.fresh(id)
	e.checkLimits(now, resource, "", &fresh)
	d, err := decide(engine.View{Row: e.table.row(resource), Now: now, Fresh: fresh})
	if err != nil {
		return e.seen(resource), err
	}
	b := e.batches.pending
	if len(d.Extras) > 0 {
		b.Extras = append(b.Extras, d.Extras...)
		e.batches.touch()
	}
	e.apply(now, d.Outcome)
	if len(d.Outcome.Steps) == 0 && (len(d.Extras) > 0 || d.Forget) {
		b.decided++
	}
	if ent := e.table.rows[resource]; d.Forget && ent != nil {
		e.forget(ent)
		e.grantToWaiters(now, resource)
	}
	if len(d.Extras) > 0 {
		return b, nil
	}
	return e.seen(resource), nil
}

// Look implements engine.Engine.
func (e *Engine) Look(ctx context.Context, resources []string, show func(i int, v engine.View)) error {
	b, err := e.look(resources, show)
	if err == nil {
		err = b.durable(ctx)
	}
	return e.opError("look", "", err)
}

// look shows the rows and returns the batch that they depend on.
func (e *Engine) look(resources []string, show func(i int, v engine.View)) (b *batch, _ error) {
	if err := e.lockReady(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	now := e.clock.now()
	for i, resource := range resources {
		show(i, engine.View{Row: e.table.row(resource), Now: now})
		b = later(b, e.seen(resource))
	}
	return b, nil
}

// Names implements engine.Engine. It copies in steps, as List does.
func (e *Engine) Names(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	var seen seenBatches
	for from, more := prefix, true; more; {
		next, b, err := e.nameStep(prefix, from, &names)
		if err != nil {
			return nil, e.opError("names", "", err)
		}
		seen.add(b)
		from, more = next, next != ""
	}
	if err := seen.durable(ctx); err != nil {
		return nil, e.opError("names", "", err)
	}
	return names, nil
}

// nameStep appends the names from one on, under one hold of the lock. It returns
// the name to continue from, empty at the end, and the batch that what it saw
// depends on.
func (e *Engine) nameStep(prefix, from string, names *[]string) (next string, _ *batch, _ error) {
	if err := e.lockReady(); err != nil {
		return "", nil, err
	}
	defer e.mu.Unlock()
	left := stepSize
	e.table.from(from, func(ent *entry) bool {
		name := ent.row.Resource
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		if left--; left < 0 {
			next = name
			return false
		}
		*names = append(*names, name)
		return true
	})
	return next, e.batches.latest(), nil
}

// Query implements engine.Engine.
func (e *Engine) Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error {
	q, ok := e.journal.(Querier)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "query", Store: e.kind}
	}
	var own error
	err := q.Query(ctx, sql, args, func(c engine.Columns) error {
		own = row(c)
		return own
	})
	switch {
	case own != nil:
		return own
	case err == nil || errors.As(err, new(*leasehold.Error)):
		return err
	}
	return e.opError("query", "", unavailable(err))
}
