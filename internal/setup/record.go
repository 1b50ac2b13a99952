package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/leasehold/leasehold/internal/jsonedit"
)

// Record is what Plan added, for Undo. It is kept in the git directory: it is about
// this work tree, and no part of the repository.
type Record struct {
	Version int                    `json:"version"`
	Git     bool                   `json:"git,omitempty"` // the git guard is wanted, too
	Files   map[string]*FileRecord `json:"files"`
}

// FileRecord is what was added to one file.
type FileRecord struct {
	Tool    Tool           `json:"tool"`
	Created bool           `json:"created,omitempty"`
	Folder  bool           `json:"folder,omitempty"` // its folder was made
	Blank   *string        `json:"blank,omitempty"`  // it was there, with nothing but this space
	Added   []Added        `json:"added,omitempty"`
	Trace   jsonedit.Trace `json:"trace"`
	Text    string         `json:"text,omitempty"` // what was added to a file that is no JSON
}

// Added is a value that was added: a member with Key, or an element of a list.
type Added struct {
	At    []string        `json:"at"`
	Key   string          `json:"key,omitempty"`
	Value json.RawMessage `json:"value"`
}

const recordVersion = 1

// LoadRecord reads a record. A missing one is empty.
func LoadRecord(path string) (*Record, error) {
	r := &Record{Version: recordVersion, Files: map[string]*FileRecord{}}
	text, err := readOptional(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r = &Record{}
	if err := json.Unmarshal(text, r); err != nil || r.Version != recordVersion || r.Files == nil {
		return nil, fmt.Errorf("%s is no record of leasehold init that this version can read; move it away", path)
	}
	for name, f := range r.Files {
		if f == nil || specs[f.Tool].settings == "" {
			return nil, fmt.Errorf("%s has an entry for %q that this version cannot read; move it away", path, name)
		}
	}
	return r, nil
}

// Save writes the record, or removes it when nothing is left to undo.
func (r *Record) Save(path string) error {
	if len(r.Files) == 0 && !r.Git {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'), 0o644)
}

// Tools returns the tools that the record has hooks of.
func (r *Record) Tools() (all []Tool) {
	for _, t := range Tools {
		if f := r.Files[t.Settings()]; f != nil && len(f.Added) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// clone copies a record, so that a plan changes nothing until it is applied.
func (r *Record) clone() *Record {
	c := &Record{Version: r.Version, Git: r.Git, Files: map[string]*FileRecord{}}
	for name, f := range r.Files {
		one := *f
		one.Added = slices.Clone(f.Added)
		one.Trace.Made, one.Trace.Filled = slices.Clone(f.Trace.Made), slices.Clone(f.Trace.Filled)
		c.Files[name] = &one
	}
	return c
}

// Has says whether the record has anything of a tool.
func (r *Record) Has(t Tool) bool {
	for _, f := range r.Files {
		if f.Tool == t {
			return true
		}
	}
	return false
}
