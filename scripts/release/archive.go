package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file to pack.
type entry struct {
	file string
	mode fs.FileMode
}

type archive struct {
	name  string
	bytes []byte
}

// pack puts the files into one directory of the archive's name: a zip where
// people expect one, else a tar.gz.
func pack(name string, zipped bool, entries []entry, when time.Time) (archive, error) {
	var b bytes.Buffer
	if zipped {
		w := zip.NewWriter(&b)
		err := eachFile(name, entries, func(path string, mode fs.FileMode, content []byte) error {
			return addZip(w, path, mode, content, when)
		})
		return archive{name + ".zip", nil}.with(&b, err, w.Close())
	}
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a good one
	w := tar.NewWriter(z)
	err := eachFile(name, entries, func(path string, mode fs.FileMode, content []byte) error {
		return addTar(w, path, mode, content, when)
	})
	return archive{name + ".tar.gz", nil}.with(&b, err, w.Close(), z.Close())
}

func (a archive) with(b *bytes.Buffer, errs ...error) (archive, error) {
	a.bytes = b.Bytes()
	return a, errors.Join(errs...)
}

func eachFile(dir string, entries []entry, add func(string, fs.FileMode, []byte) error) error {
	for _, e := range entries {
		content, err := os.ReadFile(e.file)
		if err != nil {
			return err
		}
		if err := add(path.Join(dir, filepath.Base(e.file)), e.mode, content); err != nil {
			return err
		}
	}
	return nil
}

func addTar(w *tar.Writer, path string, mode fs.FileMode, content []byte, when time.Time) error {
	h := &tar.Header{Name: path, Mode: int64(mode.Perm()), Size: int64(len(content)), ModTime: when, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func addZip(w *zip.Writer, path string, mode fs.FileMode, content []byte, when time.Time) error {
	h := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: when}
	h.SetMode(mode)
	f, err := w.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return err
}
