package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/wire"
)

var oddNames = []string{
	strings.Repeat("n", 1024), strings.Repeat("🔑", 256), `"quoted" and 'quoted'`, "a/b/c", "/", "//", "a//b", "/a/", "..", "../..", "a/../b", "./a",
	"a b", " ", "+", "a+b", "%", "%2F", "%25", "100%", "a%00b", "?", "a?b=c&d", "#", "a#b", ";", "a;b", "emoji 🔑🏳️‍🌈", "'; DROP TABLE leases; --", "*", "é", "acquire", "cleanup",
	`\`, "{resource}", "<script>", "a:b@c", "~", "release", "x/release",
}

func TestOddNames(t *testing.T) {
	d := newDriver(t, nil, nil)
	_, client := d.listen() // a real server reads the request line
	for _, name := range oddNames {
		g := d.acquire(name, "h")
		if g.Resource != name {
			t.Errorf("acquire(%q) = %q", name, g.Resource)
		}
		paths := map[string]string{
			"by path":                 "/v1/leases/" + url.PathEscape(name),
			"by path, slashes as is":  "/v1/leases/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/"),
			"by query":                "/v1/resource?resource=" + url.QueryEscape(name),
			"by path, all of it":      "/v1/leases/" + escapeAll(name),
			"by the filter of a list": "/v1/leases?resource=" + url.QueryEscape(name),
		}
		for how, path := range paths {
			r, err := client.Do(newRequest(t, t.Context(), "GET", path, ""))
			if err != nil {
				t.Fatalf("%q %s: %v", name, how, err)
			}
			body := readAll(t, r.Body)
			r.Body.Close()
			if r.StatusCode != http.StatusOK || r.Request.URL.RequestURI() != path || !strings.Contains(body, `"token":`+uintText(g.Token)+`,`) {
				t.Errorf("%q %s = %d %s, want its lease", name, how, r.StatusCode, body)
			}
		}
		d.release(g.LeaseID)
	}
}

func TestOddHolders(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, name := range oddNames {
		if len(name) > 256 {
			name = name[:256]
		}
		d.acquire("r", name)
		for how, path := range map[string]string{"escaped": escapeAll(name), "as is": strings.ReplaceAll(url.PathEscape(name), "%2F", "/")} {
			want := map[string]int{"escaped": 1, "as is": 1}[how]
			if st := d.status("r"); !st.Locked {
				d.acquire("r", name)
			}
			if f := wantForced(d, path); f.Released != want {
				t.Errorf("force-release of %q %s = %d, want %d", name, how, f.Released, want)
			}
		}
	}
}

func wantForced(d *driver, path string) wire.Forced {
	d.Helper()
	return want[wire.Forced](d.send("POST", "/v1/holders/"+path+"/release", ""), http.StatusOK)
}

func escapeAll(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte('%')
		b.WriteByte(digits[s[i]>>4])
		b.WriteByte(digits[s[i]&15])
	}
	return b.String()
}

func TestForeignNamespaces(t *testing.T) {
	d := newDriver(t, nil, nil)
	store := d.server.store
	for _, name := range []string{"blob:container/x", "__healthcheck__:x"} {
		if _, err := store.Acquire(t.Context(), acquireRequest(name)); err != nil {
			t.Fatal(err)
		}
		if got := d.status(name); !got.Locked {
			t.Errorf("status(%q) = %+v, want it locked", name, got)
		}
		want[wire.Broken](d.post("/v1/leases/break", wire.BreakRequest{Resource: name}), http.StatusAccepted)
		if _, err := store.Acquire(t.Context(), acquireRequest(name)); err != nil {
			t.Fatal(err)
		}
		if f := wantForced(d, "blob"); f.Released != 1 {
			t.Errorf("force-release = %+v, want 1", f)
		}
	}
}
