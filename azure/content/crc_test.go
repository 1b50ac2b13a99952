package content

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"pgregory.net/rapid"
)

func TestCRCCheckValue(t *testing.T) {
	if got, want := UpdateCRC(0, []byte("123456789")), uint64(0xae8b14860a799888); got != want {
		t.Errorf("UpdateCRC(0, 123456789) = %#x, want CRC-64/NVME's %#x", got, want)
	}
}

// TestCRCOfParts: the same as the standard library's, however the bytes come.
func TestCRCOfParts(t *testing.T) {
	table := crc64.MakeTable(polynomial)
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "p")
		cut := rapid.IntRange(0, len(p)).Draw(t, "cut")
		got := UpdateCRC(UpdateCRC(0, p[:cut]), p[cut:])
		if want := crc64.Checksum(p, table); got != want {
			t.Errorf("UpdateCRC() of %x cut at %d = %#x, want %#x", p, cut, got, want)
		}
	})
}

// header is where the SDK puts the checksum that it sends with a body.
type header struct{ crc []byte }

func (h *header) SetCRC64(v []byte) { h.crc = v }
func (h *header) SetMD5([]byte)     {}

// TestCRCAsTheSDK: a body has the checksum that Azure's client sends with it.
func TestCRCAsTheSDK(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 4096, 100_000} {
		p := noise(1, size)
		var h header
		if _, err := blob.TransferValidationTypeComputeCRC64().Apply(streaming.NopCloser(bytes.NewReader(p)), &h); err != nil {
			t.Fatal(err)
		}
		if got, want := UpdateCRC(0, p), binary.LittleEndian.Uint64(h.crc); got != want {
			t.Errorf("UpdateCRC() of %d bytes = %#x, want the SDK's %#x", size, got, want)
		}
	}
}
