//go:build unix

package observability

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold/leasehold/internal/testserver"
)

// pager is what Alertmanager calls, at /page and /ticket.
type pager struct {
	mu    sync.Mutex
	calls map[string]map[string]string // annotations, by path and alert
}

func (p *pager) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []struct {
			Status              string
			Labels, Annotations map[string]string
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&message)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range message.Alerts {
		if a.Status == "firing" {
			p.calls[r.URL.Path+" "+a.Labels["alertname"]] = a.Annotations
		}
	}
}

func (p *pager) got(call string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[call]
}

// TestLostLeasePages: a program loses a lease; Prometheus and Alertmanager with the
// shipped files page somebody, with the runbook.
func TestLostLeasePages(t *testing.T) {
	testserver.Tool(t, "prometheus")
	p := &pager{calls: map[string]map[string]string{}}
	hook := httptest.NewServer(p)
	t.Cleanup(hook.Close)
	config := replaceAll(t, read(t, shipped, "alertmanager.yml"), map[string]string{"127.0.0.1:9095": addrOf(hook.URL)})
	manager := testserver.Alertmanager(t, write(t, config, t.TempDir(), "alertmanager.yml"))
	s := startServer(t)
	a := startApp(t, s.url)
	startPrometheus(t, s.addr(), a.addr(), manager.Addr)
	l := newLoad(t, s, a)
	l.reset()
	l.broken(1)
	eventually(t, "somebody is paged", func() bool { return p.got("/page LeaseLost") != nil })
	got := p.got("/page LeaseLost")
	if !strings.HasSuffix(got["runbook_url"], "/docs/runbooks/lease-lost.md") || !strings.Contains(got["description"], "test, "+a.addr()+", store remote") {
		t.Errorf("the page says %q, want the runbook, the program and the store", got)
	}
	if got := p.got("/ticket LeaseLost"); got != nil {
		t.Errorf("there is a ticket besides: %q", got)
	}
}
