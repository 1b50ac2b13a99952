package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

// On a Cluster a script reaches only the keys of one slot, and a resource has a
// slot of its own. So the indexes are kept in steps of their own around the
// script: written before a grant, so that there is no lease that cannot be found,
// and verified against the lease by everybody who reads them.
//
// An id is claimed before its lease is granted. A claim is pending for 5 s, and
// nobody else gets the id then; the script refuses to grant later than 4 s, so
// that an id is never live twice as long as the clocks of the nodes agree to a
// second. The counts behind max_leases are taken in one step, and a crash
// between the steps leaves them too high until that lease's end.

// claimResource is the field of a claim that names the resource.
const claimResource = "resource"

// grantFor is how long after its claim a lease may be granted.
const grantFor = 4 * time.Second

// acquireIndexed runs the script of an acquire with the indexes around it.
func (s *Store) acquireIndexed(ctx context.Context, q request, r leasehold.AcquireRequest, id leasehold.ID) (answer, error) {
	if s.together {
		return s.execute(ctx, q)
	}
	in, err := s.admit(ctx, r)
	if err != nil {
		return answer{}, s.readFailure(q.op, q.resource, err)
	}
	facts := in.facts()
	facts["noted"] = in.noted
	facts["deadline"] = strconv.FormatInt(in.now.Add(grantFor).UnixMilli(), 10)
	if facts["unusable"], err = s.claim(ctx, q, id, r.TTL); err != nil {
		s.retract(ctx, r.Resource, r.Caller, in.noted) // no end is ""
		return answer{}, s.readFailure(q.op, q.resource, err)
	}
	q.facts = encode(facts)
	a, err := s.execute(ctx, q)
	switch {
	case err == nil && a.reason == "" && in.noted != "":
		return a, nil
	case err == nil && a.reason == "": // another end was noted: of this lease, or of one before it
		s.noteEnd(ctx, r.Resource, a.row.get(endsAt), r.Caller)
		return a, nil
	case leasehold.ReasonOf(err) == leasehold.ReasonUnknown:
		return a, err // it may be granted: what was noted stays until it would end
	}
	if in.noted != "" {
		s.retract(ctx, r.Resource, r.Caller, in.noted)
	}
	s.updateIndex(ctx, settleScript, []string{s.keys.id(id)}, q.mark)
	return a, err
}

// admission is what admit.lua answers.
type admission struct {
	now          time.Time
	settings     map[string]string
	noted        string // the end that was noted; empty: there was one
	full, fullAt string
}

func (in admission) facts() map[string]string {
	facts := map[string]string{}
	for key, value := range in.settings {
		facts[key] = value
	}
	if in.full != "" {
		facts["full"], facts["full_at"] = in.full, in.fullAt
	}
	return facts
}

// encode writes facts for a script, without the empty ones.
func encode(facts map[string]string) string {
	for key, value := range facts {
		if value == "" {
			delete(facts, key)
		}
	}
	text, _ := json.Marshal(facts) // strings always can
	return string(text)
}

func (s *Store) admit(ctx context.Context, r leasehold.AcquireRequest) (admission, error) {
	limited := flag(!strings.HasPrefix(r.Resource, leasehold.HealthPrefix))
	keys := []string{s.keys.names, s.keys.touched, s.keys.ends, s.keys.settings, s.keys.callerEnds(r.Caller)}
	result, err := s.runKeys(ctx, admitScript, keys, r.Resource, r.Caller, limited, milliseconds(r.TTL))
	if err != nil {
		return admission{}, err
	}
	return parseAdmission(result)
}

func parseAdmission(result any) (admission, error) {
	parts, ok := result.([]any)
	if !ok || len(parts) != 5 {
		return admission{}, fmt.Errorf("the admission is %T of %d parts, want 5", result, len(parts))
	}
	settings, err := parsePairs(parts[1])
	if err != nil {
		return admission{}, err
	}
	var text [5]string
	for i := range text {
		if text[i], ok = parts[i].(string); !ok && i != 1 {
			return admission{}, fmt.Errorf("part %d of the admission is %T, want a string", i+1, parts[i])
		}
	}
	ms, err := strconv.ParseInt(text[0], 10, 64)
	return admission{now: time.UnixMilli(ms), settings: settings, noted: text[2], full: text[3], fullAt: text[4]}, err
}

// retract takes back the end that was noted, unless another one stands there by
// now.
func (s *Store) retract(ctx context.Context, resource, caller, noted string) {
	keys := []string{s.keys.ends}
	if caller != "" {
		keys = append(keys, s.keys.callerEnds(caller))
	}
	s.updateIndex(ctx, retractScript, keys, resource, noted)
}

