package azblob_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// portal is somebody else's tool on the container of a scene.
type portal struct {
	*scene
	container *container.Client
}

func withPortal(t *testing.T, test func(p *portal)) {
	t.Helper()
	inScene(t, func(s *scene) {
		test(&portal{scene: s, container: containerOf(s.TB, s.faults.RoundTripper, "pipe", "leases")})
	})
}

func (p *portal) blob(resource string) *blob.Client {
	return p.container.NewBlobClient("lease-" + resource)
}

func (p *portal) did(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s by another tool = %v, want success", what, err)
	}
}

func (p *portal) breaks(resource string) {
	p.Helper()
	c, err := lease.NewBlobClient(p.blob(resource), nil)
	p.did("making a client", err)
	_, err = c.BreakLease(p.Context(), &lease.BlobBreakOptions{BreakPeriod: new(int32)})
	p.did("break", err)
}

func (p *portal) leases(resource string) *lease.BlobClient {
	p.Helper()
	c, err := lease.NewBlobClient(p.blob(resource), nil)
	p.did("making a client", err)
	_, err = c.AcquireLease(p.Context(), -1, nil)
	p.did("lease", err)
	return c
}

// after expects a grant with a larger token, some seconds later: a new counter
// starts with the service's clock.
func (p *portal) after(what string, token uint64) leasehold.Grant {
	p.Helper()
	time.Sleep(2 * time.Second)
	g, err := p.Acquire(p.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next", TTL: longest})
	if err != nil || g.Token <= token {
		p.Fatalf("Acquire after %s = token %d, %v; want one above %d", what, g.Token, err, token)
	}
	return g
}

// TestDeletedBlob: no token is used twice, though the counter is gone.
func TestDeletedBlob(t *testing.T) {
	withPortal(t, func(p *portal) {
		p.wantReason("release", operations["release"](p.scene), "")
		_, err := p.blob("r").Delete(p.Context(), nil)
		p.did("delete", err)
		g := p.after("the blob was deleted", p.lease.Token)

		p.breaks("r")
		_, err = p.blob("r").Delete(p.Context(), nil)
		p.did("delete", err)
		_, err = p.Renew(p.Context(), leasehold.RenewRequest{Resource: "r", ID: g.ID})
		p.wantReason("Renew", err, leasehold.ReasonNotFound)
		_, err = p.Release(p.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID})
		p.wantReason("Release", err, leasehold.ReasonNotFound)
		p.wantReason("break", operations["break"](p.scene), leasehold.ReasonNotFound)
		g = p.after("a broken lease's blob was deleted", g.Token)

		p.breaks("r")
		_, err = p.container.Delete(p.Context(), nil)
		p.did("delete", err)
		p.after("the container was deleted", g.Token)
	})
}

// TestBrokenElsewhere: a lease that another tool breaks does not come back, also
// not by a renewal for another time, which is an acquire to the service.
func TestBrokenElsewhere(t *testing.T) {
	for _, op := range []string{"renew", "retime", "release", "change", "break"} {
		withPortal(t, func(p *portal) {
			p.breaks("r")
			p.wantReason(op, operations[op](p.scene), leasehold.ReasonNotFound)
			if st, err := p.other.Status(p.Context(), "r"); err != nil || st.Locked() {
				t.Errorf("Status after %s = %+v, %v; want free", op, st.Lease, err)
			}
			p.after("a break", p.lease.Token)
		})
	}
}

// TestBreakingElsewhere: when a break by another tool ends is not known here, but it
// does.
func TestBreakingElsewhere(t *testing.T) {
	withPortal(t, func(p *portal) {
		c, err := lease.NewBlobClient(p.blob("r"), nil)
		p.did("making a client", err)
		period := int32(10)
		_, err = c.BreakLease(p.Context(), &lease.BlobBreakOptions{BreakPeriod: &period})
		p.did("break", err)
		for _, op := range []string{"renew", "retime", "change", "again"} {
			p.wantReason(op, operations[op](p.scene), leasehold.ReasonBreaking)
		}
		w := p.waits("next", leasehold.ID{})
		time.Sleep(11 * time.Second)
		if g := w.granted(p.TB, "the next"); g.Token <= p.lease.Token {
			t.Errorf("token %d after %d", g.Token, p.lease.Token)
		}
	})
}

