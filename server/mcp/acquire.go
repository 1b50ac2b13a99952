package mcp

import (
	"errors"
	"math"
	"time"

	"github.com/leasehold/leasehold"
)

// acquireArgs are the arguments of lease_acquire. Who acquires is not among them.
type acquireArgs struct {
	Resources []string `json:"resources,omitempty" jsonschema:"Names of what to lease, such as deploy:prod. All of them or none."`
	Namespace string   `json:"namespace,omitempty" jsonschema:"What the paths belong to, such as the name of a repository. Default: the one that this server is configured with."`
	Paths     []string `json:"paths,omitempty" jsonschema:"Paths of the namespace. * stands for any characters of a segment and ** for any number of segments: src/auth/** covers src/auth and all below it. Together with resources they are one lease."`
	Mode      string   `json:"mode,omitempty" jsonschema:"shared lets others share it who want it shared, too. Default: exclusive."`
	TTL       float64  `json:"ttl_seconds,omitempty" jsonschema:"How long the lease lasts unless it is renewed. Default: the server's, mostly 300. Take what the next step of the work needs, not the whole day."`
	Wait      float64  `json:"wait_seconds,omitempty" jsonschema:"How long to wait in line while another holds it; 0 does not wait. A call waits for 50 seconds at most; the place in line is kept for the next call with the same lease_id."`
	LeaseID   string   `json:"lease_id,omitempty" jsonschema:"The lease_id of an earlier answer, to keep the place in line or to restart the ttl; or a new UUID, which makes the call safe to repeat. Default: a new one."`
	Task      string   `json:"task,omitempty" jsonschema:"What you need it for, in a few words. Others who want it see this."`
}

// taskKey is the key of the task in the metadata.
const taskKey = "task"

// acquire serves lease_acquire.
func (c *call) acquire(in acquireArgs) (Result, error) {
	r, generated, err := c.acquireRequest(in)
	wait := time.Duration(0)
	if err == nil {
		wait, err = c.waitTime(in.Wait)
	}
	if err != nil {
		return Result{}, err
	}
	g, position, err := c.grant(r, wait)
	if generated && (err == nil && c.ctx.Err() != nil || neverAnswered(err)) {
		c.releaseUnclaimed(r) // nobody knows its id
	}
	if err != nil {
		out := Result{LeaseID: r.ID.Reveal(), QueuePosition: position}
		return out, err
	}
	c.log("acquired", g.Lease)
	c.session.held.add(g.Lease)
	return granted(g.Lease, grantAdvice(g)), nil
}

// acquireRequest validates and authorizes. Generated says that the lease id is ours.
func (c *call) acquireRequest(in acquireArgs) (r leasehold.AcquireRequest, generated bool, err error) {
	if err = c.checkHolder(); err != nil {
		return r, false, err
	}
	r = leasehold.AcquireRequest{Holder: c.holder(), Sequence: true, Caller: c.caller().Name}
	claims, err := c.claims(in.Resources, in.Namespace, in.Paths, in.Mode)
	if err != nil {
		return r, false, err
	}
	if r.Claims = claims; len(claims) == 1 && claims[0].Namespace == "" && claims[0].Mode == leasehold.Exclusive {
		r.Resource, r.Claims = claims[0].Pattern, nil
	}
	if r.TTL, err = c.ttl(in.TTL, c.s.o.TTL); err != nil {
		return r, false, err
	}
	if in.Task != "" {
		r.Metadata = map[string]string{taskKey: in.Task}
	}
	if generated = in.LeaseID == ""; generated {
		r.ID = leasehold.NewID()
	} else if r.ID, err = leasehold.ParseID(in.LeaseID); err != nil {
		return r, false, err
	}
	return r, generated, r.ValidateAll()
}

// claims returns what the arguments name, which the caller may hold.
func (c *call) claims(resources []string, namespace string, paths []string, modeName string) ([]leasehold.Claim, error) {
	mode, err := leasehold.ParseMode(modeName)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		namespace = c.session.identity.Namespace
	}
	switch {
	case len(resources)+len(paths) == 0:
		return nil, leasehold.Invalid("resources", "is missing; name resources, or paths of a namespace")
	case len(paths) > 0 && namespace == "":
		return nil, leasehold.Invalid("namespace", "is missing, and none is configured; paths need one")
	}
	claims := append(leasehold.Resources(resources...), leasehold.Paths(namespace, paths...)...)
	for i := range claims {
		claims[i].Mode = mode
	}
	if err := leasehold.CheckClaims(claims); err != nil {
		return nil, err
	}
	return claims, c.checkClaims(claims)
}

// ttl reads a ttl that may be left out. A model gets no lease without an end.
func (c *call) ttl(seconds float64, otherwise time.Duration) (time.Duration, error) {
	if seconds == 0 {
		return otherwise, nil
	}
	d, ok := duration(seconds)
	if !ok || d < leasehold.MinTTL || d > leasehold.MaxTTL {
		return 0, leasehold.Invalid("ttl_seconds", "is %v; want %v or more, 300 for example", seconds, leasehold.MinTTL.Seconds())
	}
	return d, nil
}

// waitTime reads how long to wait. Longer waits are cut: they continue with the next
// call.
func (c *call) waitTime(seconds float64) (time.Duration, error) {
	d, ok := duration(seconds)
	if !ok || d < 0 {
		return 0, leasehold.Invalid("wait_seconds", "is %v; want 0 to %v", seconds, c.s.o.MaxWait.Seconds())
	}
	return min(d, c.s.o.MaxWait), nil
}

// duration converts seconds to whole milliseconds, unless no duration can hold them.
func duration(seconds float64) (time.Duration, bool) {
	ms := math.Round(seconds * 1000)
	if math.IsNaN(ms) || math.Abs(ms) > float64(math.MaxInt64/int64(time.Millisecond)) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// grant acquires, waiting if the request says so.
func (c *call) grant(r leasehold.AcquireRequest, wait time.Duration) (leasehold.Grant, int, error) {
	if wait > 0 {
		return c.wait(r, wait)
	}
	g, err := c.acquireOnce(r)
	return g, 0, err
}

func (c *call) acquireOnce(r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return inSequence(r, func(r leasehold.AcquireRequest) (leasehold.Grant, error) {
		return callStore(c, c.s.store.Acquire, r)
	})
}

// inSequence repeats a request without Sequence for a server of a version that does not
// know the word.
func inSequence(r leasehold.AcquireRequest, acquire func(leasehold.AcquireRequest) (leasehold.Grant, error)) (leasehold.Grant, error) {
	g, err := acquire(r)
	if e := (*leasehold.Error)(nil); errors.As(err, &e) && e.Field == "sequence" {
		r.Sequence = false
		return acquire(r)
	}
	return g, err
}

// neverAnswered reports whether the call may have been granted although its answer did
// not arrive here.
func neverAnswered(err error) bool {
	return leasehold.ReasonOf(err) == leasehold.ReasonCancelled
}

// releaseUnclaimed releases a lease whose grant has reached nobody.
func (c *call) releaseUnclaimed(r leasehold.AcquireRequest) {
	ctx, cancel := detached(c)
	defer cancel()
	l, err := c.s.store.Release(ctx, leasehold.ReleaseRequest{ID: r.ID, Resource: r.Resource, Holder: r.Holder, Why: leasehold.WhyAbandoned})
	if err == nil {
		c.log("gave an undelivered lease back", l)
	}
}
