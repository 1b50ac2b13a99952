package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// operations are all calls of a store, one of each. They build on one another:
// "r" is held by "h" from the first on.
func operations(id, second, third leasehold.ID) []operation {
	return []operation{
		{chaos.OpAcquire, "r", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: id, TTL: leasehold.DefaultMaxTTL})
		}},
		{chaos.OpWait, "w", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Wait(ctx, leasehold.AcquireRequest{Resource: "w", Holder: "h"})
		}},
		{chaos.OpRenew, "r", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Renew(ctx, leasehold.RenewRequest{ID: id, Resource: "r", Holder: "h"})
		}},
		{chaos.OpStatus, "r", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Status(ctx, "r")
		}},
		{chaos.OpChange, "r", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Change(ctx, leasehold.ChangeRequest{ID: id, Resource: "r", Holder: "h", Proposed: second})
		}},
		{chaos.OpTransfer, "r", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Transfer(ctx, leasehold.TransferRequest{ID: second, Resource: "r", Holder: "h", To: "h2", Proposed: third})
		}},
		{chaos.OpFind, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Find(ctx, third)
		}},
		{chaos.OpList, "r", "h2", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.List(ctx, leasehold.ListRequest{Resource: "r", Holder: "h2"})
		}},
		{chaos.OpWaits, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Waits(ctx, 0)
		}},
		{chaos.OpRelease, "r", "h2", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Release(ctx, leasehold.ReleaseRequest{ID: third, Resource: "r", Holder: "h2"})
		}},
		{chaos.OpBreak, "w", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Break(ctx, leasehold.BreakRequest{Resource: "w"})
		}},
		{chaos.OpReleaseHolder, "", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.ReleaseHolder(ctx, "h", "test")
		}},
		{chaos.OpReleaseHolder, "", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.ReleaseWithChildren(ctx, "h", "test")
		}},
		{chaos.OpHistory, "r", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.History(ctx, leasehold.HistoryRequest{Resource: "r", Holder: "h"})
		}},
		{chaos.OpCleanup, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Cleanup(ctx)
		}},
		{chaos.OpSetSetting, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.SetSetting(ctx, leasehold.SettingDefaultTTL, 77)
		}},
		{chaos.OpSettings, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return s.Settings(ctx)
		}},
		{chaos.OpBackup, "", "", func(ctx context.Context, s *chaos.Store) (any, error) {
			return nil, s.Backup(ctx, "copy.db")
		}},
		{chaos.OpWatch, "", "h", func(ctx context.Context, s *chaos.Store) (any, error) {
			enough := errors.New("enough") // ends the watch
			var seen leasehold.Notice
			err := s.Watch(ctx, leasehold.WatchRequest{Holder: "h", After: 1}, func(n leasehold.Notice) error {
				seen = n
				return enough
			})
			if errors.Is(err, enough) {
				err = nil
			}
			return seen.Seq, err
		}},
	}
}

type operation struct {
	op               chaos.Op
	resource, holder string // as the policy should see them
	call             func(context.Context, *chaos.Store) (any, error)
}

func plainOperations() []operation {
	return operations(leasehold.NewID(), leasehold.NewID(), leasehold.NewID())
}

// Every operation meets the fault that the policy has for it.
func TestEveryOperationMeetsFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inner := faulty(t, nil)
		var seen []chaos.Call
		s := chaos.Wrap(withBackup{inner, new(string)}, &chaos.Options{Policy: func(c chaos.Call) chaos.Fault {
			seen = append(seen, c)
			return chaos.Unavailable
		}})
		var want []chaos.Call
		calls := map[chaos.Op]int{}
		for _, o := range plainOperations() {
			_, err := o.call(t.Context(), s)
			wantError(t, string(o.op), err, leasehold.ErrUnavailable)
			calls[o.op]++
			want = append(want, chaos.Call{Op: o.op, N: calls[o.op], Resource: o.resource, Holder: o.holder})
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("calls that the policy saw (-want +got):\n%s", diff)
		}
		if h, err := inner.History(t.Context(), leasehold.HistoryRequest{}); err != nil || len(h.Records) != 0 {
			t.Errorf("the store recorded %d events, %v, though nothing should have reached it", len(h.Records), err)
		}
	})
}

