//go:build unix

package testserver

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ordinaryUser is who runs servers that refuse to run as root. Ok is false where
// the tests do not run as root.
func ordinaryUser() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ = strconv.Atoi(u.Uid)
			gid, _ = strconv.Atoi(u.Gid)
			return uid, gid, true
		}
	}
	return 65534, 65534, true
}

// asOrdinaryUser runs the command as somebody else than root.
func asOrdinaryUser(cmd *exec.Cmd) {
	uid, gid, ok := ordinaryUser()
	if !ok {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// giveToOrdinaryUser gives folders to that user, and lets it pass those above.
func giveToOrdinaryUser(dirs ...string) error {
	uid, gid, ok := ordinaryUser()
	if !ok {
		return nil
	}
	for _, dir := range dirs {
		if err := os.Chown(dir, uid, gid); err != nil {
			return err
		}
	}
	for dir := filepath.Dir(dirs[0]); dir != filepath.Dir(os.TempDir()) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o005 != 0o005 {
			if err := os.Chmod(dir, info.Mode()|0o055); err != nil {
				return err
			}
		}
	}
	return nil
}
