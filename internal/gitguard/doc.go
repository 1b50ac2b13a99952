// Package gitguard keeps commits and pushes away from paths that others hold.
//
// Two halves, which share nothing but the words of a git hook:
//
//   - What a hook does when git runs it: Staged and Pushed list the paths that a
//     commit or a push touches, and Check finds the leases of others among them.
//   - How a hook gets there: Install puts a small script in the place of pre-commit
//     and pre-push, which runs the hook that was there before and then leasehold;
//     Uninstall puts back what was there, and State says how things are.
//
// The rules of git itself decide where hooks are: core.hooksPath and worktrees
// are git's answer to `git rev-parse --git-path hooks`, never guessed.
package gitguard
