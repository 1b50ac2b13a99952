package cmd_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// serveOnSmallDisk starts the real program in a mount namespace of its own,
// where its data directory is a file system of so many megabytes. Without root it
// gets a user namespace too.
func serveOnSmallDisk(t *testing.T, megabytes int, flags ...string) *binaryServer {
	t.Helper()
	process.UnignoreSignals()
	dir := t.TempDir()
	path, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o "size=$1m" tmpfs "$2" && shift 2 && exec "$@"`
	args := append([]string{"-c", script, "sh", fmt.Sprint(megabytes), dir, path, "serve", "--listen", "127.0.0.1:0", "--data", dir}, flags...)
	cmd := exec.Command("sh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	s := &binaryServer{process: process.Start(t, cmd)}
	s.await(t)
	return s
}

// TestFullDisk fills the disk of a real server with blobs, large and small, until it
// refuses more: leases, releases and deletes go on without one failure, and when
// blobs are deleted it accepts some again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := serveOnSmallDisk(t, 150)
	upload := func(name, body string) answer {
		t.Helper()
		a, err := s.trySend(context.Background(), http.MethodPut, "/blob/devstoreaccount1/full/"+name, body, "x-ms-blob-type", "BlockBlob")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s.send(http.MethodPut, "/blob/devstoreaccount1/full?restype=container", "").want(http.StatusCreated)
	fill := func(kind, body string) (n int) {
		t.Helper()
		for ; ; n++ {
			switch a := upload(fmt.Sprint(kind, n), body); {
			case a.status == http.StatusInsufficientStorage && strings.Contains(a.body, "InsufficientStorage"):
				return n
			case a.status != http.StatusCreated:
				t.Fatalf("upload %s%d = %d %s, want 201 or 507", kind, n, a.status, a.body)
			}
		}
	}
	inFile := strings.Repeat("0123456789", 20<<10) // of a refused one the server still reads this much
	large, small := fill("large", inFile), fill("small", strings.Repeat("x", 60<<10))
	t.Logf("%d blobs of 200 KiB and %d of 60 KiB fill 150 MiB", large, small)
	if large < 200 || small < 1 {
		t.Errorf("%d large and %d small blobs, want the disk filled but for the reserve, and then the reserve given up", large, small)
	}
	process.Eventually(t, "the log tells of the reserve", func() bool { // it is written a few milliseconds later
		return strings.Contains(s.process.Stderr(), "the reserve is given up")
	})
	upload("more", "x").want(http.StatusInsufficientStorage)
	for i := range 1000 {
		id := s.acquire(fmt.Sprint("job-", i), "a", `,"metadata":{"k":"`+strings.Repeat("v", 1000)+`"}`).at("lease_id")
		s.post("/v1/leases/renew", `{"lease_id":"`+id+`"}`).want(http.StatusOK)
		s.release(id)
	}
	s.send(http.MethodGet, "/blob/devstoreaccount1/full/large0", "").want(http.StatusOK)
	for i := range large {
		s.send(http.MethodDelete, fmt.Sprint("/blob/devstoreaccount1/full/large", i), "").want(http.StatusAccepted)
	}
	process.Eventually(t, "the server takes blobs again", func() bool { return upload("again", "x").status == http.StatusCreated })
	upload("large", inFile).want(http.StatusCreated)
}
