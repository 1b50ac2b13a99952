package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

// request is one run of a script on a resource.
type request struct {
	op       string // for errors
	resource string
	script   *script
	mark     string // of this operation; empty: it changes nothing
	facts    string // on a Cluster, what the script cannot read: JSON
	args     []any

	// late gets the outcome if the caller has left before it came.
	late func(answer, error)
}

// newMark names one operation, so that its caller can see afterwards whether it
// happened. It is no secret.
func newMark() string { return strconv.FormatUint(rand.Uint64(), 36) }

// execute runs the script, and after a lost answer looks once whether it happened.
func (s *Store) execute(ctx context.Context, r request) (answer, error) {
	a, err := s.run(ctx, r)
	if err == nil {
		return a, nil
	}
	failed := s.failure(r.op, r.resource, err)
	if failed.Reason != leasehold.ReasonUnknown || r.mark == "" || ctx.Err() != nil {
		return answer{}, failed
	}
	look := request{op: r.op, resource: r.resource, script: statusScript, facts: r.facts, args: []any{r.mark}}
	if a, err := s.run(ctx, look); err == nil && a.reason == "" {
		return a.resolved(), nil
	}
	return answer{}, failed // it may happen yet
}

// run runs the script once.
func (s *Store) run(ctx context.Context, r request) (answer, error) {
	args := s.arguments(r.resource, r.mark, r.facts, r.args)
	l := r.script.variant(s.recording)
	texts, err := await(ctx, s, func(ctx context.Context) ([]string, error) {
		return evalTexts(ctx, s.client, l, args)
	}, parsed(r.late))
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(texts)
}

// parsed lets late get the answer.
func parsed(late func(answer, error)) func([]string, error) {
	if late == nil {
		return nil
	}
	return func(texts []string, err error) {
		var a answer
		if err == nil {
			a, err = parseAnswer(texts)
		}
		late(a, err)
	}
}

// runIndex runs a script that belongs to no resource, where a script may use all
// keys.
func (s *Store) runIndex(ctx context.Context, sc *script, args ...any) (any, error) {
	return s.eval(ctx, sc, s.arguments("", "", "", args))
}

// runKeys runs a script that has keys of its own.
func (s *Store) runKeys(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	all := make([]any, 2, 3+len(keys)+len(args))
	all = append(all, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return s.eval(ctx, sc, append(all, args...))
}

// arguments are those of evalsha for a script that begins with begin.lua. The first
// two are the script's.
func (s *Store) arguments(resource, mark, facts string, args []any) []any {
	keys := s.keys.of(resource)
	all := make([]any, 2, 3+len(keys)+len(s.indexKeys)+4+len(args))
	all = append(all, len(keys)+len(s.indexKeys), keys[0], keys[1], keys[2])
	all = append(all, s.indexKeys...)
	all = append(all, resource, s.prefix, mark, facts)
	return append(all, args...)
}

// sharedKeys are the keys of begin.lua that do not depend on the resource.
func (s *Store) sharedKeys() []string {
	switch {
	case s.recording:
		return s.keys.indexes()
	case s.together:
		return s.keys.indexes()[:3]
	}
	return nil
}

// flag is a string; it costs less this way.
func flag(b bool) any {
	if b {
		return "1"
	}
	return "0"
}

// eval runs a script whose outcome nobody needs who has left.
func (s *Store) eval(ctx context.Context, sc *script, args []any) (any, error) {
	return await(ctx, s, func(ctx context.Context) (any, error) {
		return eval(ctx, s.client, sc.variant(s.recording), args)
	}, nil)
}

// grace is how long a call goes on when its caller has left. Most answers come
// within it, and an answer is better than a guess.
const grace = 500 * time.Millisecond

// outcome is what a call to the server came to.
type outcome[T any] struct {
	result T
	err    error
}

// await makes a call to the server in the time that it may take.
//
// The client does not look at the end of a context while it reads an answer. So
// while the server is slow, a call runs in a goroutine of its own and its caller
// can leave; late then gets the outcome. While the server is fast a goroutine would
// cost more than the call, and it is made right here: the first calls of an outage
// end with the client's timeout.
func await[T any](ctx context.Context, s *Store, call func(context.Context) (T, error), late func(T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, notSent{context.Cause(ctx)}
	}
	if ctx.Done() != nil && s.isSlow() {
		return awaitApart(ctx, s, call, late)
	}
	if !s.enter() {
		return none, notSent{errClosed}
	}
	defer s.running.Done()
	started := time.Now()
	result, err := call(ctx)
	s.noteSpeed(started, err)
	return result, err
}

const (
	// slowCall is how long a call takes at a server that is slow.
	slowCall = 50 * time.Millisecond

	// slowFor is how long a server counts as slow after that.
	slowFor = 10 * time.Second
)

// noteSpeed notes a slow call, or one that failed.
func (s *Store) noteSpeed(started time.Time, err error) {
	if time.Since(started) > slowCall || err != nil && !answered(err) {
		s.slowUntil.Store(time.Now().Add(slowFor).UnixNano())
	}
}

// answered reports whether an error is the server's own.
func answered(err error) bool {
	var refusal redis.Error
	return errors.As(err, &refusal)
}

func (s *Store) isSlow() bool {
	until := s.slowUntil.Load()
	return until != 0 && time.Now().UnixNano() < until
}

// awaitApart makes a call in a goroutine of its own.
func awaitApart[T any](ctx context.Context, s *Store, call func(context.Context) (T, error), late func(T, error)) (T, error) {
	var none T
	var taken atomic.Bool // by the caller, or by late
	done := make(chan outcome[T], 1)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	started := s.start(func(context.Context) {
		defer cancel()
		begin := time.Now()
		result, err := call(limited)
		s.noteSpeed(begin, err)
		if taken.CompareAndSwap(false, true) {
			done <- outcome[T]{result, err}
		} else if late != nil {
			late(result, err)
		}
	})
	if !started {
		cancel()
		return none, notSent{errClosed}
	}
	if o, ok := receive(ctx, limited, done); ok {
		return o.result, o.err
	}
	if taken.CompareAndSwap(false, true) {
		return none, lost{cause(ctx, limited)}
	}
	o := <-done
	return o.result, o.err
}

// receive waits for the outcome, and a little longer than the caller's context
// lasts.
func receive[T any](ctx, limited context.Context, done <-chan outcome[T]) (outcome[T], bool) {
	select {
	case o := <-done:
		return o, true
	case <-limited.Done():
		return outcome[T]{}, false
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o, true
	case <-limited.Done():
	case <-time.After(grace):
	}
	return outcome[T]{}, false
}

// cause is why the wait for an answer ended.
func cause(ctx, limited context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return context.Cause(limited)
}

// notSent is the error of a call that never reached the server.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// lost is the error of a call whose answer nobody waited for.
type lost struct{ error }

func (e lost) Unwrap() error { return e.error }
