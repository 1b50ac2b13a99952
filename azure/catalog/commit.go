package catalog

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// change is what one operation commits: rows of the catalog, the outcome for the
// lease, or both. The operation has made it from rows that it read under a lock
// which it still holds.
type change struct {
	resource string    // whose lease it is
	lease    leaseRule // nil: no lease is checked
	problem  error     // another reason to refuse the change, reported after the lease's
	forget   bool      // the lease is deleted, as with its blob
	rows     []engine.Statement
}

// leaseRule decides whether the lease allows a change. It runs under the engine's
// lock: it neither blocks nor does I/O.
type leaseRule func(engine.View) (machine.Outcome, error)

// commit makes a change durable, in one atomic step with the lease's decision,
// unless the lease or the change's own problem refuses it.
//
// A commit of rows is waited for even if the caller has gone meanwhile: until it
// is durable, reads find the old rows, and only the lock that the caller holds
// prevents them.
func (c *Catalog) commit(ctx context.Context, ch change) error {
	if len(ch.rows) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ctx = context.WithoutCancel(ctx)
	}
	err := c.engine.Do(ctx, ch.resource, func(v engine.View) (engine.Decision, error) {
		d := engine.Decision{Forget: ch.forget, Extras: ch.rows}
		var err error
		if ch.lease != nil {
			d.Outcome, err = ch.lease(v)
		}
		if err == nil {
			err = ch.problem
		}
		return d, err
	})
	if err == nil && len(ch.rows) > 0 && ch.resource != housekeeping {
		c.wake() // there may be something to collect, or to expire sooner
	}
	return err
}

// housekeeping is the resource of commits that concern no lease.
const housekeeping = resourcePrefix + "catalog"

// commitRows commits rows without checking a lease.
func (c *Catalog) commitRows(ctx context.Context, rows ...engine.Statement) error {
	return c.commit(ctx, change{resource: housekeeping, rows: rows})
}

// statement is a row to be written, or deleted.
func statement(sql string, args ...any) engine.Statement {
	return engine.Statement{SQL: sql, Args: args}
}

// guard is the rule of a guarded access.
func guard(ref Ref, a Access, how machine.Access) leaseRule {
	ofContainer, id := ref.Blob == "", a.Lease
	return func(v engine.View) (machine.Outcome, error) { return checkLease(v, ofContainer, id, how) }
}

// checkLease checks whether the lease of a blob or container allows an access that
// shows this id. Without the id, what is leased cannot be written. For a reader an
// id is a condition, no more.
func checkLease(v engine.View, ofContainer bool, id leasehold.ID, how machine.Access) (machine.Outcome, error) {
	o := machine.Guard(v.Now, id, how, v.Row)
	if o.Reason == "" {
		return o, nil
	}
	action := Read
	if how == machine.Write {
		action = Write
	}
	return o, refused(ofContainer, action, o, v.Now)
}
