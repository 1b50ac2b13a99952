package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// newContainerOf is a harness with a container, and names in it.
func newContainerOf(t *testing.T) (h *harness, at func(name string) catalog.Ref) {
	h = newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "copies"}
	h.container(ref)
	return h, func(name string) catalog.Ref { r := ref; r.Blob = name; return r }
}

func (h *harness) copy(to catalog.Ref, r catalog.CopyRequest) *catalog.Item {
	h.t.Helper()
	i, err := h.Copy(h.t.Context(), to, r, catalog.Access{})
	if err != nil {
		h.t.Fatalf("Copy(%v from %v) = %v", to, r.Source, err)
	}
	return i
}

var (
	headers = catalog.Headers{ContentType: "text/plain", ContentEncoding: "gzip", ContentLanguage: "de", ContentDisposition: "inline", CacheControl: "no-store"}
	sourced = catalog.New{Headers: headers, Metadata: map[string]string{"from": "source"}, Tags: map[string]string{"t": "source"}, Tier: "Cool"}
)

func TestCopy(t *testing.T) {
	h, at := newContainerOf(t)
	big := bytes.Repeat([]byte("0123456789"), 20_000) // in a file
	source, err := h.PutBlob(t.Context(), at("source"), sourced, h.Accept(big), catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	made := h.copy(at("plain"), catalog.CopyRequest{Source: at("source"), SourceURL: "http://x/source", KeepHeaders: true})
	want := catalog.Details{Headers: source.Headers, Metadata: source.Metadata}
	want.Copy = &catalog.Copied{ID: made.Copy.ID, Source: "http://x/source", Status: "success", Progress: "200000/200000", Completed: made.Ticks}
	if diff := cmp.Diff(want, made.Details); diff != "" {
		t.Errorf("Copy (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(made.Copy.ID) {
		t.Errorf("the copy's id is %s", made.Copy.ID)
	}
	if got := h.read(at("plain")); !bytes.Equal(got, big) || made.Kind != catalog.Block || made.Ticks <= source.Ticks {
		t.Errorf("the copy has %d bytes: %+v", len(got), made)
	}
	h.wantFiles(1)

	made = h.copy(at("changed"), catalog.CopyRequest{
		Source: at("source"), KeepHeaders: true, KeepTags: true,
		New: catalog.New{Headers: catalog.Headers{ContentType: "text/html"}, Metadata: map[string]string{}, Tier: "Hot"},
	})
	if made.ContentType != "text/html" || made.CacheControl != "no-store" || len(made.Metadata) != 0 || made.Tags["t"] != "source" || made.Tier != "Hot" {
		t.Errorf("Copy with changes = %+v", made.Details)
	}
	made = h.copy(at("own"), catalog.CopyRequest{
		Source: at("source"), KeepTags: true,
		New: catalog.New{Headers: catalog.Headers{ContentType: "text/html"}, Tags: map[string]string{"t": "own"}},
	})
	if made.CacheControl != "" || made.Tags["t"] != "own" || !bytes.Equal(made.ContentMD5, source.ContentMD5) {
		t.Errorf("Copy with headers of its own = %+v", made.Details)
	}
	h.remove(at(""), "source", catalog.DeleteBase)
	h.reopen()
	if got := h.read(at("plain")); !bytes.Equal(got, big) {
		t.Errorf("the copy of a deleted blob has %d bytes", len(got))
	}
	h.checkClean()
}

func TestCopyKeepsTheKind(t *testing.T) {
	h, at := newContainerOf(t)
	h.empty(at("append"), catalog.Append, 0)
	if _, _, err := h.AppendBlock(t.Context(), at("append"), h.Accept([]byte("abc")), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.PutEmpty(t.Context(), at("page"), catalog.Page, 4*catalog.PageSize, 9, catalog.New{}, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.writePages(at("page"), 1, 1, 'p')
	if _, err := h.Seal(t.Context(), at("append"), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	if i := h.copy(at("append2"), catalog.CopyRequest{Source: at("append"), Seal: new(false)}); i.Kind != catalog.Append || i.Blocks != 1 || i.Sealed {
		t.Errorf("a copied append blob, not to be sealed: %+v", i)
	}
	if _, offset, err := h.AppendBlock(t.Context(), at("append2"), h.Accept([]byte("def")), catalog.Access{}); err != nil || offset != 3 {
		t.Errorf("AppendBlock to the copy = %d, %v", offset, err)
	}
	if got := string(h.read(at("append2"))) + string(h.read(at("append"))); got != "abcdefabc" {
		t.Errorf("the copy and its source: %s", got)
	}
	if i := h.copy(at("append3"), catalog.CopyRequest{Source: at("append2"), Seal: new(true)}); !i.Sealed {
		t.Errorf("a copy to be sealed: %+v", i)
	}
	if i := h.copy(at("append4"), catalog.CopyRequest{Source: at("append")}); !i.Sealed {
		t.Errorf("a copy of a sealed blob: %+v", i)
	}
	if i := h.copy(at("page2"), catalog.CopyRequest{Source: at("page")}); i.Kind != catalog.Page || i.Sequence != 9 {
		t.Errorf("a copied page blob: %+v", i)
	}
	h.writePages(at("page2"), 2, 1, 'q')
	if got := pageMap(h.read(at("page2"))) + pageMap(h.read(at("page"))); got != ".pq..p.." {
		t.Errorf("the copy and its source: %s", got)
	}
	for _, to := range []string{"append", "block"} {
		h.put(at(""), "block", "text")
		_, err := h.Copy(t.Context(), at(to), catalog.CopyRequest{Source: at("page")}, catalog.Access{})
		wantCode(t, "Copy of a page blob onto "+to, err, azerr.InvalidBlobType)
	}
	made := h.copy(at("append2"), catalog.CopyRequest{Source: at("page"), AsBlock: true, FromURL: true})
	if made.Kind != catalog.Block || made.Copy != nil || made.Sequence != 0 {
		t.Errorf("a block blob of a page blob: %+v", made)
	}
	h.copy(at("block"), catalog.CopyRequest{Source: at("append2")})
	if got := pageMap(h.read(at("append2"))) + pageMap(h.read(at("block"))); got != ".p...p.." {
		t.Errorf("block blobs of a page blob: %s", got)
	}
	h.checkClean()
}

func TestCopyKeepsBlocks(t *testing.T) {
	h, at := newContainerOf(t)
	h.stage(at(""), "source")
	if _, err := h.CommitBlocks(t.Context(), at("source"), []catalog.BlockRef{{ID: "AAAA"}}, catalog.New{}, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.stage(at(""), "copy") // goes
	for _, test := range []struct {
		asBlock bool
		want    int
	}{{false, 1}, {true, 0}} {
		h.copy(at("copy"), catalog.CopyRequest{Source: at("source"), AsBlock: test.asBlock})
		lists, err := h.Blocks(t.Context(), at("copy"), catalog.Access{})
		if err != nil || len(lists.Committed) != test.want || len(lists.Uncommitted) != 0 {
			t.Errorf("Blocks of a copy, as a block blob in one piece %v = %+v, %v", test.asBlock, lists, err)
		}
	}
	h.checkClean()
}

func TestCopyRestoresASnapshot(t *testing.T) {
	h, at := newContainerOf(t)
	h.put(at(""), "blob", "old")
	old := at("blob")
	old.Snapshot = h.snapshot(old, "blob")
	h.put(at(""), "blob", "new")
	made := h.copy(at("blob"), catalog.CopyRequest{Source: old})
	if got := h.read(at("blob")); string(got) != "old" {
		t.Errorf("restored: %q", got)
	}
	if next := h.snapshot(at(""), "blob"); next.Ticks() <= old.Snapshot.Ticks() {
		t.Errorf("the next snapshot is %v, after %v", next, old.Snapshot)
	}
	again := h.copy(at("blob"), catalog.CopyRequest{Source: at("blob"), New: catalog.New{Metadata: map[string]string{"a": "b"}}})
	if again.Ticks <= made.Ticks || again.Metadata["a"] != "b" || string(h.read(at("blob"))) != "old" {
		t.Errorf("a blob onto itself: %+v", again)
	}
	h.remove(at(""), "blob", catalog.DeleteBaseOnly)
	h.copy(at("blob"), catalog.CopyRequest{Source: old})
	if got := h.read(at("blob")); string(got) != "old" {
		t.Errorf("restored after the base was deleted: %q", got)
	}
	h.put(at(""), "empty", "")
	if i := h.copy(at("empty2"), catalog.CopyRequest{Source: at("empty")}); i.Size != 0 || i.Copy.Progress != "0/0" {
		t.Errorf("a copy of nothing: %+v", i)
	}
	h.checkClean()
}

func TestCopyRefuses(t *testing.T) {
	h, at := newContainerOf(t)
	source := h.put(at(""), "source", "text")
	target := h.put(at(""), "target", "text")
	h.stage(at(""), "staged")
	archived, err := h.PutBlob(t.Context(), at("archived"), catalog.New{Tier: "Archive"}, h.Accept([]byte("x")), catalog.Access{})
	if err != nil {
		t.Fatal(archived, err)
	}
	nowhere := catalog.Ref{Account: "acct", Container: "nowhere", Blob: "x"}
	snapshot := at("target")
	snapshot.Snapshot = h.snapshot(at(""), "target")
	gone := at("source")
	gone.Snapshot = snapshot.Snapshot
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, test := range []struct {
		what    string
		to      catalog.Ref
		r       catalog.CopyRequest
		c       catalog.Conditions
		code    string
		status  int
		urlCode string // if it differs
		urlStat int
	}{
		{"no source", at("new"), catalog.CopyRequest{Source: at("none")}, catalog.Conditions{}, azerr.BlobNotFound, 404, azerr.CannotVerifyCopySource, 404},
		{"no such snapshot", at("new"), catalog.CopyRequest{Source: gone}, catalog.Conditions{}, azerr.BlobNotFound, 404, azerr.CannotVerifyCopySource, 404},
		{"an uncommitted source", at("new"), catalog.CopyRequest{Source: at("staged")}, catalog.Conditions{}, azerr.BlobNotFound, 404, azerr.CannotVerifyCopySource, 404},
		{"no source container", at("new"), catalog.CopyRequest{Source: nowhere}, catalog.Conditions{}, azerr.ContainerNotFound, 404, azerr.CannotVerifyCopySource, 404},
		{"no target container", nowhere, catalog.CopyRequest{Source: at("source")}, catalog.Conditions{}, azerr.ContainerNotFound, 404, "", 0},
		{"onto a snapshot", snapshot, catalog.CopyRequest{Source: at("source")}, catalog.Conditions{}, azerr.InvalidQueryParameterValue, 400, "", 0},
		{"an archived source", at("new"), catalog.CopyRequest{Source: at("archived")}, catalog.Conditions{}, azerr.BlobArchived, 409, azerr.CannotVerifyCopySource, 409},
		{"another source", at("new"), catalog.CopyRequest{Source: at("source"), SourceIf: catalog.Conditions{Match: `"0x1"`}}, catalog.Conditions{}, azerr.SourceConditionNotMet, 412, "", 0},
		{"the same source", at("new"), catalog.CopyRequest{Source: at("source"), SourceIf: catalog.Conditions{NoneMatch: source.ETag()}}, catalog.Conditions{}, azerr.SourceConditionNotMet, 412, azerr.CannotVerifyCopySource, 304},
		{"an old source", at("new"), catalog.CopyRequest{Source: at("source"), SourceIf: catalog.Conditions{ModifiedSince: &future}}, catalog.Conditions{}, azerr.SourceConditionNotMet, 412, azerr.CannotVerifyCopySource, 304},
		{"a new source", at("new"), catalog.CopyRequest{Source: at("source"), SourceIf: catalog.Conditions{UnmodifiedSince: &past}}, catalog.Conditions{}, azerr.SourceConditionNotMet, 412, "", 0},
		{"other source tags", at("new"), catalog.CopyRequest{Source: at("source"), SourceIf: catalog.Conditions{Tags: "a = 'b'"}}, catalog.Conditions{}, azerr.SourceConditionNotMet, 412, "", 0},
		{"another target", at("target"), catalog.CopyRequest{Source: at("source")}, catalog.Conditions{Match: `"0x1"`}, azerr.ConditionNotMet, 412, "", 0},
		{"the same target", at("target"), catalog.CopyRequest{Source: at("source")}, catalog.Conditions{NoneMatch: target.ETag()}, azerr.ConditionNotMet, 412, "", 0},
		{"a target that exists", at("target"), catalog.CopyRequest{Source: at("source")}, catalog.Conditions{NoneMatch: "*"}, azerr.BlobAlreadyExists, 409, "", 0},
	} {
		for _, fromURL := range []bool{false, true} {
			code, status := test.code, test.status
			if fromURL && test.urlCode != "" {
				code, status = test.urlCode, test.urlStat
			}
			test.r.FromURL = fromURL
			_, err := h.Copy(t.Context(), test.to, test.r, catalog.Access{If: test.c})
			wantCode(t, fmt.Sprintf("%s, from URL %v", test.what, fromURL), err, code)
			if f := new(azerr.Error); errors.As(err, &f) && f.Status != status {
				t.Errorf("%s, from URL %v: status %d, want %d", test.what, fromURL, f.Status, status)
			}
		}
	}
	if i := h.copy(at("thawed"), catalog.CopyRequest{Source: at("archived"), New: catalog.New{Tier: "Hot"}}); i.Tier != "Hot" {
		t.Errorf("Copy out of the archive = %+v", i)
	}
	if f := azerr.New(azerr.SourceConditionNotMet); f.Status != http.StatusPreconditionFailed {
		t.Errorf("a refusal has changed the table: %v", f)
	}
	h.checkClean()
}

func TestCopyAndLeases(t *testing.T) {
	h, at := newContainerOf(t)
	h.put(at(""), "source", "text")
	h.put(at(""), "target", "text")
	source, target := h.lease(at("source")), h.lease(at("target"))
	copy := func(lease, sourceLease leasehold.ID) error {
		r := catalog.CopyRequest{Source: at("source"), SourceLease: sourceLease}
		_, err := h.Copy(t.Context(), at("target"), r, catalog.Access{Lease: lease})
		return err
	}
	none := leasehold.ID{}
	wantRefusal(t, "Copy without the target's lease", copy(none, none), leasehold.ReasonMissing)
	wantRefusal(t, "Copy with another lease", copy(source, none), leasehold.ReasonIDMismatch)
	wantRefusal(t, "Copy with another source lease", copy(target, target), leasehold.ReasonIDMismatch)
	for _, sourceLease := range []leasehold.ID{none, source} {
		if err := copy(target, sourceLease); err != nil {
			t.Errorf("Copy with the right leases = %v", err)
		}
	}
	wantRefusal(t, "AbortCopy without the lease", h.AbortCopy(t.Context(), at("target"), catalog.Access{}), leasehold.ReasonMissing)
	wantCode(t, "AbortCopy", h.AbortCopy(t.Context(), at("target"), catalog.Access{Lease: target}), azerr.NoPendingCopyOperation)
	wantCode(t, "AbortCopy of no blob", h.AbortCopy(t.Context(), at("none"), catalog.Access{}), azerr.BlobNotFound)
}

func TestCopyBetweenAccounts(t *testing.T) {
	h, at := newContainerOf(t)
	other := catalog.Ref{Account: "zzz", Container: "copies", Blob: "copy"}
	h.container(other)
	h.put(at(""), "source", "text")
	h.copy(other, catalog.CopyRequest{Source: at("source")})
	back := at("back")
	h.copy(back, catalog.CopyRequest{Source: other})
	if got := h.read(back); string(got) != "text" {
		t.Errorf("there and back: %q", got)
	}
	if err := h.DeleteContainer(t.Context(), at(""), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	if got := h.read(other); string(got) != "text" {
		t.Errorf("a copy whose source is gone: %q", got)
	}
	h.checkClean()
}

// Copies in all directions at once, beside writers, snapshots and the deletion
// of containers: nobody waits for ever, and nothing is lost.
func TestCopiesInAllDirections(t *testing.T) {
	h := newHarness(t)
	var refs []catalog.Ref
	for c := range 2 {
		for b := range 2 {
			refs = append(refs, catalog.Ref{Account: "acct", Container: fmt.Sprintf("dir-%d", c), Blob: fmt.Sprintf("b%d", b)})
		}
	}
	h.container(refs[0])
	h.container(refs[2])
	for _, r := range refs {
		h.put(r, r.Blob, "text")
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 25 {
				to, from := refs[random.IntN(4)], refs[random.IntN(4)]
				var err error
				switch random.IntN(6) {
				case 0:
					_, err = h.Snapshot(t.Context(), to, nil, catalog.Access{})
				case 1:
					_, err = h.PutBlob(t.Context(), to, catalog.New{}, h.Accept([]byte("text")), catalog.Access{})
				case 2:
					_, err = h.SetContainer(t.Context(), to, catalog.Access{}, func(*catalog.ContainerDetails) {})
				default:
					_, err = h.Copy(t.Context(), to, catalog.CopyRequest{Source: from}, catalog.Access{})
				}
				if err != nil {
					t.Errorf("worker %d: %v", g, err)
				}
			}
		})
	}
	wg.Wait()
	for _, r := range refs {
		if got := h.read(r); string(got) != "text" {
			t.Errorf("%v: %q", r, got)
		}
	}
	h.checkClean()
}

// manyPieces makes a blob of n pieces that are all one byte of the same chunk.
func (h *harness) manyPieces(ref catalog.Ref, n int) {
	h.t.Helper()
	h.put(ref, ref.Blob, "x")
	h.sql(`INSERT INTO blob_pieces (manifest, start, size, chunk, at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT manifest, i, 1, chunk, 0 FROM n, (SELECT manifest, chunk FROM blob_pieces)`, int64(n))
	h.sql(`UPDATE blob_chunks SET refs = ?`, int64(n))
	h.sql(`UPDATE blob_items SET size = ?`, int64(n))
}

func TestCopyOfManyPieces(t *testing.T) {
	h, at := newContainerOf(t)
	const n = 3000
	h.manyPieces(at("source"), n)
	i := h.copy(at("copy"), catalog.CopyRequest{Source: at("source")})
	if i.Size != n || !bytes.Equal(h.read(at("copy")), bytes.Repeat([]byte("x"), n)) {
		t.Errorf("the copy: %+v", i)
	}
	h.checkClean()
}

// BenchmarkCopy copies a blob of as many blocks as a blob may have.
func BenchmarkCopy(b *testing.B) {
	h := newHarness(b)
	ref := catalog.Ref{Account: "acct", Container: "copies", Blob: "source"}
	h.container(ref)
	h.manyPieces(ref, catalog.MaxCommitted)
	to := ref
	to.Blob = "copy"
	for b.Loop() {
		h.copy(to, catalog.CopyRequest{Source: ref})
	}
}
