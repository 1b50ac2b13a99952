//go:build linux || darwin

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestBinaryRunKilledOnAFile: nobody has the file open for longer than a moment
// after the holder was killed, and its lease ends all the same: not before its
// time, and not a second after it.
func TestBinaryRunKilledOnAFile(t *testing.T) {
	t.Parallel()
	heedSignals()
	store := "sqlite:" + filepath.Join(t.TempDir(), "f.db")
	holder := startProcess(t, binary(t, "--store", store, "run", "--ttl", "3s", "job", "--", "sh", "-c", "echo started; exec sleep 300"), func(*exec.Cmd) {})
	holder.says("started")
	holder.signal(syscall.SIGKILL)
	holder.wantCode(-int(syscall.SIGKILL))

	asked := time.Now()
	left := leftOf(t, store, "job")
	earliest, latest := asked.Add(left-grain), time.Now().Add(left+time.Second)
	t.Logf("%v left of 3s after the kill", left)
	for refused := 0; ; refused++ {
		began := time.Now()
		next := startProcess(t, binary(t, "--store", store, "run", "-n", "job", "--", "true"), func(*exec.Cmd) {})
		switch code := next.code(); {
		case code == exitOK && time.Now().Before(earliest):
			t.Fatalf("the lease ended %v early", time.Until(earliest))
		case code == exitOK:
			t.Logf("granted after %d refusals", refused)
			return
		case code != exitConflict:
			t.Fatalf("leasehold run -n = %d, saying %q", code, next.stderr())
		case began.After(latest):
			t.Fatalf("the lease is still held %v after a second beyond its end", began.Sub(latest))
		}
		time.Sleep(20 * time.Millisecond) // the machine has other tests to run
	}
}

// grain is how coarse a time in JSON is, and more.
const grain = 5 * time.Millisecond

// leftOf asks a process of its own how long the lease has left. It returns
// zero for none.
func leftOf(t *testing.T, store, resource string) time.Duration {
	t.Helper()
	out, err := binary(t, "--store", store, "status", resource, "--json").Output()
	if err != nil {
		t.Fatalf("leasehold status = %v", err)
	}
	var status struct {
		Locked bool
		Lease  struct {
			Remaining float64 `json:"remaining_seconds"`
		}
	}
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("leasehold status said %q: %v", out, err)
	}
	if !status.Locked {
		return 0
	}
	return time.Duration(status.Lease.Remaining * float64(time.Second))
}