// Without faults every operation has the answer of the store itself.
func TestEveryOperationComesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inner := faulty(t, nil)
		var path string
		s := chaos.Wrap(withBackup{inner, &path}, nil)
		results := map[chaos.Op]string{}
		for _, o := range plainOperations() {
			answer, err := o.call(t.Context(), s)
			wantError(t, string(o.op), err, nil)
			results[o.op] = brief(answer)
		}
		want := map[chaos.Op]string{
			"acquire": "r h token 1 active", "wait": "w h token 2 active", "renew": "r h token 1 active",
			"status": "r h token 1 active", "change": "r h token 1 active", "transfer": "r h2 token 3 active",
			"find": "r h2 token 3 active", "list": "r h2 token 3 active", "release": "r h2 token 3 released",
			"break": "w h token 2 broken", "release_holder": "0", "history": "3 records",
			"cleanup": "{0 0 0}", "set_setting": "77", "settings": "77", "backup": "<nil>", "watch": "2", "waits": "{[] 0}",
		}
		if diff := cmp.Diff(want, results); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if path != "copy.db" {
			t.Errorf("Backup reached the store with %q, want %q", path, "copy.db")
		}
	})
}

// Requests for several resources, and notes, come through whole.
func TestSetsComeThrough(t *testing.T) {
	_, inner := faulty(t, nil)
	s := chaos.Wrap(inner, nil)
	claims := append(leasehold.Paths("repo", "src/**"), leasehold.Claim{Pattern: "r", Mode: leasehold.Shared})
	g, err := s.Wait(t.Context(), leasehold.AcquireRequest{Claims: claims, Holder: "h", Timeout: time.Second})
	if diff := cmp.Diff(claims, g.Claims); err != nil || diff != "" {
		t.Fatalf("Wait = %v, the claims differ (-want +got):\n%s", err, diff)
	}
	page, err := s.List(t.Context(), leasehold.ListRequest{Namespace: "repo", Path: "src/x"})
	if err != nil || len(page.Leases) != 1 {
		t.Errorf("List = %+v, %v; want the set", page, err)
	}
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Note: "n"}); err != nil {
		t.Fatalf("Release = %v", err)
	}
	next, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "next"})
	if diff := cmp.Diff([]leasehold.Note{{From: "h", Text: "n"}}, next.Notes); err != nil || diff != "" {
		t.Errorf("Acquire = %v, the notes differ (-want +got):\n%s", err, diff)
	}
}

// brief returns the main parts of an answer.
func brief(answer any) string {
	switch a := answer.(type) {
	case leasehold.Grant:
		return brief(a.Lease)
	case leasehold.Lease:
		return fmt.Sprintf("%s %s token %d %v", a.Resource, a.Holder, a.Token, a.State)
	case leasehold.Status:
		return brief(*a.Lease)
	case leasehold.LeasePage:
		return brief(a.Leases[0])
	case leasehold.HistoryPage:
		return fmt.Sprintf("%d records", len(a.Records))
	case leasehold.Setting:
		return fmt.Sprint(a.Value)
	case []leasehold.Setting:
		for _, s := range a {
			if s.Key == leasehold.SettingDefaultTTL {
				return brief(s)
			}
		}
	}
	return fmt.Sprint(answer)
}

// A power that the store lacks is ErrUnsupported, whatever the policy.
func TestPowersThatTheStoreLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inner := faulty(t, nil)
		s := chaos.Wrap(struct{ leasehold.Store }{inner}, &chaos.Options{Policy: chaos.Always(chaos.Unavailable)})
		for _, o := range plainOperations() {
			want := leasehold.ErrUnsupported
			switch o.op {
			case chaos.OpAcquire, chaos.OpRenew, chaos.OpRelease, chaos.OpStatus:
				want = leasehold.ErrUnavailable
			}
			_, err := o.call(t.Context(), s)
			wantError(t, string(o.op), err, want)
		}
	})
}

// withBackup is a store that remembers where it was to be copied to.
type withBackup struct {
	engine
	path *string
}

func (s withBackup) Backup(_ context.Context, path string) error {
	*s.path = path
	return nil
}

// engine is what the memory store can do.
type engine interface {
	leasehold.Store
	leasehold.Waiter
	leasehold.WaitLister
	leasehold.Breaker
	leasehold.Changer
	leasehold.Transferer
	leasehold.Finder
	leasehold.Lister
	leasehold.HolderReleaser
	leasehold.ChildReleaser
	leasehold.Historian
	leasehold.Cleaner
	leasehold.Configurer
	leasehold.Watcher
}
