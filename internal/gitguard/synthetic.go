package gitguard

import (
	"context"
	"strings"
)

// CommitPath adds an empty file to the index, as a copy of HEAD with it, and makes a
// commit of that, which no ref names. The caller says by Env which index and which
// folder of objects are meant. Without a first commit there is no parent.
func (g Git) CommitPath(ctx context.Context, path string) (parent, commit string, err error) {
	steps := func(args ...string) (out string) {
		if err == nil {
			out, err = g.line(ctx, args...)
		}
		return out
	}
	if head, none := g.line(ctx, "rev-parse", "-q", "--verify", "HEAD"); none == nil {
		parent = head
		steps("read-tree", parent)
	}
	if err != nil {
		return "", "", err
	}
	blob, err := g.output(ctx, strings.NewReader(""), "hash-object", "-w", "--stdin")
	if err != nil {
		return "", "", err
	}
	steps("update-index", "--add", "--cacheinfo", "100644,"+strings.TrimSpace(string(blob))+","+path)
	args := []string{"commit-tree", steps("write-tree"), "-m", "leasehold doctor"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	commit = steps(args...)
	return parent, commit, err
}
