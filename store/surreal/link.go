package surreal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/surrealcbor"
)

const (
	pingEvery = 5 * time.Second
	silence   = 15 * time.Second // after which a connection counts as lost
	notices   = 256              // of one live query that may wait to be read
)

// link is one WebSocket connection.
type link struct {
	socket *websocket.Conn
	done   chan struct{} // closed when it is lost
	ended  sync.WaitGroup

	writing sync.Mutex

	mu      sync.Mutex
	err     error     // why it was lost
	heard   time.Time // when the last message came
	last    uint64
	waiting map[string]chan *connection.RPCResponse[cbor.RawMessage]
	live    map[string]chan connection.Notification
}

// dialLink connects.
func dialLink(ctx context.Context, o Options) (*link, error) {
	scheme := "ws"
	if o.TLS != nil {
		scheme = "wss"
	}
	dialer := &websocket.Dialer{TLSClientConfig: o.TLS, Subprotocols: []string{"cbor"}}
	socket, response, err := dialer.DialContext(ctx, scheme+"://"+o.Address+"/rpc", http.Header{})
	if response != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("surreal: no connection to %s: %w", o.Address, err)
	}
	l := &link{
		socket: socket, done: make(chan struct{}),
		waiting: map[string]chan *connection.RPCResponse[cbor.RawMessage]{},
		live:    map[string]chan connection.Notification{},
	}
	l.extend()
	socket.SetPongHandler(func(string) error { l.extend(); return nil })
	l.ended.Go(l.readLoop)
	l.ended.Go(l.pingLoop)
	return l, nil
}

// extend says that the server is there.
func (l *link) extend() { _ = l.socket.SetReadDeadline(time.Now().Add(silence)) }

func (l *link) readLoop() {
	for {
		_, data, err := l.socket.ReadMessage()
		if err != nil {
			l.fail(fmt.Errorf("surreal: the connection was lost: %w", err))
			return
		}
		l.extend()
		l.mu.Lock()
		l.heard = time.Now()
		l.mu.Unlock()
		l.receive(data)
	}
}

func (l *link) pingLoop() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-ticker.C:
			_ = l.socket.WriteControl(websocket.PingMessage, nil, time.Now().Add(pingEvery))
		}
	}
}

// receive hands a message to who waits for it.
func (l *link) receive(data []byte) {
	var answer connection.RPCResponse[cbor.RawMessage]
	if err := surrealcbor.Unmarshal(data, &answer); err != nil {
		l.fail(errors.New("surreal: the server sent what is no answer"))
		return
	}
	if id, ok := answer.ID.(string); ok && id != "" {
		l.mu.Lock()
		waiter := l.waiting[id]
		delete(l.waiting, id)
		l.mu.Unlock()
		if waiter != nil {
			waiter <- &answer
		}
		return
	}
	var notice connection.Notification
	if answer.Result == nil || surrealcbor.Unmarshal(*answer.Result, &notice) != nil || notice.ID == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	channel := l.live[notice.ID.String()]
	if channel == nil {
		return
	}
	select {
	case channel <- notice:
	default: // nobody reads: it is over, and starts again
		close(channel)
		delete(l.live, notice.ID.String())
	}
}

// fail ends the connection, and all that wait for it.
func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.done)
	_ = l.socket.Close()
	for id, channel := range l.live {
		close(channel)
		delete(l.live, id)
	}
}

func (l *link) lost() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// close ends the connection and waits until nothing of it runs.
func (l *link) close() {
	l.fail(errClosed)
	l.ended.Wait()
}

// patience is how long a server may say nothing at all before a caller whose time is
// up takes the connection for lost.
const patience = time.Second

// silentSince reports whether nothing has come since a request was sent, which is so
// long ago that something should have.
func (l *link) silentSince(sent time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(sent) >= patience && l.heard.Before(sent)
}

// call sends a request and waits for its answer. A server that does not answer in
// time is not waited for by the next: the connection is lost. One caller that has
// little time must not cost the others theirs.
func (l *link) call(ctx context.Context, r *connection.RPCRequest) (*connection.RPCResponse[cbor.RawMessage], error) {
	sent := time.Now()
	answer, err := l.send(ctx, r)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			return nil, a.Error
		}
		return a, nil
	case <-l.done:
		return nil, l.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && l.silentSince(sent) {
			l.fail(errors.New("surreal: the server did not answer in time"))
		}
		return nil, fmt.Errorf("surreal: no answer: %w", context.Cause(ctx))
	}
}

// send writes a request, and returns where its answer will be.
func (l *link) send(ctx context.Context, r *connection.RPCRequest) (<-chan *connection.RPCResponse[cbor.RawMessage], error) {
	if ctx.Err() != nil {
		return nil, notSent{context.Cause(ctx)}
	}
	answer := make(chan *connection.RPCResponse[cbor.RawMessage], 1)
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return nil, notSent{l.err}
	}
	l.last++
	id := strconv.FormatUint(l.last, 10)
	l.waiting[id] = answer
	l.mu.Unlock()
	request := *r
	request.ID = id
	data, err := surrealcbor.Marshal(&request)
	if err != nil {
		return nil, notSent{errors.New("surreal: the request cannot be encoded")}
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.socket.SetWriteDeadline(time.Now().Add(pingEvery)) // not the caller's: a write that is cut off ends the connection
	if err := l.socket.WriteMessage(websocket.BinaryMessage, data); err != nil {
		l.fail(fmt.Errorf("surreal: the connection was lost: %w", err))
		return nil, l.err
	}
	return answer, nil
}

// follow returns the notices of a live query.
func (l *link) follow(id string) (chan connection.Notification, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	channel := make(chan connection.Notification, notices)
	l.live[id] = channel
	return channel, nil
}

func (l *link) unfollow(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if channel := l.live[id]; channel != nil {
		close(channel)
		delete(l.live, id)
	}
}
