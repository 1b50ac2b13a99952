package remote_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

func TestBackup(t *testing.T) {
	content := bytes.Repeat([]byte("leases"), 100_000)
	both(t, func(t *testing.T, o func() *remote.Options) {
		for name, chunked := range map[string]bool{"with a length": false, "in chunks": true} {
			s := server(t, o(), func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/backup" || r.Method != http.MethodGet {
					t.Errorf("the server was asked for %s %s", r.Method, r.URL)
				}
				if !chunked {
					w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				}
				_, _ = w.Write(content)
			})
			path := filepath.Join(t.TempDir(), "copy.db")
			if err := s.Backup(t.Context(), path); err != nil {
				t.Fatalf("Backup %s = %v, want success", name, err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("Backup %s wrote %d bytes, %v; want %d", name, len(got), err, len(content))
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("Backup %s made a file with mode %v, %v; want 0600", name, info.Mode(), err)
			}
			if typed(t, "Backup to a file that exists", s.Backup(t.Context(), path), leasehold.ReasonInvalid); len(got) == 0 {
				t.Error("and overwrote it")
			}
		}
	})
}

func TestBackupLeavesNothingHalf(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want leasehold.Reason
	}{
		"cut short": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write([]byte("half"))
			sever(w)
		}, leasehold.ReasonUnavailable},
		"chunks cut short": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			sever(w)
		}, leasehold.ReasonUnavailable},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nhalf?"))
		}, leasehold.ReasonUnavailable},
		"unsupported": {func(w http.ResponseWriter, r *http.Request) {
			refuse(w, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Store: "memory"})
		}, leasehold.ReasonUnsupported},
		"given up": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		}, leasehold.ReasonUnavailable},
	} {
		path := filepath.Join(t.TempDir(), "copy.db")
		use := t.Context()
		if name == "given up" {
			use = ctx
		}
		typed(t, "Backup: "+name, server(t, nil, c.h).Backup(use, path), c.want)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("Backup: %s left a file", name)
		}
	}
	s := server(t, nil, http.NotFound)
	typed(t, "Backup to nowhere", s.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "copy.db")), leasehold.ReasonUnavailable)
}
