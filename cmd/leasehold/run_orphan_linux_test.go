package main

import (
	"sync"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the one to which orphans come: in a container
// nobody else may reap them, and then they look alive. It is not for an init
// function, since a command would keep the role.
var adoptOrphans = sync.OnceFunc(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
