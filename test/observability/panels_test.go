//go:build unix

package observability

import (
	"testing"
	"time"
)

func TestProbe(t *testing.T) {
	s := startServer(t)
	a := startApp(t, s.url)
	p := startPrometheus(t, s.addr(), a.addr(), "127.0.0.1:1")
	l := newLoad(t, s, a)
	start := time.Now()
	l.run()
	t.Log("warm", time.Since(start))
	_ = p
	l.run()
	t.Log(l.counts, l.app.calls)
	for k, v := range l.direct.counts {
		t.Log("direct", k, v)
	}
	for k, v := range l.app.requests.counts {
		t.Log("app", k, v)
	}
	write(t, getText(t, a.page.URL), "/tmp/obs-deploy/app.txt")
	write(t, getText(t, s.url+"/metrics"), "/tmp/obs-deploy/srv.txt")
}
