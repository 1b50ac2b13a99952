package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/repo"
)

// session is one call of a hook for one holder.
type session struct {
	*Options
	event
	client string
	holder string
	secret []byte
	store  leasehold.Store
}

// open opens the store, which Run closes.
func (s *session) open(ctx context.Context) (err error) {
	if s.store, err = s.Open(ctx); err == nil {
		s.opened = s.store
	}
	return err
}

// before acquires every file of the edit, or none.
func (s *session) before(ctx context.Context, c client) answer {
	files, err := s.locate()
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return s.failed(c, err)
	}
	s.secret = loadSecret(s.SecretFile)
	conflicts, err := s.acquireAll(ctx, files)
	switch {
	case len(conflicts) > 0:
		return c.deny(s.event, s.refusal(conflicts, len(files)))
	case err != nil:
		return s.failed(c, err)
	}
	return c.allow(s.event)
}

// failed is the answer where the edit cannot be checked.
func (s *session) failed(c client, err error) answer {
	problem := describe(err)
	if s.FailClosed && s.kind == beforeEdit {
		return c.deny(s.event, failedClosed(problem))
	}
	return c.warn(s.event, failedOpen(problem))
}

// describe says why the store did not answer as it should.
func describe(err error) string {
	switch {
	case errors.Is(err, errLimit), errors.Is(err, context.DeadlineExceeded):
		return "the lease server did not answer in time (leasehold health shows why)"
	case errors.Is(err, leasehold.ErrUnavailable):
		return "the lease server is not available (" + oneLine(err.Error()) + ")"
	}
	return oneLine(err.Error())
}

// oneLine keeps a message short.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// after renews the leases of the edit. What cannot be renewed is nothing for the agent:
// its next edit is checked again.
func (s *session) after(ctx context.Context, c client) answer {
	done := c.allow(s.event)
	files, err := s.locate()
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		done.err = "leasehold hook: not renewed: " + describe(err) + "\n"
		return done
	}
	s.secret = loadSecret(s.SecretFile)
	s.renewAll(ctx, files)
	return done
}

// end releases all leases of the holder, and those of its sub-agents, in one call.
func (s *session) end(ctx context.Context, c client) answer {
	done := c.allow(s.event)
	err := s.open(ctx)
	if err == nil {
		err = s.releaseHolder(ctx)
	}
	if err != nil {
		done.err = "leasehold hook: the leases of " + s.holder + " are not released and end by themselves: " + describe(err) + "\n"
	}
	return done
}

func (s *session) releaseHolder(ctx context.Context) error {
	why := "the agent's tool says " + s.name
	if len(why) > leasehold.MaxWhy || strings.ContainsFunc(why, func(c rune) bool { return c < ' ' }) {
		why = "the session has ended"
	}
	if s.children {
		releaser, ok := s.store.(leasehold.ChildReleaser)
		if ok {
			_, err := releaser.ReleaseWithChildren(ctx, s.holder, why)
			if !errors.Is(err, leasehold.ErrUnsupported) {
				return err
			}
		}
	}
	releaser, ok := s.store.(leasehold.HolderReleaser)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "force-release"}
	}
	_, err := releaser.ReleaseHolder(ctx, s.holder, why)
	return err
}

// file is one that is to be edited.
type file struct {
	given  string // by the tool
	names  []repo.Name
	claims []leasehold.Claim
}

// locate finds out what the files are called. Two spellings of one file are one file.
func (s *session) locate() ([]file, error) {
	tooMany := func(n int) error {
		return fmt.Errorf("it changes %d files; the limit is %d in one edit", n, leasehold.MaxClaims)
	}
	if len(s.files) > leasehold.MaxClaims {
		return nil, tooMany(len(s.files)) // before the file system is asked about each
	}
	var files []file
	seen := map[leasehold.Claim]bool{}
	for _, given := range s.files {
		name := given
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(name, "~/") {
			name = filepath.Join(home, name[2:])
		}
		names, err := repo.Locate(s.cwd, name)
		if err != nil {
			return nil, fmt.Errorf("the file %.128q has no name: %w", given, err)
		}
		f := file{given: given, names: names}
		for _, n := range names {
			if c := n.Claim(); !seen[c] {
				seen[c] = true
				f.claims = append(f.claims, c)
			}
		}
		if len(f.claims) > 0 {
			files = append(files, f)
		}
	}
	if len(seen) > leasehold.MaxClaims {
		return nil, tooMany(len(seen))
	}
	return files, nil
}
