package catalog

import (
	"strings"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
)

// check says whether the conditions hold for a thing that changed last at
// ticks; zero: there is none. It answers as a write does: ConditionNotMet, which
// a read turns into 304 where NotModified says so.
func (c Conditions) check(t Ticks) error {
	switch {
	case c.Match != "" && !matches(c.Match, t):
		return azerr.New(azerr.ConditionNotMet).With("If-Match names another version of it than the one there is")
	case t == 0:
		return nil
	case c.NoneMatch == "*":
		return errExists
	case c.UnmodifiedSince != nil && second(t).After(*c.UnmodifiedSince):
		return azerr.New(azerr.ConditionNotMet).With("it has changed since the time in If-Unmodified-Since")
	case c.known(t):
		return errNotModified
	}
	return nil
}

// known reports whether the client has this version already. If either of
// If-None-Match and If-Modified-Since denies it, it has not: two versions of one
// second have different ETags.
func (c Conditions) known(t Ticks) bool {
	byETag, byTime := c.NoneMatch != "", c.ModifiedSince != nil
	return (byETag || byTime) && (!byETag || matches(c.NoneMatch, t)) && (!byTime || !second(t).After(*c.ModifiedSince))
}

// checkItem is check for a blob or a snapshot, which have tags. Nil is none.
func (c Conditions) checkItem(i *Item) error {
	if i == nil {
		i = new(Item)
	} else if !i.Committed {
		return c.checkStaged(i)
	}
	if err := c.check(i.Ticks); err != nil {
		return err
	}
	return c.checkTags(i.Tags)
}

// checkStaged is check for a blob of uncommitted blocks only: it has a time, but
// no version and so no ETag.
func (c Conditions) checkStaged(i *Item) error {
	at := i.Ticks
	switch {
	case c.Match != "":
		at = 0
	case c.NoneMatch != "":
		c.NoneMatch = "no ETag"
	}
	if err := c.check(at); err != nil {
		return err
	}
	return c.checkTags(nil)
}

// checkTags says whether the tags are as x-ms-if-tags has them. A reader is
// refused with 412 too.
func (c Conditions) checkTags(tags map[string]string) error {
	if c.Tags == "" {
		return nil
	}
	e, err := tagquery.ParseCondition(c.Tags)
	if err == nil && !e.Match(tags) {
		err = azerr.New(azerr.ConditionNotMet).With("the tags are not as x-ms-if-tags says")
	}
	return err
}

// checkSequence says whether a page blob's sequence number is as it should be.
func (c Conditions) checkSequence(n int64) error {
	if c.SequenceLE != nil && n > *c.SequenceLE || c.SequenceLT != nil && n >= *c.SequenceLT || c.SequenceEQ != nil && n != *c.SequenceEQ {
		return azerr.New(azerr.SequenceNumberConditionNotMet)
	}
	return nil
}

// checkAppend says whether n bytes may be appended to a blob of that size.
func (c Conditions) checkAppend(size, n int64) error {
	switch {
	case c.AppendPosition != nil && size != *c.AppendPosition:
		return azerr.New(azerr.AppendPositionConditionNotMet)
	case c.MaxSize != nil && size+n > *c.MaxSize:
		return azerr.New(azerr.MaxBlobSizeConditionNotMet)
	}
	return nil
}

// The two refusals that depend on the request: see NotModified and checkCreate.
var (
	errNotModified = azerr.New(azerr.ConditionNotMet).With("it has not changed since")
	errExists      = azerr.New(azerr.ConditionNotMet).With("it exists, and If-None-Match is *")
)

// NotModified reports whether a read is refused because the reader has the
// latest version already, which is answered with 304.
func NotModified(err error) bool { return err == errNotModified || err == errExists }

// matches reports whether a list of ETags has this one. Zero ticks match none.
func matches(list string, t Ticks) bool {
	if t == 0 {
		return false
	}
	etag := strings.Trim(t.ETag(), `"`)
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || strings.Trim(one, `"`) == etag {
			return true
		}
	}
	return false
}

// second is the time as headers show it, without fractions.
func second(t Ticks) time.Time { return t.Time().Truncate(time.Second) }
