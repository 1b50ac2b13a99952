package mcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// grantAdvice is the next step of whoever has a new lease.
func grantAdvice(g leasehold.Grant) string {
	text := "You hold it" + until(g.Lease) + ". " + renewOrRelease(g.Lease)
	if g.Idempotent {
		text = "You hold it already; its ttl has started again" + until(g.Lease) + ". " + renewOrRelease(g.Lease)
	}
	if len(g.Notes) > 0 {
		text += " Read the notes of earlier holders."
	}
	return text
}

func renewAdvice(l leasehold.Lease) string {
	return "You hold it" + until(l) + ". " + renewOrRelease(l)
}

func renewOrRelease(l leasehold.Lease) string {
	text := "Do the work now, and call lease_release with this lease_id when you are done."
	if l.Remaining == leasehold.Infinite {
		return text
	}
	return text + " If it takes longer, call lease_renew before the end."
}

func until(l leasehold.Lease) string {
	if l.Remaining == leasehold.Infinite {
		return ", without an end"
	}
	return fmt.Sprintf(" for %s", span(l.Remaining))
}

// span writes a duration for readers: whole seconds, at least one.
func span(d time.Duration) string { return max(d.Round(time.Second), time.Second).String() }

// statusAdvice is the next step of whoever reads a resource's status.
func statusAdvice(r Result) string {
	switch {
	case r.Granted:
		return "You hold it. Renew or release it with its lease_id."
	case len(r.Leases) == 0:
		return "It is free: lease_acquire grants it at once, unless it is kept for somebody in line."
	}
	return fmt.Sprintf("%q holds it. Call lease_acquire with wait_seconds to wait in line, or work on something else meanwhile.", r.HeldBy)
}

// advice is the next step after a refusal.
func (c *call) advice(e *leasehold.Error, out Result) string {
	switch e.Reason {
	case leasehold.ReasonHeld, leasehold.ReasonBreaking, leasehold.ReasonTimeout:
		return c.conflictAdvice(e, out)
	case leasehold.ReasonDeadlock:
		return c.deadlockAdvice(e)
	case leasehold.ReasonInvalid:
		return "Correct " + e.Field + " and call " + c.tool + " again. Nothing was changed."
	case leasehold.ReasonHolderMismatch:
		return holderAdvice(e)
	case leasehold.ReasonUnsupported, leasehold.ReasonBlockingDisabled:
		return c.unsupportedAdvice(e)
	case leasehold.ReasonUnavailable, leasehold.ReasonRateLimited, leasehold.ReasonTooMany:
		return c.laterAdvice(e)
	case leasehold.ReasonUnknown, leasehold.ReasonCancelled:
		return "Call " + c.tool + " again with the same arguments" + withID(out) + ": that is safe, whatever happened."
	}
	if advice, ok := advices[e.Reason]; ok {
		return advice
	}
	if c.op == "break" {
		return "There is no lease to break. Call lease_status to see what is held."
	}
	return c.goneAdvice()
}

// advices are those that do not depend on the rest of the error.
var advices = map[leasehold.Reason]string{
	leasehold.ReasonIDInUse:         "This lease_id is that of another lease or place in line. Call again without lease_id.",
	leasehold.ReasonSuperseded:      "A newer lease_acquire with this lease_id waits in this place. Wait for its answer.",
	leasehold.ReasonMaxRenewals:     "It cannot be renewed any more. Finish before it ends, release it, and acquire it anew if you need more time.",
	leasehold.ReasonForbidden:       "You may not do this, and no other argument changes that. Say so to the person you work for, who can have the token of this server changed.",
	leasehold.ReasonUnauthenticated: "This server's own token is missing or wrong. Say so to the person you work for: the configuration of this MCP server needs a valid one.",
	leasehold.ReasonTooLarge:        "Send less: fewer resources or paths, or a shorter task.",
}

