package sqlite

import "golang.org/x/sys/windows"

// freeSpace is how many bytes of the disk that has dir are free for this user.
func freeSpace(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err
}
