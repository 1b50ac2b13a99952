//go:build unix

package guard

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// A command that changed its user, as sudo does, may not be signalled by a
// process without privileges: kill(2) says EPERM, and the command runs on.

// maxSurvivors bounds how many processes a message names.
const maxSurvivors = 4

// survivesAfter is how long members may take to end after SIGKILL before they
// count as survivors, where the signal could be sent.
const survivesAfter = 2 * time.Second

// member is a process of a group.
type member struct {
	pid   int
	name  string
	uid   string
	ended bool // nobody has waited for it yet
}

// survivors returns a message: which processes of the group run on, why they cannot
// be stopped, and what to do. It is empty if none runs. Refused is kill's error,
// nil if the signal could be sent.
func (g group) survivors(refused error) string {
	all := membersOf(g)
	living := living(all)
	if g.empty() || len(all) > 0 && len(living) == 0 {
		return ""
	}
	text := "the command cannot be stopped: " + describe(g, living)
	if errors.Is(refused, syscall.EPERM) {
		return fmt.Sprintf("%s may not be signalled by this user, because the command changed its own, as sudo does; "+
			"end it as that user or as root: kill -KILL -- -%d", text, g)
	}
	return text + " was sent SIGKILL and is still there; it may hang in the kernel, on a disk or a network file system"
}

// describe names the first few processes, or the group where the system does
// not show them.
func describe(g group, living []member) string {
	if len(living) == 0 {
		return fmt.Sprintf("process group %d", g)
	}
	var names []string
	for _, m := range living[:min(len(living), maxSurvivors)] {
		names = append(names, fmt.Sprintf("process %d (%q, uid %s)", m.pid, m.name, m.uid))
	}
	if more := len(living) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, " and ")
}

func living(all []member) []member {
	var some []member
	for _, m := range all {
		if !m.ended {
			some = append(some, m)
		}
	}
	return some
}
