package azblob_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
)

// atTheLimits runs a test on our own API and on azurite, with the longest prefix.
func atTheLimits(t *testing.T, test func(t *testing.T, s *azblob.Store)) {
	run := func(host string, transport http.RoundTripper) func(t *testing.T) {
		return func(t *testing.T) {
			s, err := azblob.New(containerOf(t, transport, host, "leases"), &azblob.Options{Prefix: strings.Repeat("p/", 59), Timeout: generous})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			test(t, s)
		}
	}
	t.Run("our API", run("pipe", newAzureAPI(t).transport))
	t.Run("azurite", func(t *testing.T) { run(testserver.Azurite(t).Addr, newTransport(t))(t) })
}

// TestNamesAtTheLimit: every sign, also in the longest names, whose blobs' names
// have 1024 characters.
func TestNamesAtTheLimit(t *testing.T) {
	atTheLimits(t, func(t *testing.T, s *azblob.Store) {
		var signs strings.Builder
		for b := byte(' '); b < 0x7f; b++ {
			signs.WriteByte(b)
		}
		for _, name := range []string{
			signs.String(), ".", "..", "/", "//", "a/", "/a", "a/../b", "%2F", "a.break", "a ", " a", "é", "日本", "\u2028", "😀",
			strings.Repeat(".", azblob.MaxResource), strings.Repeat("/", azblob.MaxResource), strings.Repeat("😀", azblob.MaxResource/4),
			strings.Repeat("x", azblob.MaxResource), strings.Repeat("~", azblob.MaxResource-1) + ".",
		} {
			g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: name, Holder: "h", TTL: longest})
			if err != nil {
				t.Errorf("Acquire(%q) = %v, want a grant", name, err)
				continue
			}
			page, err := s.List(t.Context(), leasehold.ListRequest{Resource: name})
			if err != nil || len(page.Leases) != 1 || page.Leases[0].Resource != name || page.Leases[0].Token != g.Token {
				t.Errorf("List(%q) = %+v, %v; want it", name, page, err)
			}
			period := 10 * time.Second
			if l, err := s.Break(t.Context(), leasehold.BreakRequest{Resource: name, Period: &period}); err != nil || l.State != leasehold.StateBreaking {
				t.Errorf("Break(%q) = %v, want success", name, err)
			}
			if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{Resource: name, ID: g.ID}); err != nil {
				t.Errorf("Release(%q) = %v, want success", name, err)
			}
		}
	})
}

// TestMetadataAtTheLimit: the caller's own 8 KiB, in few and in many pairs, of one
// byte and of several a letter. What a blob has is at some of these sizes just
// what it takes.
func TestMetadataAtTheLimit(t *testing.T) {
	atTheLimits(t, func(t *testing.T, s *azblob.Store) {
		var all []map[string]string
		for _, letter := range []string{"a", "%", "é", "😀", "\n"} {
			few, many := map[string]string{}, map[string]string{}
			for i := range 7 {
				few[fmt.Sprint("K", i)] = strings.Repeat(letter, 1024/len(letter))
			}
			for i := range leasehold.MaxMetadataPairs {
				many[fmt.Sprintf("Key.%02d", i)] = strings.Repeat(letter, 112/len(letter))
			}
			all = append(all, few, many)
		}
		for size := 730; size < 1024; size++ { // with ours about 8 KiB in all
			m := map[string]string{"last": strings.Repeat("a", size)}
			for i := range 7 {
				m[fmt.Sprint("k", i)] = strings.Repeat("a", 1012)
			}
			if leasehold.CheckMetadata(m) != nil {
				break
			}
			if size%7 == 0 || size > 780 && size < 880 {
				all = append(all, m)
			}
		}
		for i, m := range all {
			if err := leasehold.CheckMetadata(m); err != nil {
				t.Fatal(err)
			}
			r := leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: longest, Metadata: m}
			g, err := s.Acquire(t.Context(), r)
			if err != nil {
				t.Fatalf("Acquire with metadata %d = %v, want a grant", i, err)
			}
			if st, err := s.Status(t.Context(), "r"); err != nil || !maps.Equal(st.Lease.Metadata, m) {
				t.Errorf("Status with metadata %d = %v, want it as it was", i, err)
			}
			if l, err := s.Renew(t.Context(), leasehold.RenewRequest{Resource: "r", ID: g.ID}); err != nil || !maps.Equal(l.Metadata, m) {
				t.Errorf("Renew with metadata %d = %v, want it as it was", i, err)
			}
			if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID}); err != nil {
				t.Errorf("Release with metadata %d = %v, want success", i, err)
			}
		}
		t.Logf("%d sizes", len(all))
	})
}
