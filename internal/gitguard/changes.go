package gitguard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// Both lists come from commands that see a rename as a deletion and an addition, so
// both of its names are there, and that separate names by NUL, the only byte that no
// name has.
var (
	stagedDiff = []string{"diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=none"}
	commitDiff = []string{"diff-tree", "--stdin", "-r", "-c", "--root", "--no-commit-id", "--name-only", "-z", "--no-renames"}
)

// Staged returns the paths that the commit under way changes, relative to the top
// folder. It works before the first commit. A merge changes only what differs from
// all of its parents: the rest is the work of those who committed it.
func (g Git) Staged(ctx context.Context) ([]string, error) {
	changed, err := g.names(ctx, nil, stagedDiff...)
	if err != nil {
		return nil, err
	}
	parents, err := g.mergeParents(ctx)
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		other, err := g.names(ctx, nil, append(slices.Clone(stagedDiff), parent, "--")...)
		if err != nil {
			return nil, err
		}
		differs := setOf(other)
		changed = slices.DeleteFunc(changed, func(name string) bool { return !differs[name] })
	}
	return changed, nil
}

// mergeParents returns the commits that are being merged into HEAD.
func (g Git) mergeParents(ctx context.Context) ([]string, error) {
	path, err := g.Path(ctx, "MERGE_HEAD")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// update is a line that git writes to pre-push: one ref that the push moves.
type update struct{ localRef, local, remoteRef, remote string }

// Pushed returns the paths that the commits of a push change and the remote does not
// have yet. In is what git writes to pre-push. Deleting a ref changes no path.
func (g Git) Pushed(ctx context.Context, remote string, in io.Reader) ([]string, error) {
	updates, err := readUpdates(in)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, u := range updates {
		commits, err := g.newCommits(ctx, remote, u)
		if err != nil {
			return nil, err
		}
		if commits == "" {
			continue
		}
		names, err := g.names(ctx, strings.NewReader(commits), commitDiff...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, setOf(names))
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// maxUpdates bounds what is read of standard input, in bytes: a line for each ref.
const maxUpdates = 32 << 20

func readUpdates(in io.Reader) (all []update, err error) {
	limited := &io.LimitedReader{R: in, N: maxUpdates + 1}
	defer func() {
		if limited.N <= 0 {
			all, err = nil, fmt.Errorf("standard input has more than %d MiB", maxUpdates>>20)
		}
	}()
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text()) // no ref has a space
		switch len(f) {
		case 0:
		case 4:
			all = append(all, update{f[0], f[1], f[2], f[3]})
		default:
			return nil, fmt.Errorf("standard input has the line %.100q; want what git writes to pre-push: local ref, local object, remote ref, remote object", lines.Text())
		}
	}
	return all, lines.Err()
}

// newCommits lists the commits that the remote gets by one update, a line each.
func (g Git) newCommits(ctx context.Context, remote string, u update) (string, error) {
	if noObject(u.local) {
		return "", nil
	}
	if _, err := g.line(ctx, "rev-parse", "-q", "--verify", u.local+"^{commit}"); err != nil {
		return "", nil // a tag of something that is no commit
	}
	// What the remote is known to have: the commit it names, if it is here, and what
	// was fetched from it.
	args := []string{"rev-list", u.local, "--not", "--remotes=" + remote}
	if !noObject(u.remote) {
		if _, err := g.line(ctx, "rev-parse", "-q", "--verify", u.remote+"^{commit}"); err == nil {
			args = append(args, u.remote)
		}
	}
	out, err := g.output(ctx, nil, args...)
	return string(out), err
}

// noObject says whether an object id is all zeros, which stands for none.
func noObject(id string) bool { return strings.Trim(id, "0") == "" }

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
