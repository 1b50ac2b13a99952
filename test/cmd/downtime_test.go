//go:build linux || darwin

package cmd_test

import (
	"encoding/json"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// TestRunKilledOnAFile: after the holder was killed no process keeps the file open,
// and its lease ends all the same: not before its time, and not a second after it.
func TestRunKilledOnAFile(t *testing.T) {
	t.Parallel()
	process.UnignoreSignals()
	store := "sqlite:" + filepath.Join(t.TempDir(), "f.db")
	holder := process.Start(t, binary(t, "--store", store, "run", "--ttl", "3s", "job", "--", "sh", "-c", "echo started; exec sleep 300"))
	holder.AwaitOutput("started")
	holder.Signal(syscall.SIGKILL)
	holder.CheckCode(-int(syscall.SIGKILL))

	asked := time.Now()
	left := leftOf(t, store, "job")
	earliest, latest := asked.Add(left-grain), time.Now().Add(left+time.Second)
	t.Logf("%v left of 3s after the kill", left)
	for refused := 0; ; refused++ {
		began := time.Now()
		next := process.Start(t, binary(t, "--store", store, "run", "-n", "job", "--", "true"))
		switch code := next.Code(); {
		case code == 0 && time.Now().Before(earliest):
			t.Fatalf("the lease ended %v early", time.Until(earliest))
		case code == 0:
			t.Logf("granted after %d refusals", refused)
			return
		case code != 1:
			t.Fatalf("leasehold run -n = %d, saying %q", code, next.Stderr())
		case began.After(latest):
			t.Fatalf("the lease is still held %v after a second beyond its end", began.Sub(latest))
		}
		time.Sleep(20 * time.Millisecond) // the machine has other tests to run
	}
}

// grain is more than the resolution of a time in JSON.
const grain = 5 * time.Millisecond

// leftOf returns how long the lease has left, zero for none.
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
