package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

func TestReceive(t *testing.T) {
	h, ref := desk(t)
	for _, size := range []int64{0, 3, 100_000} {
		for _, announced := range []int64{size, -1} {
			body := bytes.Repeat([]byte("."), int(size))
			u, err := h.Receive(t.Context(), ref, catalog.Access{}, bytes.NewReader(body), announced, 1<<20)
			if err != nil {
				t.Fatalf("Receive of %d bytes, announced %d = %v", size, announced, err)
			}
			if u.Size != size || u.CRC != content.UpdateCRC(0, body) {
				t.Errorf("Receive of %d bytes = %d with CRC %x", size, u.Size, u.CRC)
			}
			u.Discard()
		}
	}
	h.wantFiles(0)
	var nobody *catalog.Upload
	nobody.Discard()
}

func TestReceiveRefusesBodies(t *testing.T) {
	h, ref := desk(t)
	const limit = 1000
	body := func(n int) io.Reader { return strings.NewReader(strings.Repeat(".", n)) }
	for _, c := range []struct {
		name string
		body io.Reader
		size int64
		code string
	}{
		{"announced too large", body(0), limit + 1, azerr.RequestBodyTooLarge},
		{"too large", body(limit + 1), -1, azerr.RequestBodyTooLarge},
		{"more than announced", body(20), 10, azerr.InvalidInput},
		{"short", body(10), 20, azerr.InvalidInput},
		{"cut off", io.MultiReader(body(5), iotest.ErrReader(io.ErrUnexpectedEOF)), 10, azerr.InvalidInput},
	} {
		_, err := h.Receive(t.Context(), ref, catalog.Access{}, c.body, c.size, limit)
		wantFault(t, c.name, err, c.code)
	}
	broken := errors.New("the line is dead")
	if _, err := h.Receive(t.Context(), ref, catalog.Access{}, iotest.ErrReader(broken), -1, limit); !errors.Is(err, broken) {
		t.Errorf("Receive of a broken body = %v, want %v", err, broken)
	}
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	endless := readerFunc(func(p []byte) (int, error) { cancel(gone); return len(p), nil })
	if _, err := h.Receive(ctx, ref, catalog.Access{}, endless, 1<<30, 1<<30); !errors.Is(err, gone) {
		t.Errorf("Receive for nobody = %v, want %v", err, gone)
	}
	h.wantFiles(0)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// What would be refused anyhow is refused before a byte of much is read.
func TestReceiveLooksAhead(t *testing.T) {
	h, ref := desk(t)
	container := catalog.Ref{Account: ref.Account, Container: ref.Container}
	h.put(container, ref.Blob, "x")
	unread := iotest.ErrReader(errors.New("it was read"))
	receive := func(ref catalog.Ref, a catalog.Access) error {
		_, err := h.Receive(t.Context(), ref, a, unread, content.InlineLimit+1, 1<<30)
		return err
	}
	wantFault(t, "Receive for no container", receive(catalog.Ref{Account: "acct", Container: "none", Blob: "b"}, catalog.Access{}), azerr.ContainerNotFound)
	wantFault(t, "Receive to create", receive(ref, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}), azerr.BlobAlreadyExists)
	wantFault(t, "Receive for another version", receive(ref, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
	wantRefusal(t, "Receive with an id", receive(ref, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonNotPresent)
	h.lease(ref)
	wantRefusal(t, "Receive without the id", receive(ref, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}), leasehold.ReasonMissing)

	// Whether an append to a blob that exists may be conditional on there being
	// none is for the operation to say.
	log := ref
	log.Blob = "log"
	h.empty(log, catalog.Append, 0)
	u, err := h.Receive(t.Context(), log, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}, strings.NewReader("x"), 1, 1)
	if err != nil {
		t.Errorf("Receive for an append blob = %v", err)
	}
	u.Discard()
}
