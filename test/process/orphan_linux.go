package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// In a container nobody else may reap orphans, and then they look alive. This
// process adopts them only when it starts another one: a command under test must
// not do so.
func init() {
	adoptOrphans = sync.OnceFunc(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
}
