package api

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// backup serves GET /v1/backup. The copy is made whole before the first byte
// is sent, so an answer that starts is a consistent one. The store's time limit
// does not apply: a copy takes as long as its size needs, and changes nothing.
func backup(c *call, _ rest.None) error {
	s := c.s
	backuper, ok := s.store.(leasehold.Backuper)
	if !ok {
		return c.unsupported()
	}
	dir, err := os.MkdirTemp(s.o.TempDir, "leasehold-backup-") // only its owner can read it
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := s.untilDrained(c.ctx)
	defer cancel()
	path := filepath.Join(dir, "leasehold.db")
	if err := backuper.Backup(ctx, path); err != nil {
		return contextError(ctx, c.endpoint.ID, err)
	}
	return sendFile(c, path)
}

// sendFile streams a file. If it cannot be sent whole the connection breaks,
// because the announced length is not reached.
func sendFile(c *call, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", c.endpoint.Media)
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Disposition", `attachment; filename="leasehold.db"`)
	c.wrote = true
	c.w.WriteHeader(http.StatusOK)
	_, err = io.Copy(slowWriter{c}, file)
	if err == nil {
		err = c.flush()
	}
	if err == nil {
		c.log(slog.LevelInfo, "made a backup")
	}
	return err
}

// slowWriter gives each piece of a long answer a write timeout of its own.
type slowWriter struct{ c *call }

func (w slowWriter) Write(piece []byte) (int, error) {
	_ = w.c.rc.SetWriteDeadline(time.Now().Add(w.c.s.o.WriteTimeout))
	return w.c.w.Write(piece)
}
