//go:build linux || darwin

package sqlite

import "syscall"

// freeSpace is how many bytes of the disk that has dir are free for this user.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
