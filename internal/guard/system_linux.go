package guard

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockID goes on while the machine sleeps.
const clockID = unix.CLOCK_BOOTTIME

// adopt makes this process the parent of orphans among its descendants, so that it
// sees a group's last member end. Elsewhere init is.
func adopt() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // older kernels: init
}

// dieWithParent has the kernel kill the process when the thread that started it
// ends: that thread must last.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// program returns the file of this program, even if its name is another file's by
// now.
func program() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// rename sets the name that ps and top show.
func rename(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }

// membersOf returns the processes of the group that /proc shows, the command itself
// first.
func membersOf(g group) []member {
	entries, _ := os.ReadDir("/proc")
	var all []member
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if m, of := readMember(pid); of == g {
			all = append(all, m)
		}
	}
	key := func(m member) int {
		if m.pid == int(g) {
			return 0
		}
		return m.pid
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(key(a), key(b)) })
	return all
}

// readMember reads a process and its group from /proc, 0 if it is gone.
func readMember(pid int) (m member, of group) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return m, 0
	}
	// pid (name) state parent group …; the name may hold anything.
	text := string(stat)
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return m, 0
	}
	fields := strings.Fields(text[shut+1:])
	if len(fields) < 3 {
		return m, 0
	}
	number, _ := strconv.Atoi(fields[2])
	m = member{pid: pid, name: text[open+1 : shut], uid: "unknown", ended: fields[0] == "Z" || fields[0] == "X"}
	status, _ := os.ReadFile(dir + "/status")
	if _, after, ok := strings.Cut(string(status), "\nUid:"); ok {
		m.uid = strings.Fields(after)[0]
	}
	return m, group(number)
}
