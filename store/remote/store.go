package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

const kind = "remote" // the store's kind in errors that did not come from the server

var errClosed = errors.New("the client is closed")

var (
	_ leasehold.Store          = (*Store)(nil)
	_ leasehold.Waiter         = (*Store)(nil)
	_ leasehold.Breaker        = (*Store)(nil)
	_ leasehold.Changer        = (*Store)(nil)
	_ leasehold.Transferer     = (*Store)(nil)
	_ leasehold.Finder         = (*Store)(nil)
	_ leasehold.Lister         = (*Store)(nil)
	_ leasehold.HolderReleaser = (*Store)(nil)
	_ leasehold.ChildReleaser  = (*Store)(nil)
	_ leasehold.Historian      = (*Store)(nil)
	_ leasehold.Cleaner        = (*Store)(nil)
	_ leasehold.Configurer     = (*Store)(nil)
	_ leasehold.Watcher        = (*Store)(nil)
	_ leasehold.Backuper       = (*Store)(nil)
	_ leasehold.WaitLister     = (*Store)(nil)
)

// Store is the client of a server's store. It is safe for concurrent use.
//
// It has every power, because it cannot know in advance what the server's store
// lacks: such a call answers ErrUnsupported.
type Store struct {
	o         Options
	address   address
	transport *transport
	batcher   *batcher
	*lifetime
}

// Open returns the store that a server serves at url: http:// or https://, with
// a path if the server's API is not at the root. It makes no connection yet.
func Open(url string, o *Options) (*Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, localError("open", "", err)
	}
	a, err := parseURL(url)
	if err != nil {
		return nil, localError("open", "", err)
	}
	s := &Store{o: full, address: a, transport: newTransport(full, a), lifetime: newLifetime()}
	s.batcher = &batcher{store: s}
	return s, nil
}

// Close ends waits and watches with ErrUnavailable and closes the connections,
// but not a client that was passed to Open. The server's store stays open. Close
// first releases what was granted to callers that have left, if the server answers
// soon.
func (s *Store) Close() error {
	s.batcher.close()
	s.lifetime.close()
	s.transport.close()
	return nil
}

// Format prints where the server is, whatever the verb, and never the token.
func (s *Store) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "remote store at "+string(s.address))
}

// closeFor is how long Close waits for the answers of calls that change
// something: what was granted to callers that have left is released.
const closeFor = time.Second

// lifetime owns the goroutines that go on when their caller has left. Close
// waits for them.
type lifetime struct {
	open    context.Context // ends when Close starts: reads and waits end
	life    context.Context // ends when Close has waited long enough
	endOpen context.CancelFunc
	endLife context.CancelFunc
	mu      sync.Mutex // between close and background
	running sync.WaitGroup
}

func newLifetime() *lifetime {
	l := new(lifetime)
	l.open, l.endOpen = context.WithCancel(context.Background())
	l.life, l.endLife = context.WithCancel(context.Background())
	return l
}

func (l *lifetime) closed() bool { return l.open.Err() != nil }

// background runs f unless the store is closed, and reports whether it does.
func (l *lifetime) background(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed() {
		return false
	}
	l.running.Go(f)
	return true
}

func (l *lifetime) close() {
	l.mu.Lock()
	l.endOpen()
	l.mu.Unlock()
	late := time.AfterFunc(closeFor, l.endLife)
	defer late.Stop()
	l.running.Wait()
	l.endLife()
}

// with returns a context that ends with another one, too.
func with(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(errClosed) })
	if other.Err() != nil {
		cancel(errClosed) // now, not soon
	}
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