// updateIndex runs a script on an index whose failure does no harm that lasts: the
// context of the caller does not end it.
func (s *Store) updateIndex(ctx context.Context, sc *script, keys []string, args ...any) {
	if _, err := s.runKeys(context.WithoutCancel(ctx), sc, keys, args...); err != nil {
		s.opts.Logger.Debug("redis: an index was not updated", "err", err)
	}
}

// claim claims the id for the request's resource. It answers why the id cannot be
// used; empty: it can.
func (s *Store) claim(ctx context.Context, q request, id leasehold.ID, ttl time.Duration) (string, error) {
	dead := [2]string{}
	if ttl == 0 {
		ttl = leasehold.DefaultMaxTTL // the default is not known here, and a claim may last too long
	}
	for range 5 {
		theirs, mark, pending, err := s.claimOnce(ctx, q, id, ttl, dead)
		if err != nil || theirs == q.resource {
			return "", err
		}
		a, err := s.run(ctx, request{op: q.op, resource: theirs, script: statusScript, facts: "{}", args: []any{""}})
		switch {
		case err != nil:
			return "", err
		case a.row.get(former) == id.Reveal():
			return string(leasehold.ReasonReleased), nil
		case a.row.get(leaseID) == id.Reveal() || pending:
			return string(leasehold.ReasonIDInUse), nil
		}
		dead = [2]string{theirs, mark}
	}
	return string(leasehold.ReasonIDInUse), nil // others are faster, again and again
}

func (s *Store) claimOnce(ctx context.Context, q request, id leasehold.ID, ttl time.Duration, dead [2]string) (theirs, mark string, pending bool, err error) {
	result, err := s.runKeys(ctx, claimScript, []string{s.keys.id(id)}, q.resource, q.mark, milliseconds(ttl), dead[0], dead[1])
	if err != nil {
		return "", "", false, err
	}
	parts, _ := result.([]any)
	if len(parts) != 3 {
		return "", "", false, fmt.Errorf("the claim is %T of %d parts, want 3", result, len(parts))
	}
	theirs, _ = parts[0].(string)
	mark, _ = parts[1].(string)
	flag, _ := parts[2].(int64)
	return theirs, mark, flag == 1, nil
}

// renewIndexed runs the script of a renewal, and lets the indexes last as long.
func (s *Store) renewIndexed(ctx context.Context, q request, r leasehold.RenewRequest) (answer, error) {
	if s.together {
		return s.execute(ctx, q)
	}
	q.facts = "{}"
	if r.TTL != 0 {
		stored, err := s.loadSettings(ctx)
		if err != nil {
			return answer{}, s.readFailure(q.op, q.resource, err)
		}
		q.facts = encode(stored)
	}
	a, err := s.execute(ctx, q)
	if err == nil && a.reason == "" {
		s.noteEnd(ctx, q.resource, a.row.get(endsAt), a.row.get(caller))
		s.updateIndex(ctx, lastScript, []string{s.keys.id(r.ID)}, q.resource, a.row.get(ttlMs))
	}
	return a, err
}

// noteEnd notes when a lease ends, for the counts.
func (s *Store) noteEnd(ctx context.Context, resource, endsAt, caller string) {
	ends, _ := strconv.ParseFloat(endsAt, 64)
	if endsAt == "-1" {
		ends = math.Inf(1)
	}
	_, err := await(context.WithoutCancel(ctx), s, func(ctx context.Context) (any, error) {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.ZAdd(ctx, s.keys.ends, redis.Z{Score: ends, Member: resource})
			if caller != "" {
				p.ZAdd(ctx, s.keys.callerEnds(caller), redis.Z{Score: ends, Member: resource})
			}
			return nil
		})
		return nil, err
	}, nil)
	if err != nil {
		s.opts.Logger.Debug("redis: an index was not updated", "err", err)
	}
}

