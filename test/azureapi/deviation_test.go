package azureapi_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold/internal/soak"
)

// The tests of this file are about what another emulator gets wrong.

// TestEmulatorDeviationSnapshotIDs: 5,000 snapshots of one blob, by 500 at once,
// have 5,000 ids, and one that was requested after another was answered has a larger one.
// A list of them in small pages has each once, in order. In the bubble it all
// happens within one tick of the clock, which therefore cannot help.
func TestEmulatorDeviationSnapshotIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		d.upload("b", "x", nil)
		all := createSnapshots(d, 500, soak.Rounds(2, 10))
		want := []string{}
		for _, s := range all {
			want = append(want, "b@"+s.id)
		}
		slices.Sort(want)
		if different := len(slices.Compact(slices.Clone(want))); different != len(all) {
			t.Fatalf("%d snapshots have %d ids", len(all), different)
		}
		checkIncreasing(t, all)
		wantSame(t, "listed in sevens", d.listed(7, container.ListBlobsFlatOptions{}), append(want, "b"))
	})
}

// created is a snapshot with the moments, which are counted, of its request.
type created struct {
	id             string
	started, ended int64
}

// createSnapshots has many clients create a few each.
func createSnapshots(d driver, many, few int) []created {
	d.Helper()
	all := make([]created, many*few)
	blob := d.blob("b")
	var moment atomic.Int64
	var group sync.WaitGroup
	for own := range slices.Chunk(all, few) {
		group.Go(func() {
			for i := range own {
				own[i].started = moment.Add(1)
				r, err := blob.CreateSnapshot(d.Context(), nil)
				own[i].ended = moment.Add(1)
				if err != nil {
					d.Errorf("CreateSnapshot = %v", err)
				}
				own[i].id = value(r.Snapshot)
			}
		})
	}
	group.Wait()
	return all
}

// checkIncreasing compares each with the largest of those that were answered
// before it started.
func checkIncreasing(t *testing.T, all []created) {
	t.Helper()
	byEnd, byStart := slices.Clone(all), slices.Clone(all)
	slices.SortFunc(byEnd, func(a, b created) int { return cmp.Compare(a.ended, b.ended) })
	slices.SortFunc(byStart, func(a, b created) int { return cmp.Compare(a.started, b.started) })
	largest, next := "", 0
	for _, s := range byStart {
		for ; next < len(byEnd) && byEnd[next].ended < s.started; next++ {
			largest = max(largest, byEnd[next].id)
		}
		if s.id <= largest {
			t.Errorf("%s was created after %s was answered", s.id, largest)
		}
	}
}

// TestEmulatorDeviationForeignRenewal: an id that never held the lease does not
// revive it when it has expired; the one that did does.
func TestEmulatorDeviationForeignRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		for _, thing := range []leased{sdkBlob(d.deployment, "b"), sdkContainer(d.deployment, "leased")} {
			if status, code, _, _ := thing.try("acquire A for 15"); status != 201 {
				t.Fatalf("acquire A = %d %s", status, code)
			}
			time.Sleep(16 * time.Second)
			if status, code, _, _ := thing.try("renew B"); status != 409 || code != "LeaseIdMismatchWithLeaseOperation" {
				t.Errorf("renew B = %d %s, want 409 LeaseIdMismatchWithLeaseOperation", status, code)
			}
			if got := thing.state(); got != "expired" {
				t.Errorf("state %s, want expired", got)
			}
			if status, code, _, _ := thing.try("renew A"); status != 200 {
				t.Errorf("renew A = %d %s, want 200", status, code)
			}
		}
	})
}

// TestEmulatorDeviationGUIDs: what is no GUID is no lease id.
func TestEmulatorDeviationGUIDs(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	bad := []string{"mine", "1", "00000000-0000-0000-0000-00000000000", "g0000000-0000-0000-0000-000000000000", leaseIDs["A"] + "0", leaseIDs["A"] + "'--"}
	for _, id := range bad {
		for _, headers := range [][]string{
			{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15", "x-ms-proposed-lease-id", id},
			{"x-ms-lease-action", "renew", "x-ms-lease-id", id},
			{"x-ms-lease-action", "release", "x-ms-lease-id", id},
			{"x-ms-lease-action", "change", "x-ms-lease-id", leaseIDs["A"], "x-ms-proposed-lease-id", id},
		} {
			wantReply(t, fmt.Sprint(headers), d.signed("PUT", d.path("b")+"?comp=lease", "", headers...), 400, "InvalidHeaderValue")
		}
		wantReply(t, "GET with "+id, d.signed("GET", d.path("b"), "", "x-ms-lease-id", id), 400, "InvalidHeaderValue")
		wantReply(t, "PUT with "+id, d.signed("PUT", d.path("b"), "y", "x-ms-lease-id", id, "x-ms-blob-type", "BlockBlob"), 400, "InvalidHeaderValue")
	}
	if got := d.properties(d.blob("b")); value(got.LeaseState) != "available" {
		t.Errorf("state %s, want available", value(got.LeaseState))
	}
	d.wantContent(d.blob("b"), "x")
}

// TestEmulatorDeviationVersions: an unknown version is served, and
// answered.
func TestEmulatorDeviationVersions(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	for _, version := range []string{"2009-09-19", "2015-02-21", "2019-12-12", "2025-01-05", "2099-12-31", "next"} {
		r := d.signed("GET", d.path("b"), "", "x-ms-version", version)
		if r.status != 200 || r.body != "x" || r.header.Get("X-Ms-Version") != version {
			t.Errorf("GET of version %s = %d, version %s", version, r.status, r.header.Get("X-Ms-Version"))
		}
	}
}
