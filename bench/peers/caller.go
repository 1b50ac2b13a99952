package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// caller uses the JSON API as a client in another language would: a connection of
// its own, one request for each call, no batches.
type caller struct {
	base   string
	name   string
	client *http.Client
	held   struct {
		LeaseID string `json:"lease_id"`
	}
}

func newCaller(base, name string) *caller {
	return &caller{base: base, name: name, client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}}
}

func (c *caller) lock(ctx context.Context) error {
	return c.post(ctx, "/v1/leases/acquire", map[string]any{"resource": c.name, "holder": "bench", "ttl_seconds": 60}, &c.held)
}

func (c *caller) unlock(ctx context.Context) error {
	return c.post(ctx, "/v1/leases/release", map[string]any{"lease_id": c.held.LeaseID}, nil)
}

func (c *caller) close() { c.client.CloseIdleConnections() }

func (c *caller) post(ctx context.Context, path string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("POST %s: %s: %s", path, answer.Status, got)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got, into)
}
