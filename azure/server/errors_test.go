package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// newServer returns a server of two accounts, without a catalog, that logs here.
func newServer(log io.Writer) *Server {
	o := &Options{Accounts: []sign.Account{sign.Development(), {Name: "otheraccount", Keys: [][]byte{[]byte("key")}}}}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return New(nil, o)
}

// send has the plain API answer a request, whose headers are pairs of name and
// value.
func send(t *testing.T, s *Server, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "/blob/devstoreaccount1"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.PlainHandler().ServeHTTP(w, r.WithContext(auth.With(t.Context(), auth.Local)))
	return w
}

func statusAndCode(w *httptest.ResponseRecorder) string {
	return fmt.Sprintf("%d %s", w.Code, w.Header().Get("X-Ms-Error-Code"))
}

// TestFailures: the answer names a failure of ours in general, the log in full.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
		logs bool
	}{
		"unavailable":           {&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("secret disk")}, "503 ServerBusy", true},
		"unknown":               {fmt.Errorf("wrapped: %w", &leasehold.Error{Reason: leasehold.ReasonUnknown}), "500 OperationTimedOut", true},
		"anything else":         {errors.New("secret disk"), "500 InternalError", true},
		"an Azure error":        {azerr.New(azerr.BlobNotFound), "404 BlobNotFound", false},
		"a wrapped Azure error": {fmt.Errorf("wrapped: %w", azerr.New(azerr.BlobNotFound)), "404 BlobNotFound", false},
		"a lease":               {fmt.Errorf("wrapped: %w", &catalog.LeaseError{Action: catalog.Write, Reason: leasehold.ReasonMissing}), "412 LeaseIdMissing", false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := newServer(&log)
			fail := operation{Name: "Fail", Level: atService, Method: "GET HEAD PUT", Comp: "fail", Handle: func(*Server, *call) error { return test.err }}
			s.routes = newRoutes([]operation{fail})
			w := send(t, s, "GET", "?comp=fail", "")
			if got := statusAndCode(w); got != test.want || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("GET = %s, want %s: %s", got, test.want, w.Body)
			}
			if logged := strings.Contains(log.String(), "blob request failed"); logged != test.logs {
				t.Errorf("logged: %t, want %t", logged, test.logs)
			}
			if !strings.Contains(log.String(), w.Header().Get("X-Ms-Request-Id")) {
				t.Error("the log does not have the request's id")
			}
			if head := send(t, s, "HEAD", "?comp=fail", ""); statusAndCode(head) != test.want || head.Body.Len() > 0 {
				t.Errorf("HEAD = %s %q, want %s without a body", statusAndCode(head), head.Body, test.want)
			}
		})
	}
}

// TestUnsupportedHeaders: nothing pretends to encrypt or to protect. Without a
// catalog, anything but a refusal would be a panic.
func TestUnsupportedHeaders(t *testing.T) {
	for _, u := range unsupportedHeaders {
		w := send(t, newServer(nil), "PUT", "/box/a", "x", "x-ms-blob-type", "BlockBlob", u.name, "x")
		if got := statusAndCode(w); got != "501 NotImplemented" {
			t.Errorf("%s = %s, want 501 NotImplemented", u.name, got)
		}
	}
}

// TestHalfAnAnswer: an answer that breaks off does not look whole.
func TestHalfAnAnswer(t *testing.T) {
	s := newServer(nil)
	half := operation{Name: "Half", Level: atService, Method: "GET", Comp: "half", Handle: func(_ *Server, c *call) error {
		c.writeHeader(http.StatusOK)
		_, _ = io.WriteString(c.w, "half")
		return errors.New("the disk is gone")
	}}
	s.routes = newRoutes([]operation{half})
	listening := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.PlainHandler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	}))
	listening.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	listening.Start()
	defer listening.Close()
	answer, err := listening.Client().Get(listening.URL + "/blob/devstoreaccount1?comp=half")
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer was taken for whole")
	}
}

// TestBatchPanics: a part that fails badly fails alone.
func TestBatchPanics(t *testing.T) {
	var log bytes.Buffer
	s := newServer(&log)
	bad := operation{Name: "Panic", Level: atBlob, Method: "DELETE", Comp: "panic", Write: true, Batch: true,
		Handle: func(_ *Server, c *call) error {
			if strings.HasSuffix(c.ref.Blob, "late") {
				c.writeHeader(200)
			}
			panic("on purpose")
		}}
	s.routes = newRoutes(append(slices.Clip(operations), bad))
	w := send(t, s, "POST", "?comp=batch", parts(
		"DELETE /blob/devstoreaccount1/box/early?comp=panic HTTP/1.1\r\n\r\n",
		"DELETE /blob/devstoreaccount1/box/late?comp=panic HTTP/1.1\r\n\r\n"), "Content-Type", batchType)
	if body := w.Body.String(); w.Code != 202 || strings.Count(body, "HTTP/1.1 500") != 2 || strings.Contains(body, "on purpose") {
		t.Errorf("a batch of panics = %d %s", w.Code, body)
	}
	if got := statusAndCode(send(t, s, "DELETE", "/box/early?comp=panic", "")); got != "500 InternalError" {
		t.Errorf("a panic = %s, want 500 InternalError", got)
	}
	if !strings.Contains(log.String(), "on purpose") {
		t.Error("the log does not have the panic")
	}
}
