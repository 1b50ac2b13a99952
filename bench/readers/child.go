package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// child is the readers' process: it opens streams or scans the history until its
// standard input ends, and then prints what it counted.
func child(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("want a kind, an address, a number and a prefix, not %q", args)
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &readers{ctx: ctx, url: args[1], tokens: strings.Split(os.Getenv("TOKENS"), ","), prefix: args[3], client: newClient()}
	read := map[string]func(int){"streams": r.stream, "scans": r.scan}[args[0]]
	if read == nil {
		return fmt.Errorf("unknown kind %q", args[0])
	}
	var wg sync.WaitGroup
	r.started.Add(n)
	for i := range n {
		wg.Go(func() { read(i) })
	}
	r.started.Wait()
	fmt.Println("ready")
	start := time.Now()
	_, _ = io.Copy(io.Discard, os.Stdin)
	seconds := time.Since(start).Seconds()
	cancel()
	wg.Wait()
	fmt.Printf("they read %.1f MB/s, %d resets, %.1f scans/s, %d refused or cut off\n",
		float64(r.bytes.Load())/1e6/seconds, r.resets.Load(), float64(r.scans.Load())/seconds, r.failed.Load())
	return nil
}

// readers counts what the readers receive.
type readers struct {
	ctx     context.Context
	url     string
	tokens  []string
	prefix  string
	client  *http.Client
	started sync.WaitGroup

	bytes, resets, scans, failed atomic.Int64
}

func (r *readers) get(path, token string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := r.client.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		err = fmt.Errorf("%w %s", errStatus, answer.Status)
	}
	return answer, err
}

// stream reads one event stream, and opens it again when it ends.
func (r *readers) stream(i int) {
	first := sync.OnceFunc(r.started.Done)
	defer first()
	buffer := make([]byte, 64<<10)
	for r.ctx.Err() == nil {
		answer, err := r.get("/v1/events?prefix="+r.prefix, r.tokens[i%len(r.tokens)])
		if err == nil {
			first()
			r.follow(answer.Body, buffer)
			answer.Body.Close()
		}
		if r.ctx.Err() == nil {
			r.failed.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

var reset = []byte("event: reset\n")

func (r *readers) follow(body io.Reader, buffer []byte) {
	for {
		n, err := body.Read(buffer)
		r.bytes.Add(int64(n))
		r.resets.Add(int64(bytes.Count(buffer[:n], reset)))
		if err != nil {
			return
		}
	}
}

// scan reads the whole history in a loop, for a holder who is not in it, as four
// callers.
func (r *readers) scan(i int) {
	r.started.Done()
	for r.ctx.Err() == nil {
		answer, err := r.get("/v1/history?holder=nobody", r.tokens[i%4])
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		switch {
		case err == nil:
			r.scans.Add(1)
		case r.ctx.Err() == nil:
			r.failed.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
	}
}
