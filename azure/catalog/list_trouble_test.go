package catalog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// Whatever the engine is in trouble for is told as it is: it is no answer of
// Azure's.
func TestTroubleIsNoRefusal(t *testing.T) {
	h := newHouse(t)
	ref := catalog.Ref{Account: "acct", Container: "trouble", Blob: "blob"}
	h.container(ref)
	h.empty(ref, catalog.Page, 1024)
	snapshot := h.snapshot(ref, ref.Blob)
	other := ref
	other.Blob = "append"
	h.empty(other, catalog.Append, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, call := range map[string]func() error{
		"List":           func() error { _, err := h.List(ended, ref, catalog.ListRequest{}); return err },
		"List, folded":   func() error { _, err := h.List(ended, ref, catalog.ListRequest{Delimiter: "/"}); return err },
		"ListContainers": func() error { _, err := h.ListContainers(ended, "acct", "", "", 0); return err },
		"FindByTags":     func() error { _, err := h.FindByTags(ended, ref, "a = 'b'", "", 0); return err },
		"Copy": func() error {
			_, err := h.Copy(ended, ref, catalog.CopyRequest{Source: ref}, catalog.Access{})
			return err
		},
		"AppendBlock": func() error {
			_, _, err := h.AppendBlock(ended, other, h.Accept([]byte("x")), catalog.Access{})
			return err
		},
		"Seal":                 func() error { _, err := h.Seal(ended, other, catalog.Access{}); return err },
		"PutPages":             func() error { _, err := h.PutPages(ended, ref, 0, 512, nil, catalog.Access{}); return err },
		"Resize":               func() error { _, err := h.Resize(ended, ref, 512, catalog.Access{}); return err },
		"Pages":                func() error { _, _, err := h.Pages(ended, ref, 0, 0, snapshot, catalog.Access{}); return err },
		"ServiceProperties":    func() error { _, err := h.ServiceProperties(ended, "acct"); return err },
		"SetServiceProperties": func() error { return h.SetServiceProperties(ended, "acct", nil) },
	} {
		err := call()
		if f := new(azerr.Error); err == nil || errors.As(err, &f) {
			t.Errorf("%s after the caller has gone = %v, want an error that is no answer", what, err)
		}
	}
	h.checkClean()
}