// conflictAdvice is the next step of whoever is not granted what another has.
func (c *call) conflictAdvice(e *leasehold.Error, out Result) string {
	if e.Current != nil && e.Current.Holder == c.holder() {
		return c.ownAdvice(out)
	}
	var text string
	switch {
	case e.Reason == leasehold.ReasonTimeout && out.QueuePosition > 0:
		text = fmt.Sprintf("Still queued, position %d. Call lease_acquire again with the same arguments%s within %v to keep the place.",
			out.QueuePosition, withID(out), leasehold.KeptPlace)
	case e.Reason == leasehold.ReasonTimeout:
		text = fmt.Sprintf("Still queued. Call lease_acquire again with the same arguments%s within %v to keep the place.", withID(out), leasehold.KeptPlace)
	default:
		text = fmt.Sprintf("To wait in line, call lease_acquire again with the same arguments, wait_seconds %v%s.", c.s.o.MaxWait.Seconds(), withID(out))
	}
	if o := e.Overlap; o != nil && o.Requested.Namespace != "" && o.Requested.Pattern != o.Part {
		text += fmt.Sprintf(" Or claim less, without %q.", o.Part)
	}
	return text + " Do not change it meanwhile; work on something else."
}

// ownAdvice is the next step of whoever is in its own way.
func (c *call) ownAdvice(out Result) string {
	text := "You hold it yourself, with an earlier lease: go on with that one, or renew or release it with its lease_id."
	switch {
	case out.InTheWay != nil && out.InTheWay.LeaseID != "":
		return text + " in_the_way has the lease_id."
	case c.session.held != nil:
		return text + " It was acquired before this session, or elsewhere under your name."
	}
	return text + " If the lease_id is lost, wait until the lease ends."
}

// deadlockAdvice is the way out of a cycle of waiting holders.
func (c *call) deadlockAdvice(e *leasehold.Error) string {
	var own, wanted []string
	for _, w := range e.Cycle {
		if w.HeldBy == c.holder() {
			own = append(own, fmt.Sprintf("%q", w.Claim))
		}
		if w.Holder == c.holder() {
			wanted = append(wanted, fmt.Sprintf("%q", w.Claim))
		}
	}
	if len(own) == 0 {
		return "Release what you hold, then acquire all that you need in one lease_acquire, which cannot wait in a cycle."
	}
	if len(e.Cycle) == 1 {
		return "You wait for your own lease on " + own[0] + ": release it first, or go on with it. lease_status with mine shows what you hold."
	}
	return fmt.Sprintf("Others wait for what you hold. Release your lease on %s with lease_release, then acquire %s and what you released in one lease_acquire, which cannot wait in a cycle.",
		strings.Join(own, ", "), strings.Join(wanted, ", "))
}

// holderAdvice is the next step of a client that is nobody, or somebody else.
func holderAdvice(e *leasehold.Error) string {
	if e.Field == HolderHeader {
		return "You cannot say who you are yourself. Tell the person you work for that the configuration of this MCP server must have the header " + HolderHeader + "."
	}
	return "This lease is not yours. Call lease_status to see what is."
}

func (c *call) unsupportedAdvice(e *leasehold.Error) string {
	switch {
	case e.Reason == leasehold.ReasonBlockingDisabled:
		return "Waiting is switched off. Call lease_acquire without wait_seconds, and again later."
	case c.op == "acquire":
		return "This store leases one resource at a time, exclusively. Call lease_acquire with one resource, without paths and mode."
	case c.op == "release" || c.op == "renew":
		return "Call " + c.tool + " again with resource, and without note."
	}
	return "This store cannot do it. Go on without it."
}

func (c *call) laterAdvice(e *leasehold.Error) string {
	when := "later"
	if e.RetryAfter > 0 {
		when = "in " + span(e.RetryAfter)
	}
	if e.Reason == leasehold.ReasonTooMany {
		return "Release leases that you do not need; then call " + c.tool + " again " + when + "."
	}
	return "Nothing was changed. Call " + c.tool + " again " + when + ". Do not go on without the lease; if it stays so, tell the person you work for that the lease server does not answer."
}

// goneAdvice is the next step of whoever shows the id of a lease that has ended.
func (c *call) goneAdvice() string {
	switch c.op {
	case "acquire":
		return "This lease_id was used before. Call lease_acquire again without lease_id."
	case "release":
		return "It has ended already. Nothing is left to release."
	}
	return "You do not hold it any more: stop changing what it covered. Call lease_acquire without lease_id, and look at what changed meanwhile."
}

// withID names the lease id in a sentence, so that the model does not forget it.
func withID(out Result) string {
	if out.LeaseID == "" {
		return ""
	}
	return fmt.Sprintf(" and lease_id %q", out.LeaseID)
}
