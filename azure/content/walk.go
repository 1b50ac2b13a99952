package content

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// Orphans calls orphan for each file that known does not know, in the order of
// the ids, among those that were there when the store was opened: a younger one
// may belong to a row that is about to be committed.
//
// Known is asked about fewer than 2,000 ids at a time. The walk holds no lock and
// few names; the first error of a callback ends it.
func (s *Store) Orphans(ctx context.Context, known func(ids []int64) (map[int64]bool, error), orphan func(id int64) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	numbers, err := s.numbers(s.chunks)
	if err != nil {
		return err
	}
	var batch []int64
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids, err := s.files(number)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			s.prune(number)
		}
		batch = append(batch, s.before(ids)...)
		if len(batch) >= perFolder {
			if err := unknown(ctx, batch, known, orphan); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return unknown(ctx, batch, known, orphan)
}

// before returns those of the sorted ids that were on disk at Open.
func (s *Store) before(ids []int64) []int64 {
	n, found := slices.BinarySearch(ids, s.opened)
	if found {
		n++
	}
	return ids[:n]
}

// unknown calls orphan for those ids that known does not know.
func unknown(ctx context.Context, ids []int64, known func([]int64) (map[int64]bool, error), orphan func(int64) error) error {
	if len(ids) == 0 {
		return nil
	}
	has, err := known(ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if has[id] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := orphan(id); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest id on disk, 0 if there is none.
func (s *Store) largest() (int64, error) {
	numbers, err := s.numbers(s.chunks)
	if err != nil {
		return 0, err
	}
	for _, number := range slices.Backward(numbers) {
		ids, err := s.files(number)
		if err != nil {
			return 0, err
		}
		if len(ids) > 0 {
			return ids[len(ids)-1], nil
		}
	}
	return 0, nil
}

// files returns the ids in a folder, sorted; what does not belong there is not
// the store's and is left alone.
func (s *Store) files(number int64) ([]int64, error) {
	ids, err := s.numbers(s.folderPath(number))
	return slices.DeleteFunc(ids, func(id int64) bool { return id/perFolder != number }), err
}

// numbers returns the names in a directory that are numbers as the store writes
// them, sorted; none if it is gone meanwhile.
func (s *Store) numbers(dir string) ([]int64, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, disk(err)
	}
	defer d.Close()
	return readNumbers(d)
}

// readNumbers reads an open directory. One that is removed meanwhile was empty.
func readNumbers(d *os.File) ([]int64, error) {
	var numbers []int64
	for {
		names, err := d.Readdirnames(perFolder) // a million names would be a hundred megabytes
		for _, name := range names {
			n, err := strconv.ParseInt(name, 10, 64)
			if err == nil && n >= 0 && strconv.FormatInt(n, 10) == name {
				numbers = append(numbers, n)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			slices.Sort(numbers)
			return numbers, nil
		}
		if err != nil {
			return nil, disk(err)
		}
	}
}
