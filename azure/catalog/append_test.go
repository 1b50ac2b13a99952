package catalog_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"pgregory.net/rapid"
)

// read returns the content of a blob or a snapshot.
func (h *harness) read(ref catalog.Ref) []byte {
	h.t.Helper()
	k, err := h.Get(h.t.Context(), ref, catalog.Access{})
	if err != nil {
		h.t.Fatalf("Get(%v) = %v", ref, err)
	}
	defer k.Close()
	var b bytes.Buffer
	if err := k.WriteTo(h.t.Context(), &b, 0, k.Size); err != nil {
		h.t.Fatalf("WriteTo(%v) = %v", ref, err)
	}
	return b.Bytes()
}

func (h *harness) empty(ref catalog.Ref, kind catalog.Kind, size int64) *catalog.Item {
	h.t.Helper()
	i, err := h.PutEmpty(h.t.Context(), ref, kind, size, 0, catalog.New{}, catalog.Access{})
	if err != nil {
		h.t.Fatalf("PutEmpty(%v) = %v", ref, err)
	}
	return i
}

// lease takes the blob's lease.
func (h *harness) lease(ref catalog.Ref) leasehold.ID {
	h.t.Helper()
	answer, err := h.Lease(h.t.Context(), ref, catalog.LeaseRequest{Action: catalog.Acquire, Duration: 60 * time.Second})
	if err != nil {
		h.t.Fatalf("Lease(%v) = %v", ref, err)
	}
	return answer.ID
}

func TestAppend(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "append", Blob: "log"}
	h.container(ref)
	made := h.empty(ref, catalog.Append, 0)
	want, last := []byte(nil), made.Ticks
	for i := range 5 {
		part := bytes.Repeat([]byte{byte('a' + i)}, 1+i*40_000) // the last ones in files
		item, offset, err := h.AppendBlock(t.Context(), ref, h.Accept(part), catalog.Access{})
		if err != nil || offset != int64(len(want)) {
			t.Fatalf("AppendBlock = %d, %v, want %d", offset, err, len(want))
		}
		want = append(want, part...)
		if item.Size != int64(len(want)) || item.Blocks != i+1 || item.Ticks <= last {
			t.Errorf("AppendBlock = %+v", item)
		}
		last = item.Ticks
	}
	h.reopen()
	if got := h.read(ref); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	h.checkClean()
}

func TestAppendRefuses(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "append", Blob: "log"}
	h.container(ref)
	h.empty(ref, catalog.Append, 0)
	h.put(ref, "block", "text")
	block, none, snapshot := ref, ref, ref
	block.Blob, none.Blob = "block", "none"
	snapshot.Snapshot = h.snapshot(ref, "log")
	if _, _, err := h.AppendBlock(t.Context(), ref, h.Accept([]byte("0123456789")), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	number := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		what string
		ref  catalog.Ref
		body string
		c    catalog.Conditions
		code string
	}{
		{"no blob", none, "x", catalog.Conditions{}, azerr.BlobNotFound},
		{"no container", catalog.Ref{Account: "acct", Container: "none", Blob: "x"}, "x", catalog.Conditions{}, azerr.ContainerNotFound},
		{"a block blob", block, "x", catalog.Conditions{}, azerr.InvalidBlobType},
		{"a snapshot", snapshot, "x", catalog.Conditions{}, azerr.InvalidQueryParameterValue},
		{"nothing", ref, "", catalog.Conditions{}, azerr.InvalidHeaderValue},
		{"another ETag", ref, "x", catalog.Conditions{Match: `"0x1"`}, azerr.ConditionNotMet},
		{"other tags", ref, "x", catalog.Conditions{Tags: `a = 'b'`}, azerr.ConditionNotMet},
		{"bad tags", ref, "x", catalog.Conditions{Tags: `a = `}, azerr.InvalidHeaderValue},
		{"a container among tags", ref, "x", catalog.Conditions{Tags: `@container = 'append'`}, azerr.InvalidHeaderValue},
		{"another position", ref, "x", catalog.Conditions{AppendPosition: number(9)}, azerr.AppendPositionConditionNotMet},
		{"too large", ref, "x", catalog.Conditions{MaxSize: number(10)}, azerr.MaxBlobSizeConditionNotMet},
	} {
		_, _, err := h.AppendBlock(t.Context(), test.ref, h.Accept([]byte(test.body)), catalog.Access{If: test.c})
		wantCode(t, test.what, err, test.code)
	}
	good := catalog.Conditions{AppendPosition: number(10), MaxSize: number(11), Tags: `a <> 'b'`}
	if _, offset, err := h.AppendBlock(t.Context(), ref, h.Accept([]byte("x")), catalog.Access{If: good}); err != nil || offset != 10 {
		t.Errorf("AppendBlock with good conditions = %d, %v", offset, err)
	}
	h.sql(`UPDATE blob_items SET details = json_set(details, '$.blocks', 50000) WHERE name = 'log' AND snapshot = 9223372036854775807`)
	_, _, err := h.AppendBlock(t.Context(), ref, h.Accept([]byte("x")), catalog.Access{})
	wantCode(t, "the block after the last", err, azerr.BlockCountExceedsLimit)
	h.checkClean()
}

