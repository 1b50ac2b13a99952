package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/wire"
)

// What the strict decoder takes, the standard one takes too, and reads the
// same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"resource":"r","holder":"a","ttl_seconds":1.5e2,"metadata":{"a":"b"},"blocking":true,"priority":-3}`,
		`{"resource":"\ud83d\udd11\n\\","timeout_ms":null}`, `{"a":[{"b":"]}\""}]}`, `[]`, `{"metadata":{}}`, "{\"resource\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	decoder := NewBodyDecoder(reflect.TypeFor[wire.AcquireRequest]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, standard wire.AcquireRequest
		if CheckObject(data) != nil || decoder.Decode(data, reflect.ValueOf(&strict).Elem()) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&standard); err != nil {
			t.Fatalf("Decode(%q) = nil, but the standard decoder says %v", data, err)
		}
		if diff := cmp.Diff(standard, strict); diff != "" {
			t.Fatalf("Decode(%q) reads something else than the standard decoder: %s", data, diff)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("Decode(%q) accepted trailing garbage", data)
		}
	})
}