// changeIndexed runs the script of a change or a transfer, which gives a lease
// another id.
func (s *Store) changeIndexed(ctx context.Context, q request, from, to leasehold.ID) (answer, error) {
	if s.together {
		return s.execute(ctx, q)
	}
	unusable, err := s.claim(ctx, q, to, leasehold.Infinite) // until the answer says how long
	if err != nil {
		return answer{}, s.readFailure(q.op, q.resource, err)
	}
	q.facts = encode(map[string]string{"unusable": unusable})
	a, err := s.execute(ctx, q)
	switch {
	case err == nil && a.reason == "":
		if a.row.get(endsAt) != "-1" {
			s.shorten(ctx, to, a.row.ttl()+24*time.Hour)
		}
		if from != to {
			s.shorten(ctx, from, 24*time.Hour) // for a caller who repeats it
		}
	case leasehold.ReasonOf(err) != leasehold.ReasonUnknown && from != to && unusable == "":
		s.updateIndex(ctx, settleScript, []string{s.keys.id(to)}, q.mark)
		s.shorten(ctx, to, 24*time.Hour)
	}
	return a, err
}

// shorten lets a claim end. A lease that has it for longer says so when it is
// renewed.
func (s *Store) shorten(ctx context.Context, id leasehold.ID, d time.Duration) {
	_, err := await(context.WithoutCancel(ctx), s, func(ctx context.Context) (bool, error) {
		return s.client.PExpire(ctx, s.keys.id(id), d).Result()
	}, nil)
	if err != nil {
		s.opts.Logger.Debug("redis: an index was not updated", "err", err)
	}
}

// endIndexed drops an ended lease from the indexes. Its name is dropped by
// whoever lists it next.
func (s *Store) endIndexed(ctx context.Context, resource string, a answer) {
	if s.together {
		return
	}
	noted := a.row.get(endedFrom)
	if noted == "-1" {
		noted = "inf"
	}
	s.retract(ctx, resource, a.row.get(caller), noted)
	if id, err := leasehold.ParseID(a.row.get(leaseID)); err == nil {
		s.updateIndex(ctx, dropScript, []string{s.keys.id(id)}, a.row.get(claim))
	}
}

// breakIndexed follows a break.
func (s *Store) breakIndexed(ctx context.Context, resource string, a answer) {
	switch {
	case s.together:
	case a.row.get(state) == leasehold.StateBroken.String():
		s.endIndexed(ctx, resource, a)
	default:
		s.noteEnd(ctx, resource, a.row.get(endsAt), a.row.get(caller))
	}
}

// listStepApart reads a step of names and then their leases, and forgets names
// that have none.
func (s *Store) listStepApart(ctx context.Context, from, to string, n int) (listPart, error) {
	now, names, touched, err := s.readNames(ctx, from, to, n)
	if err != nil || len(names) == 0 {
		return listPart{}, err
	}
	rows, err := s.readRows(ctx, names)
	if err != nil {
		return listPart{}, err
	}
	step := listPart{names: len(names), last: names[len(names)-1]}
	for i, name := range names {
		if r := rows[i]; r.get(endsAt) == "-1" || r.time(endsAt).After(now) {
			step.leases = append(step.leases, r.lease(name, now))
		} else if r == nil {
			s.updateIndex(ctx, forgetScript, []string{s.keys.names, s.keys.touched}, name, touched[i])
		}
	}
	return step, nil
}

func (s *Store) readNames(ctx context.Context, from, to string, n int) (now time.Time, names, touched []string, err error) {
	result, err := s.runKeys(ctx, namesScript, []string{s.keys.names, s.keys.touched}, from, to, n)
	if err != nil {
		return now, nil, nil, err
	}
	return parseNames(result)
}

func parseNames(result any) (now time.Time, names, touched []string, err error) {
	parts, _ := result.([]any)
	if len(parts) != 3 {
		return now, nil, nil, fmt.Errorf("the names are %T of %d parts, want 3", result, len(parts))
	}
	text, _ := parts[0].(string)
	micros, err := strconv.ParseInt(text, 10, 64)
	names, touched = texts(parts[1]), texts(parts[2])
	if err == nil && len(names) != len(touched) {
		err = fmt.Errorf("%d names were touched %d times", len(names), len(touched))
	}
	return time.UnixMicro(micros).UTC(), names, touched, err
}

func texts(list any) []string {
	var all []string
	parts, _ := list.([]any)
	for _, part := range parts {
		text, _ := part.(string)
		all = append(all, text)
	}
	return all
}

// readRows reads leases from their nodes.
func (s *Store) readRows(ctx context.Context, names []string) ([]*row, error) {
	return await(ctx, s, func(ctx context.Context) ([]*row, error) {
		reads := make([]*redis.MapStringStringCmd, len(names))
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, name := range names {
				reads[i] = p.HGetAll(ctx, s.keys.lease(name))
			}
			return nil
		})
		rows := make([]*row, len(names))
		for i, read := range reads {
			rows[i] = newRow(read.Val())
		}
		return rows, err
	}, nil)
}