func TestSeal(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "append", Blob: "log"}
	h.container(ref)
	_, err := h.Seal(t.Context(), ref, catalog.Access{})
	wantCode(t, "Seal of no blob", err, azerr.BlobNotFound)
	h.put(ref, "log", "block blob")
	_, err = h.Seal(t.Context(), ref, catalog.Access{})
	wantCode(t, "Seal of a block blob", err, azerr.InvalidBlobType)
	made := h.empty(ref, catalog.Append, 0)
	_, err = h.Seal(t.Context(), ref, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}})
	wantCode(t, "Seal of another version", err, azerr.ConditionNotMet)
	position := int64(5)
	_, err = h.Seal(t.Context(), ref, catalog.Access{If: catalog.Conditions{AppendPosition: &position}})
	wantCode(t, "Seal at another position", err, azerr.AppendPositionConditionNotMet)
	sealed, err := h.Seal(t.Context(), ref, catalog.Access{})
	if err != nil || !sealed.Sealed || sealed.Ticks <= made.Ticks {
		t.Fatalf("Seal = %+v, %v", sealed, err)
	}
	if again, err := h.Seal(t.Context(), ref, catalog.Access{}); err != nil || again.Ticks != sealed.Ticks {
		t.Errorf("Seal again = %+v, %v", again, err)
	}
	_, _, err = h.AppendBlock(t.Context(), ref, h.Accept([]byte("x")), catalog.Access{})
	wantCode(t, "AppendBlock to a sealed blob", err, azerr.BlobIsSealed)
	id := h.lease(ref)
	_, err = h.Seal(t.Context(), ref, catalog.Access{})
	wantRefusal(t, "Seal of a leased blob", err, leasehold.ReasonMissing)
	if _, err := h.Seal(t.Context(), ref, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Seal with the lease = %v", err)
	}
}

func TestAppendsAtOnceAllLand(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "append", Blob: "log"}
	h.container(ref)
	h.empty(ref, catalog.Append, 0)
	var wg sync.WaitGroup
	offsets := make([]int64, 32)
	for i := range offsets {
		wg.Go(func() {
			var err error
			if _, offsets[i], err = h.AppendBlock(t.Context(), ref, h.Accept(fmt.Appendf(nil, "%04d", i)), catalog.Access{}); err != nil {
				t.Errorf("AppendBlock = %v", err)
			}
		})
	}
	wg.Wait()
	got := h.read(ref)
	if len(got) != 4*len(offsets) {
		t.Fatalf("%d bytes, want %d", len(got), 4*len(offsets))
	}
	for i, at := range offsets {
		if string(got[at:at+4]) != fmt.Sprintf("%04d", i) {
			t.Errorf("block %d is not at %d", i, at)
		}
	}
	h.checkClean()
}

// Appends, snapshots and restores against slices of bytes.
func TestAppendAgreesWithSlices(t *testing.T) {
	h := newHarness(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("append-%d", round), Blob: "log"}
		h.container(ref)
		h.empty(ref, catalog.Append, 0)
		type version struct {
			ref  catalog.Ref
			want []byte
		}
		base := version{ref: ref}
		var snapshots []version
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				at := ref
				at.Snapshot = h.snapshot(ref, ref.Blob)
				snapshots = append(snapshots, version{at, bytes.Clone(base.want)})
			case 1:
				if len(snapshots) == 0 {
					continue
				}
				from := rapid.SampledFrom(snapshots).Draw(rt, "from")
				if _, err := h.Copy(t.Context(), ref, catalog.CopyRequest{Source: from.ref}, catalog.Access{}); err != nil {
					rt.Fatalf("Copy = %v", err)
				}
				base.want = bytes.Clone(from.want)
			default:
				part := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")}, rapid.IntRange(1, 100).Draw(rt, "n"))
				if _, _, err := h.AppendBlock(t.Context(), ref, h.Accept(part), catalog.Access{}); err != nil {
					rt.Fatalf("AppendBlock = %v", err)
				}
				base.want = append(base.want, part...)
			}
		}
		for _, v := range append(snapshots, base) {
			if got := h.read(v.ref); !bytes.Equal(got, v.want) {
				rt.Fatalf("%v has %q, want %q", v.ref, got, v.want)
			}
		}
	})
	h.checkClean()
}

func TestAppendDiscardsWhatIsRefused(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "append", Blob: "log"}
	h.container(ref)
	big := bytes.Repeat([]byte("x"), 100_000)
	_, _, err := h.AppendBlock(t.Context(), ref, h.Accept(big), catalog.Access{})
	wantCode(t, "AppendBlock", err, azerr.BlobNotFound)
	h.wantFiles(0)
	h.empty(ref, catalog.Append, 0)
	if _, _, err := h.AppendBlock(t.Context(), ref, h.Accept(big), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.wantFiles(1)
}

// wantFiles counts the files of chunks.
func (h *harness) wantFiles(want int) {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
	if err != nil || len(found) != want {
		h.t.Errorf("%d files of chunks, %v, want %d", len(found), err, want)
	}
}
