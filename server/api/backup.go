package api

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// backup serves GET /v1/backup. The copy is made whole before the first byte
// leaves, so an answer that begins is a consistent one. The store's time limit
// does not hold: a copy takes what its size takes, and changes nothing.
func (s *Server) backup(c *call, _ none) error {
	backuper, ok := s.store.(leasehold.Backuper)
	if !ok {
		return c.unsupported()
	}
	dir, err := os.MkdirTemp(s.o.TempDir, "leasehold-backup-") // for its owner's eyes only
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := s.untilDrained(c.r.Context())
	defer cancel()
	path := filepath.Join(dir, "leasehold.db")
	if err := backuper.Backup(ctx, path); err != nil {
		return c.explain(ctx, err)
	}
	return c.sendFile(path)
}

// sendFile streams a file. If it cannot be sent whole the connection breaks,
// because the announced length is not reached.
func (c *call) sendFile(path string) error {
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
	h.Set("Content-Type", c.endpoint.media)
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Disposition", `attachment; filename="leasehold.db"`)
	c.wrote = true
	c.w.WriteHeader(http.StatusOK)
	_, err = io.Copy(patient{c}, file)
	if err == nil {
		err = c.flush()
	}
	if err == nil {
		c.operated("made a backup")
	}
	return err
}

// patient gives each piece of a long answer its own time.
type patient struct{ c *call }

func (p patient) Write(piece []byte) (int, error) {
	_ = p.c.rc.SetWriteDeadline(time.Now().Add(p.c.s.o.WriteTimeout))
	return p.c.w.Write(piece)
}
