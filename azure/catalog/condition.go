package catalog

import (
	"errors"
	"strings"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
)

// judge says whether the conditions hold for a thing that changed last at
// ticks; zero: there is none. It answers as a write does: ConditionNotMet, which
// a read turns into 304 where that is due (see NotModified).
func (c Conditions) judge(t Ticks) error {
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

// known reports whether the request has this version already. Of If-None-Match
// and If-Modified-Since one that says no is enough: a version of the same second
// has another ETag.
func (c Conditions) known(t Ticks) bool {
	byETag, byTime := c.NoneMatch != "", c.ModifiedSince != nil
	return (byETag || byTime) && (!byETag || matches(c.NoneMatch, t)) && (!byTime || !second(t).After(*c.ModifiedSince))
}

// judgeItem is judge for a blob or a snapshot, which have tags. Nil is none.
func (c Conditions) judgeItem(i *Item) error {
	if i == nil {
		i = new(Item)
	} else if !i.Committed {
		return c.judgeStaged(i)
	}
	if err := c.judge(i.Ticks); err != nil {
		return err
	}
	return c.judgeTags(i.Tags)
}

// judgeStaged is judge for a blob of uncommitted blocks only: it has a time, but
// no version and so no ETag.
func (c Conditions) judgeStaged(i *Item) error {
	at := i.Ticks
	switch {
	case c.Match != "":
		at = 0
	case c.NoneMatch != "":
		c.NoneMatch = "no ETag"
	}
	if err := c.judge(at); err != nil {
		return err
	}
	return c.judgeTags(nil)
}

// judgeTags says whether the tags are as x-ms-if-tags has them. A reader is
// refused with 412 too.
func (c Conditions) judgeTags(tags map[string]string) error {
	if c.Tags == "" {
		return nil
	}
	where, err := parseIfTags(c.Tags)
	if err == nil && !where.Match(tags) {
		err = azerr.New(azerr.ConditionNotMet).With("the tags are not as x-ms-if-tags says")
	}
	return err
}

// CheckIfTags refuses an expression that cannot be a condition.
func CheckIfTags(text string) error {
	_, err := parseIfTags(text)
	return err
}

func parseIfTags(text string) (*Where, error) {
	where, err := ParseWhere(text)
	if err == nil && where.names(containerKey) {
		err = badWhere("only a search knows %s", containerKey)
	}
	if f := new(azerr.Error); errors.As(err, &f) {
		return nil, azerr.New(azerr.InvalidHeaderValue).With(f.Message)
	}
	return where, nil
}

// judgeSequence says whether a page blob's sequence number is as it should be.
func (c Conditions) judgeSequence(n int64) error {
	if c.SequenceLE != nil && n > *c.SequenceLE || c.SequenceLT != nil && n >= *c.SequenceLT || c.SequenceEQ != nil && n != *c.SequenceEQ {
		return azerr.New(azerr.SequenceNumberConditionNotMet)
	}
	return nil
}

// judgeAppend says whether n bytes may be appended to a blob of that size.
func (c Conditions) judgeAppend(size, n int64) error {
	switch {
	case c.AppendPosition != nil && size != *c.AppendPosition:
		return azerr.New(azerr.AppendPositionConditionNotMet)
	case c.MaxSize != nil && size+n > *c.MaxSize:
		return azerr.New(azerr.MaxBlobSizeConditionNotMet)
	}
	return nil
}

// The two refusals that depend on what the request is: NotModified and Exists
// say how.
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
