package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCauseOfFailure: over HTTP the cause stays in the log, as it may name hosts. Who
// runs the program gets all of it.
func TestCauseOfFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := brokenStore{memory.New(), &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("no route to db.internal")}}
		w := newWorld(t, store, Options{})
		defer w.end()
		local, _ := w.stream(Stream{Identity: Identity{Holder: "ann"}}, "")
		web := w.web(auth.Local, http.Header{HolderHeader: {"ann"}}, "")
		for where, a := range map[string]agent{"local": local, "web": web} {
			answer, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{
				Name: "lease_acquire", Arguments: map[string]any{"resources": []string{"job"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(answer)
			if told := strings.Contains(string(text), "db.internal"); !answer.IsError || told != (where == "local") {
				t.Errorf("%s: acquire = %s", where, text)
			}
		}
		if n := strings.Count(w.log.String(), "db.internal"); n != 2 {
			t.Errorf("the log has the cause %d times, want 2:\n%s", n, w.log.String())
		}
	})
}

// brokenStore grants nothing.
type brokenStore struct {
	leasehold.Store
	err error
}

func (s brokenStore) Acquire(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error) {
	return leasehold.Grant{}, s.err
}
