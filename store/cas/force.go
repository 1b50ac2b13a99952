package cas

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
)

// ReleaseHolder implements leasehold.HolderReleaser.
func (s *Store) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	swapper, ok := s.backend.(HolderSwapper)
	if !ok {
		return 0, s.failures.New("force-release", "", leasehold.ReasonUnsupported, nil)
	}
	invalid := cmp.Or(
		leasehold.ReleaseRequest{ID: leasehold.NewID(), Holder: holder, Why: why}.Validate(),
		leasehold.CheckHolder(holder))
	if invalid != nil {
		return 0, s.failures.Invalid("force-release", "", invalid)
	}
	if err := s.calls.Start("force-release", ""); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	f := &forcing{Store: s, swapper: swapper, holder: holder, why: why}
	for n := 0; ; n++ {
		count, err, done := f.once(ctx)
		if done {
			return count, err
		}
		if !sleep.For(ctx, backoff(n)) {
			return 0, f.failed(s.failures.New("force-release", "", leasehold.ReasonUnavailable, errContention))
		}
	}
}

// forcing is a force-release under way.
type forcing struct {
	*Store
	swapper HolderSwapper
	holder  string
	why     string

	doubt []forced // writes whose answers were lost
}

// forced is one attempt, by its mark.
type forced struct {
	mark     string
	resource string // of one of its items
	names    []string
	count    int
}

// once loads, decides and writes. It is done unless it has to start again.
func (f *forcing) once(ctx context.Context) (int, error, bool) {
	if landed, err := f.landed(ctx); err != nil || landed != nil {
		if err != nil {
			return 0, f.failed(err), true
		}
		f.wakeAll(landed.names)
		return landed.count, nil, true
	}
	items, err := f.swapper.LoadHolder(ctx, f.holder)
	if err != nil {
		return 0, f.failed(f.failures.Read(ctx, "force-release", "", err)), true
	}
	attempt, writes := f.decide(items)
	if attempt.count == 0 {
		return 0, nil, true // a write in doubt has lost: it needs what is no more
	}
	err = f.swapper.SwapHolder(ctx, f.holder, writes)
	switch {
	case err == nil:
		f.wakeAll(attempt.names)
		return attempt.count, nil, true
	case errors.Is(err, ErrRaced):
		return 0, nil, false
	}
	failure := f.failures.Complete("force-release", "", err, true)
	if failure.Reason != leasehold.ReasonUnknown {
		return 0, f.failed(failure), true
	}
	f.doubt = append(f.doubt, attempt)
	return 0, nil, false
}

// decide ends the leases of the holder that are live.
func (f *forcing) decide(items []Item) (forced, []VersionedWrite) {
	attempt := forced{mark: newMark()}
	var writes []VersionedWrite
	for _, item := range items {
		now := instant(item.Now)
		out := machine.ForceRelease(now, item.Row, f.why)
		if len(out.Steps) == 0 {
			continue
		}
		if out.Reason == "" {
			attempt.count++
		}
		name := item.Row.Resource
		attempt.resource, attempt.names = name, append(attempt.names, name)
		writes = append(writes, VersionedWrite{item.Version, Write{
			Row: out.Steps[len(out.Steps)-1].Row, Marks: addMark(attempt.mark, item.Marks),
			Records: f.records(now, out.Steps, item.Settings), Settings: item.Settings,
		}})
	}
	return attempt, writes
}

// landed returns the attempt that has happened though its answer was lost.
func (f *forcing) landed(ctx context.Context) (*forced, error) {
	for i, a := range f.doubt {
		item, err := f.backend.Load(ctx, a.resource)
		if err != nil {
			return nil, f.failures.Read(ctx, "force-release", "", err)
		}
		if slices.Contains(item.Marks, a.mark) {
			return &f.doubt[i], nil
		}
	}
	return nil, nil
}

func (f *forcing) wakeAll(names []string) {
	f.watches.wake()
	for _, name := range names {
		f.queues.Wake(name)
	}
}

// failed is the error of a force-release that could not go on.
func (f *forcing) failed(err error) error {
	if len(f.doubt) == 0 {
		return err
	}
	return f.failures.New("force-release", "", leasehold.ReasonUnknown, err)
}