// TestLeasedElsewhere: while another tool has the blob, nobody is granted anything,
// unless the blob says that it was released: then that lease looks like the rest of
// a release that was cut off, and is broken.
func TestLeasedElsewhere(t *testing.T) {
	withPortal(t, func(p *portal) {
		time.Sleep(longest + time.Second)
		theirs := p.leases("r")
		_, err := p.Acquire(p.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next", TTL: longest})
		p.wantReason("Acquire", err, leasehold.ReasonHeld)
		p.wantReason("renew", operations["renew"](p.scene), leasehold.ReasonNotFound)
		p.wantReason("release", operations["release"](p.scene), leasehold.ReasonNotFound)
		p.wantReason("again", operations["again"](p.scene), leasehold.ReasonHeld)
		_, err = theirs.ReleaseLease(p.Context(), nil)
		p.did("release", err)
		g := p.after("they released it", p.lease.Token)

		if _, err := p.Release(p.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID}); err != nil {
			p.Fatal(err)
		}
		p.leases("r")
		p.after("a lease on a released blob", g.Token)
	})
}

// TestLeasedBetween: another tool leases the blob between the two calls of an
// acquire, which is then no grant, also if the answer is lost.
func TestLeasedBetween(t *testing.T) {
	for _, err := range []error{nil, errCut} {
		withPortal(t, func(p *portal) {
			p.faults.set(onceFor("acquire", fault{err: err, before: func() { p.leases("free") }}))
			want := leasehold.ReasonHeld
			if err != nil {
				want = leasehold.ReasonUnknown
			}
			p.wantReason("acquire", operations["acquire"](p.scene), want)
		})
	}
}

// TestAnswersWithoutTag: without a tag the next call could not be conditional.
func TestAnswersWithoutTag(t *testing.T) {
	for call, want := range map[string]leasehold.Reason{"load": leasehold.ReasonUnavailable, "store": leasehold.ReasonUnavailable} {
		inScene(t, func(s *scene) {
			s.faults.set(alwaysFor(call, fault{status: 201}))
			s.wantReason("acquire, nothing in the answer to "+call, operations["acquire"](s), want)
			s.faults.set(nil)
			if st, err := s.Status(s.Context(), "free"); err != nil || st.Locked() {
				t.Errorf("Status = %+v, %v; want free", st.Lease, err)
			}
		})
	}
}

// TestEditedBlob: what this store did not write is an error that says so, until the
// blob is deleted.
func TestEditedBlob(t *testing.T) {
	nonsense := "nonsense"
	for what, edit := range map[string]func(p *portal) error{
		"metadata": func(p *portal) error {
			_, err := p.blob("r").SetMetadata(p.Context(), map[string]*string{"token": &nonsense}, nil)
			return err
		},
		"upload": func(p *portal) error {
			_, err := p.container.NewBlockBlobClient("lease-r").Upload(p.Context(), streaming.NopCloser(strings.NewReader(nonsense)), &blockblob.UploadOptions{})
			return err
		},
		"copied": func(p *portal) error {
			p.acquired("other", leasehold.ID{})
			got, err := p.blob("other").GetProperties(p.Context(), nil)
			p.did("look", err)
			_, err = p.blob("r").SetMetadata(p.Context(), got.Metadata, nil)
			return err
		},
	} {
		withPortal(t, func(p *portal) {
			p.wantReason("release", operations["release"](p.scene), "")
			p.did(what, edit(p))
			_, err := p.Acquire(p.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next", TTL: longest})
			p.wantReason("Acquire after "+what, err, leasehold.ReasonUnavailable)
			if err == nil || !strings.Contains(err.Error(), "metadata") {
				t.Errorf("Acquire after %s = %v, want what is wrong", what, err)
			}
			p.wantReason("status", operations["status"](p.scene), leasehold.ReasonUnavailable)
			p.wantReason("list", operations["list"](p.scene), "")
			_, err = p.blob("r").Delete(p.Context(), nil)
			p.did("delete", err)
			p.after("it was deleted", p.lease.Token)
		})
	}
}

// TestSnapshot: a snapshot of a blob changes nothing.
func TestSnapshot(t *testing.T) {
	withPortal(t, func(p *portal) {
		_, err := p.blob("r").CreateSnapshot(p.Context(), nil)
		p.did("snapshot", err)
		p.heldBy(p.lease)
		p.wantReason("release", operations["release"](p.scene), "")
		p.after("a snapshot", p.lease.Token)
		page, err := p.List(p.Context(), leasehold.ListRequest{})
		if err != nil || len(page.Leases) != 1 {
			t.Errorf("List = %+v, %v; want one lease", page, err)
		}
	})
}

// TestThousandWaiters: they cost the service what one does.
func TestThousandWaiters(t *testing.T) {
	inScene(t, func(s *scene) {
		for range 1000 {
			go func() {
				_, _ = s.Wait(s.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "w", TTL: longest, Timeout: 50 * time.Second})
			}()
		}
		synctest.Wait()
		s.faults.set(nil)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if n := len(s.faults.calls()); n < 5 || n > 20 {
			t.Errorf("%d calls in 50s, want one every 5s or so", n)
		}
	})
}
