// Package hook is what a coding agent's tool runs before and after an edit: it acquires
// the files that are about to change, or refuses the edit in the form that the tool
// understands.
//
// No state is kept between calls. The ids of the leases are derived from a secret of the
// user, the holder and the path (see secret.go), so a second edit of a file by the same
// holder renews the lease of the first.
//
// A hook must not fail in a way that its tool takes for consent, or for a broken hook:
// Run answers every input, recovers from panics, ends with 0 or 2, and ends in time
// whatever does not answer: its input, a file system, the server, or its own loops.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/leasehold/leasehold"
)

// The defaults of Options.
const (
	// DefaultTTL outlives the pause between two edits of one file, such as a run of the
	// tests, and is short enough to wait for after a crash.
	DefaultTTL = 10 * time.Minute

	// DefaultLimit is the time for all of a hook. Claude Code ends what runs at a
	// session's end after 1.5 s.
	DefaultLimit = time.Second

	// grace is how long after the limit Run waits for an answer that says what was late.
	grace = 200 * time.Millisecond
)

// MaxInput is how much of standard input is read. An edit carries the new content.
const MaxInput = 32 << 20

// Options are the settings of a hook.
type Options struct {
	// Open opens the store. It is called only if the input needs one.
	Open func(context.Context) (leasehold.Store, error)

	// Store is what to write behind --store in advice; empty if the default will do.
	Store string

	TTL        time.Duration // zero: DefaultTTL
	Limit      time.Duration // zero: DefaultLimit
	Task       string        // metadata "task" of the leases, for others to read
	FailClosed bool          // refuse an edit that cannot be checked

	// SecretFile has the user's secret; it is created if missing. Empty: a file in the
	// user's cache folder.
	SecretFile string

	opened leasehold.Store
}

// Clients are the tools that have a hook, by their names.
func Clients() []string { return []string{"claude", "codex", "cursor"} }

// client is how a tool speaks.
type client interface {
	// decode reads what the tool has written to standard input.
	decode(input []byte) (event, error)

	allow(e event) answer
	deny(e event, reason string) answer
	warn(e event, problem string) answer // allows, too
}

var clients = map[string]client{"claude": claude{}, "codex": codex{}, "cursor": cursor{}}

// answer is what the tool gets.
type answer struct {
	out, err string
	code     int
	refusal  string // what out says, if it refuses
}

// blocked is the exit code by which every tool refuses, with the reason on standard
// error. All but 0 and 2 would let the edit through.
const blocked = 2

// Run is one call of a tool's hook. It returns the exit code, 0 or 2.
func Run(name string, in io.Reader, out, errOut io.Writer, o Options) (code int) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	o.Limit = min(o.Limit, leasehold.MaxTimeout) // with room for the grace
	ctx, cancel := context.WithTimeoutCause(context.Background(), o.Limit, errLimit)
	defer cancel()
	a, inTime := respondInTime(ctx, clients[name], name, in, &o)
	if inTime {
		defer o.close(ctx)
	}
	if _, err := io.WriteString(out, a.out); err != nil && a.refusal != "" {
		a.err, a.code = a.refusal+"\n", blocked // a refusal that nobody can read would be consent
	}
	_, _ = io.WriteString(errOut, a.err)
	return a.code
}

// respondInTime answers soon after the limit, even where something goes on that no
// context ends: a pipe in the place of a file, a file system that hangs. Then the options
// are still in use.
func respondInTime(ctx context.Context, c client, name string, in io.Reader, o *Options) (a answer, inTime bool) {
	failed := unchecked(c, o.FailClosed)
	known := make(chan *session, 1)
	answered := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answered <- failed(fmt.Sprintf("an error of the program: %.200v", p))
			}
		}()
		answered <- respond(ctx, c, name, in, o, known)
	}()
	late := time.NewTimer(o.Limit + grace)
	defer late.Stop()
	select {
	case a := <-answered:
		return a, true
	case <-late.C:
	}
	problem := fmt.Sprintf("something that it needs did not answer within %v", o.Limit)
	select {
	case s := <-known: // to refuse the end of a session would keep it going
		return s.failed(c, errors.New(problem)), false
	default:
		return failed(problem), false
	}
}

// unchecked returns the answer to an event that is not known.
func unchecked(c client, failClosed bool) func(problem string) answer {
	return func(problem string) answer {
		if failClosed {
			return answer{err: failedClosed(problem) + "\n", code: blocked}
		}
		return c.warn(event{}, failedOpen(problem))
	}
}

// close closes the store that was opened, unless that lasts longer than the hook may.
func (o *Options) close(ctx context.Context) {
	if o.opened == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = o.opened.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

var errLimit = errors.New("the time of a hook is over")

// respond reads the event, makes it known, and handles it.
func respond(ctx context.Context, c client, name string, in io.Reader, o *Options, known chan<- *session) answer {
	input, err := read(ctx, in)
	var e event
	if err == nil {
		e, err = c.decode(input)
	}
	if err != nil {
		return unchecked(c, o.FailClosed)(fmt.Sprintf("the input cannot be read: %v", err))
	}
	s := &session{Options: o, event: e, holder: e.holder(name), client: name}
	known <- &session{Options: o, event: e}
	switch e.kind {
	case beforeEdit:
		return s.before(ctx, c)
	case afterEdit:
		return s.after(ctx, c)
	case ends:
		return s.end(ctx, c)
	}
	return c.allow(e)
}

// read reads all of the input, as far as the time allows.
func read(ctx context.Context, in io.Reader) ([]byte, error) {
	type result struct {
		input []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		input, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
		done <- result{input, err}
	}()
	select {
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, r.err
		case len(r.input) > MaxInput:
			return nil, fmt.Errorf("it has more than %d MiB", MaxInput>>20)
		case len(r.input) == 0:
			return nil, errors.New("it is empty")
		}
		return r.input, nil
	case <-ctx.Done():
		return nil, errors.New("it does not end")
	}
}

func failedOpen(problem string) string {
	return "Leasehold did not check this edit: " + problem + ". Others may be editing the same file."
}

func failedClosed(problem string) string {
	return "Leasehold cannot check this edit, and is set to refuse what it cannot check (--fail-closed): " + problem + "."
}
