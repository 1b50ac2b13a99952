package prove

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/leasehold/leasehold/internal/gitguard"
)

// shell is what runs a command line of settings.
func shell() (program, flag string) {
	if runtime.GOOS == "windows" {
		return "cmd", "/c"
	}
	return "sh", "-c"
}

// GitHook checks a hook of the guard, with a commit or a push of the synthetic path.
// The commit is made in an index and a folder of objects that are deleted again. A hook
// from before the guard is not run: the change is none of its business.
func (p *Prover) GitHook(ctx context.Context, h gitguard.Hook) error {
	dir, err := os.MkdirTemp("", "leasehold-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name, path := synthetic()
	holder := "leasehold-doctor:" + name
	s := &scratch{Git: p.Git, dir: dir, path: path}
	if err := s.build(ctx, p.Root); err != nil {
		return err
	}
	var args []string
	input := ""
	if h.Name == "pre-push" {
		args = []string{"leasehold-doctor", "leasehold-doctor:"}
		none := strings.Repeat("0", len(s.commit))
		input = fmt.Sprintf("refs/heads/leasehold-doctor %s refs/heads/leasehold-doctor %s\n", s.commit, s.parentOr(none))
	}
	program := h.Path
	if rest, err := filepath.Rel(p.Root, program); err == nil && !strings.HasPrefix(rest, "..") {
		program = "." + string(filepath.Separator) + rest // as git calls it
	}
	return p.check(ctx, attempt{
		path: path, holder: holder,
		run: func(ctx context.Context) (outcome, error) {
			return p.run(ctx, append(s.Git.Env, "LEASEHOLD_GUARD_ONLY=1"), input, program, args...)
		},
		denied: func(o outcome) bool { return o.code != 0 },
	})
}

// scratch is a commit of the synthetic path that nobody sees.
type scratch struct {
	gitguard.Git
	dir, path      string
	parent, commit string
}

func (s *scratch) parentOr(none string) string {
	if s.parent != "" {
		return s.parent
	}
	return none
}

// build makes the index, and the commit on top of HEAD.
func (s *scratch) build(ctx context.Context, root string) error {
	s.Dir = root
	objects, err := s.Path(ctx, "objects")
	if err != nil {
		return err
	}
	own := filepath.Join(s.dir, "objects")
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}
	s.Env = append(s.Env,
		"GIT_INDEX_FILE="+filepath.Join(s.dir, "index"), "GIT_OBJECT_DIRECTORY="+own, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+objects,
		"GIT_AUTHOR_NAME=leasehold doctor", "GIT_AUTHOR_EMAIL=doctor@leasehold.invalid",
		"GIT_COMMITTER_NAME=leasehold doctor", "GIT_COMMITTER_EMAIL=doctor@leasehold.invalid")
	s.parent, s.commit, err = s.CommitPath(ctx, s.path)
	return err
}
