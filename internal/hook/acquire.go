package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/repo"
)

// target is one claim of a file.
type target struct {
	file  *file
	claim leasehold.Claim

	granted *leasehold.Grant // by this call, and not held before
	err     error
}

// conflict is a file that another holder has.
type conflict struct {
	*target
	*leasehold.Error
}

// acquireAll acquires all files. If another holder has one of them, it releases what it
// has been granted, and nothing that the holder had before.
//
// Each file has a lease of its own: so the next edit, of other files, renews those that
// it has in common with this one. The calls run at the same time; the client of a server
// sends them as one batch.
func (s *session) acquireAll(ctx context.Context, files []file) ([]conflict, error) {
	targets := s.targets(files)
	metadata := s.metadata()
	each(targets, func(t *target) { t.granted, t.err = s.acquire(ctx, t.claim, metadata) })

	var conflicts []conflict
	var failure error
	for i := range targets {
		t := &targets[i]
		var e *leasehold.Error
		if errors.As(t.err, &e) && errors.Is(e, leasehold.ErrHeld) {
			conflicts = append(conflicts, conflict{t, e})
		} else if t.err != nil && failure == nil {
			failure = t.err
		}
	}
	if len(conflicts) > 0 || failure != nil && s.FailClosed { // the edit will not happen
		each(targets, func(t *target) { s.releaseUnused(ctx, t.granted) })
	}
	return conflicts, failure
}

// releaseUnused ends what this call was granted, unless another call of the session has
// renewed it meanwhile: that one's edit relies on it.
func (s *session) releaseUnused(ctx context.Context, granted *leasehold.Grant) {
	if granted == nil {
		return
	}
	if finder, ok := s.store.(leasehold.Finder); ok {
		if l, err := finder.Find(ctx, granted.ID); err == nil && l.Renewals > 0 {
			return
		}
	}
	_, _ = s.store.Release(ctx, leasehold.ReleaseRequest{ID: granted.ID, Resource: granted.Resource, Why: "another file of the edit is not free"})
}

func (s *session) targets(files []file) []target {
	var targets []target
	for i := range files {
		for _, c := range files[i].claims {
			targets = append(targets, target{file: &files[i], claim: c})
		}
	}
	return targets
}

// each calls f for all targets at the same time.
func each(targets []target, f func(*target)) {
	if len(targets) == 0 {
		return
	}
	var running sync.WaitGroup
	for i := range targets[1:] {
		running.Go(func() { f(&targets[i+1]) })
	}
	f(&targets[0])
	running.Wait()
}

// acquire acquires one claim, or renews the holder's lease on it. The grant is nil if the
// holder had it before.
func (s *session) acquire(ctx context.Context, c leasehold.Claim, metadata map[string]string) (*leasehold.Grant, error) {
	r := leasehold.AcquireRequest{
		Claims: []leasehold.Claim{c}, Holder: s.holder, TTL: s.TTL, MaxRenewals: new(leasehold.Unlimited), Metadata: metadata,
	}
	for generation := range generations {
		r.ID = leaseID(s.secret, s.holder, c, generation)
		grant, err := s.store.Acquire(ctx, r)
		if errors.Is(err, leasehold.ErrUnsupported) && r.Claims != nil {
			r.Claims, r.Resource = nil, repo.PlainName(c)
			grant, err = s.store.Acquire(ctx, r)
		}
		switch {
		case err == nil && grant.Idempotent:
			return nil, nil
		case err == nil:
			return &grant, nil
		case s.hasIt(err):
			s.renew(ctx, c, r.Resource, generation+1)
			return nil, nil
		case !ended(err):
			return nil, err
		}
	}
	r.ID = leasehold.NewID()
	grant, err := s.store.Acquire(ctx, r)
	switch {
	case s.hasIt(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &grant, nil
}

// ended says whether the proposed id cannot be used any more.
func ended(err error) bool {
	return errors.Is(err, leasehold.ErrLost) || leasehold.ReasonOf(err) == leasehold.ReasonIDInUse
}

// hasIt says whether the claim is refused because the holder itself has it, by a lease
// with another id: a wider one, say, that the agent acquired by itself. It counts only if
// it keeps others out.
func (s *session) hasIt(err error) bool {
	var e *leasehold.Error
	return errors.As(err, &e) && e.Reason == leasehold.ReasonHeld && e.Reserved == "" &&
		e.Current != nil && e.Current.Holder == s.holder && (e.Overlap == nil || e.Overlap.Held.Mode == leasehold.Exclusive)
}

// renewAll renews what the holder has of the files.
func (s *session) renewAll(ctx context.Context, files []file) {
	each(s.targets(files), func(t *target) { s.renew(ctx, t.claim, "", 0) })
}

// renew renews the holder's lease on a claim, if it is of one of the generations. Which
// one is unknown, so after the first, which it nearly always is, all are tried at once.
func (s *session) renew(ctx context.Context, c leasehold.Claim, resource string, first int) {
	renewal := func(generation int) error {
		r := leasehold.RenewRequest{ID: leaseID(s.secret, s.holder, c, generation), Resource: resource, TTL: s.TTL, Holder: s.holder}
		_, err := s.store.Renew(ctx, r)
		if resource == "" && (errors.Is(err, leasehold.ErrUnsupported) || errors.Is(err, leasehold.ErrInvalid)) {
			r.Resource = repo.PlainName(c) // the store finds no lease by its id alone
			_, err = s.store.Renew(ctx, r)
		}
		return err
	}
	if first >= generations {
		return
	}
	if err := renewal(first); err == nil || !ended(err) && !errors.Is(err, leasehold.ErrNotFound) {
		return
	}
	var running sync.WaitGroup
	for generation := first + 1; generation < generations; generation++ {
		running.Go(func() { _ = renewal(generation) })
	}
	running.Wait()
}

// metadata says to others what the lease is for.
func (s *session) metadata() map[string]string {
	m := map[string]string{"tool": s.tool}
	if s.Task != "" {
		m["task"] = s.Task
	}
	if host, err := os.Hostname(); err == nil {
		m["host"] = host
	}
	if r, err := repo.Find(s.cwd); err == nil && r != nil {
		m["branch"] = branch(r)
	}
	for key, value := range m {
		if value = oneLine(value); value == "" {
			delete(m, key)
		} else {
			m[key] = strings.ToValidUTF8(value, "?")
		}
	}
	return m
}

// branch returns the branch of a work tree, or nothing.
func branch(r *repo.Repo) string {
	head, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if err != nil || !ok {
		return ""
	}
	return name
}
