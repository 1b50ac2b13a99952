package azureapi_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

func TestAppendBlob(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	log := d.appendBlob("log")
	made, err := log.Create(t.Context(), &appendblob.CreateOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}, Metadata: texts(map[string]string{"k": "v"}), Tags: map[string]string{"a": "b"},
	})
	if err != nil {
		t.Fatalf("Create = %v", err)
	}
	for i, text := range []string{"one", "two", "three"} {
		r, err := log.AppendBlock(t.Context(), bodyOf(text), nil)
		if err != nil {
			t.Fatalf("AppendBlock(%q) = %v", text, err)
		}
		if value(r.BlobCommittedBlockCount) != int32(i+1) || value(r.BlobAppendOffset) != []string{"0", "3", "6"}[i] || value(r.ETag) == value(made.ETag) {
			t.Errorf("AppendBlock(%q) = count %d at %s", text, value(r.BlobCommittedBlockCount), value(r.BlobAppendOffset))
		}
	}
	d.wantContent(d.blob("log"), "onetwothree")
	p := d.properties(d.blob("log"))
	if value(p.BlobType) != blob.BlobTypeAppendBlob || value(p.BlobCommittedBlockCount) != 3 || value(p.ContentType) != "text/plain" || value(p.IsSealed) || p.AccessTier != nil {
		t.Errorf("properties: %+v", p)
	}

	at := func(position, size int64) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position, MaxSize: &size}}
	}
	_, err = log.AppendBlock(t.Context(), bodyOf("x"), at(10, 100))
	wantCode(t, "AppendBlock elsewhere", err, "AppendPositionConditionNotMet")
	_, err = log.AppendBlock(t.Context(), bodyOf("x"), at(11, 11))
	wantCode(t, "AppendBlock beyond the size", err, "MaxBlobSizeConditionNotMet")
	_, err = log.AppendBlock(t.Context(), bodyOf("!"), at(11, 12))
	wantCode(t, "AppendBlock where it ends", err, "")
	_, err = log.AppendBlock(t.Context(), bodyOf(""), nil)
	wantCode(t, "AppendBlock of nothing", err, "InvalidHeaderValue")

	if _, err := log.Seal(t.Context(), nil); err != nil {
		t.Fatalf("Seal = %v", err)
	}
	_, err = log.AppendBlock(t.Context(), bodyOf("x"), nil)
	wantCode(t, "AppendBlock to a sealed blob", err, "BlobIsSealed")
	if p := d.properties(d.blob("log")); !value(p.IsSealed) {
		t.Error("a sealed blob does not say so")
	}
	d.wantContent(d.blob("log"), "onetwothree!")

	d.upload("block", "x", nil)
	_, err = d.appendBlob("block").AppendBlock(t.Context(), bodyOf("x"), nil)
	wantCode(t, "AppendBlock to a block blob", err, "InvalidBlobType")
	_, err = d.appendBlob("block").Seal(t.Context(), nil)
	wantCode(t, "Seal of a block blob", err, "InvalidBlobType")
	_, err = d.appendBlob("none").AppendBlock(t.Context(), bodyOf("x"), nil)
	wantCode(t, "AppendBlock to nothing", err, "BlobNotFound")
}
