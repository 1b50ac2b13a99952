package historywatch

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

// subscription is one watch under way. The feed has every record after joined;
// the watcher wants those after start.
type subscription struct {
	watches       *Watches
	watcher       *feeds.Watcher
	start, joined uint64
	reset         bool // it begins with a reset to start
}

// catchUp reads for the watcher what it wants and its feed does not have.
func (s *subscription) catchUp(ctx context.Context, each func([]*leasehold.SharedNotice) error) error {
	for s.start < s.joined && !s.reset {
		records, oldest, err := s.watches.o.After(ctx, s.start, pageSize)
		if err != nil {
			return s.watches.opError(err)
		}
		if missing(s.start, oldest) {
			s.start, s.reset = s.joined, true
			break
		}
		if len(records) == 0 {
			break // nothing between that is kept
		}
		s.start = records[len(records)-1].Seq
		notices := notices(records)
		beyond := slices.IndexFunc(notices, func(n *leasehold.SharedNotice) bool { return n.Seq > s.joined })
		if beyond >= 0 {
			notices, s.start = notices[:beyond], s.joined
		}
		if wanted := s.watcher.Match(notices); len(wanted) > 0 {
			if err := each(wanted); err != nil {
				return err
			}
		}
	}
	if s.reset {
		return each([]*leasehold.SharedNotice{feeds.ResetTo(s.start)})
	}
	return nil
}

// news returns each without the records that the watcher does not want though
// its feed has them: those from before it came, which the reader had not read.
func (s *subscription) news(each func([]*leasehold.SharedNotice) error) func([]*leasehold.SharedNotice) error {
	all := s.start <= s.joined
	return func(notices []*leasehold.SharedNotice) error {
		if all {
			return each(notices)
		}
		newest := notices[len(notices)-1]
		all = newest.Seq > s.start || newest.Reset // a history that was replaced counts anew
		wanted := slices.DeleteFunc(slices.Clone(notices), func(n *leasehold.SharedNotice) bool {
			return n.Seq != 0 && n.Seq <= s.start && !n.Reset
		})
		if len(wanted) == 0 {
			return nil
		}
		return each(wanted)
	}
}

// missing says whether records after seq are gone.
func missing(seq, oldest uint64) bool { return oldest == 0 || seq+1 < oldest }

func notices(records []leasehold.Record) []*leasehold.SharedNotice {
	all, list := make([]leasehold.SharedNotice, len(records)), make([]*leasehold.SharedNotice, len(records))
	for i := range records {
		all[i].Record = records[i]
		list[i] = &all[i]
	}
	return list
}
