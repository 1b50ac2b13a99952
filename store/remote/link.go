package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxHead is how much of an answer's head is read: a server that never
	// stops sending headers must not fill the memory.
	maxHead = 256 << 10

	// grace is how long the rest of an answer may take when its first byte came
	// before the caller left.
	grace = 2 * time.Second

	// farewell is how long the last word of the server is listened for when the
	// caller has left.
	farewell = 5 * time.Second
)

var (
	errEndlessHead = errors.New("the head of the answer has no end")
	errSwitched    = errors.New("the server wants to switch protocols")
)

// link is one connection to the server. One request uses it at a time.
type link struct {
	conn   net.Conn
	in     *bufio.Reader
	budget int64 // how much may still be read
	reused bool
	since  time.Time // idle since then

	mu        sync.Mutex
	answering bool // the first byte of the answer is here
	left      bool // the caller has left
}

// aLongTimeAgo as a deadline ends what blocks, at once.
var aLongTimeAgo = time.Unix(1, 0)

func newLink(conn net.Conn) *link {
	l := &link{conn: conn}
	l.in = bufio.NewReader(metered{l})
	return l
}

// metered reads from the connection as far as the budget goes.
type metered struct{ *link }

func (m metered) Read(p []byte) (int, error) {
	if m.budget <= 0 {
		return 0, errEndlessHead
	}
	n, err := m.conn.Read(p[:min(int64(len(p)), m.budget)])
	m.budget -= int64(n)
	return n, err
}

// exchange sends a request and reads the head of the answer.
func (l *link) exchange(q *request, bytes []byte) (*answer, error) {
	stop := l.begin(q)
	if n, err := l.conn.Write(bytes); err != nil {
		stop()
		if n == 0 {
			err = &notSent{err}
		}
		return nil, err
	}
	a, err := l.listen(q.stream)
	if err != nil {
		stop()
		return nil, err
	}
	a.Body = &body{content: a.Body, link: l, stop: stop}
	return a, nil
}

// begin makes the link obey the request's timeout and context. The function it
// returns ends that, and says whether the context had no effect.
func (l *link) begin(q *request) (stop func() bool) {
	l.answering, l.left = false, false
	l.budget = maxHead
	var deadline time.Time
	if q.timeout > 0 {
		deadline = time.Now().Add(q.timeout)
	}
	_ = l.conn.SetDeadline(deadline) // if it is broken, the write will say so
	if q.ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(q.ctx, l.interrupt)
}

// interrupt ends what blocks on the link because the caller leaves. An answer
// that has begun to arrive may still do so.
func (l *link) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = true
	deadline := aLongTimeAgo
	if l.answering {
		deadline = time.Now().Add(grace)
	}
	_ = l.conn.SetDeadline(deadline)
}

// listen waits for the answer and reads its head. After an error from before
// the first byte the link can be listened to again.
func (l *link) listen(stream bool) (*answer, error) {
	if _, err := l.in.Peek(1); err != nil {
		return nil, err
	}
	l.heard(stream)
	if !stream {
		if a := quickHead(l.in); a != nil {
			l.budget = math.MaxInt64
			return a, nil
		}
	}
	for {
		a, err := http.ReadResponse(l.in, nil)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the answer broke off: %w", err)
		case err != nil:
			return nil, err
		case a.StatusCode == http.StatusSwitchingProtocols:
			return nil, errSwitched
		case a.StatusCode >= 200:
			l.budget = math.MaxInt64 // the body is limited by whoever reads it
			return a, nil
		}
	}
}

// heard notes the first byte of the answer.
func (l *link) heard(stream bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answering = !stream
	if l.left && l.answering {
		_ = l.conn.SetDeadline(time.Now().Add(grace))
	}
}

// leave tells the server that the caller leaves and returns its last word, if
// it has one. The connection of a waiter is the waiter: the server takes it out
// of the queue when it sees our side end, and a grant that was on its way still
// gets through.
func (l *link) leave() (*answer, error) {
	half, ok := l.conn.(interface{ CloseWrite() error })
	if !ok {
		return nil, net.ErrClosed
	}
	_ = l.conn.SetDeadline(time.Now().Add(farewell))
	if err := half.CloseWrite(); err != nil {
		return nil, err
	}
	a, err := l.listen(false)
	if err == nil {
		a.Close = true
		a.Body = &body{content: a.Body, link: l, stop: func() bool { return false }}
	}
	return a, err
}

// body is an answer's body. When it has been read to its end the link may carry
// the next request.
type body struct {
	content io.Reader
	link    *link
	stop    func() bool
	ended   bool
	done    func(l *link, clean bool)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// Close does not read the rest, which may have no end.
func (b *body) Close() error {
	if b.done == nil {
		return nil
	}
	undisturbed := b.stop()
	b.done(b.link, undisturbed && b.ended)
	b.done = nil
	return nil
}
