package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

// copier is a store that can copy itself, after a fashion.
type copier struct {
	leasehold.Store
	content string
	err     error
	nothing bool
}

func (c copier) Backup(_ context.Context, path string) error {
	if c.err != nil || c.nothing {
		return c.err
	}
	return os.WriteFile(path, []byte(c.content), 0o600)
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	o := &Options{TempDir: dir}
	d := newDriver(t, copier{Store: memory.New(), content: "all the leases"}, o)
	r := d.send("GET", "/v1/backup", "")
	if r.status != http.StatusOK || string(r.body) != "all the leases" || r.header.Get("Content-Length") != "14" || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("backup = %d %q %v, want the copy", r.status, r.body, r.header)
	}
	failing := newDriver(t, copier{Store: memory.New(), err: &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("full")}}, o)
	failing.send("GET", "/v1/backup", "").wantProblem(http.StatusServiceUnavailable, "store_unavailable")
	newDriver(t, copier{Store: memory.New(), nothing: true}, o).send("GET", "/v1/backup", "").wantProblem(http.StatusInternalServerError, "internal")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the backups left %v, %v; want nothing", left, err)
	}
	nowhere := newDriver(t, copier{Store: memory.New()}, &Options{TempDir: dir + "/none"})
	nowhere.send("GET", "/v1/backup", "").wantProblem(http.StatusInternalServerError, "internal")
}
