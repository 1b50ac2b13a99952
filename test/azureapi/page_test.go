package azureapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
)

// pages makes n pages of a letter.
func pages(letter string, n int) string { return strings.Repeat(letter, n*512) }

// writePages writes pages from a page on.
func (d driver) writePages(name string, from int64, text string, o *pageblob.UploadPagesOptions) error {
	_, err := d.page(name).UploadPages(d.Context(), streaming.NopCloser(strings.NewReader(text)), blob.HTTPRange{Offset: from * 512, Count: int64(len(text))}, o)
	return err
}

// ranges shows the ranges of a page blob: "+0-511" is written, "-0-511" cleared.
func (d driver) ranges(pages []*pageblob.PageRange, cleared []*pageblob.ClearRange) []string {
	var shown []string
	for _, r := range pages {
		shown = append(shown, fmt.Sprintf("+%d-%d", value(r.Start), value(r.End)))
	}
	for _, r := range cleared {
		shown = append(shown, fmt.Sprintf("-%d-%d", value(r.Start), value(r.End)))
	}
	return shown
}

func (d driver) pageRanges(name string, o *pageblob.GetPageRangesOptions) []string {
	d.Helper()
	r, err := d.page(name).NewGetPageRangesPager(o).NextPage(d.Context())
	if err != nil {
		d.Fatalf("GetPageRanges(%q) = %v", name, err)
	}
	return d.ranges(r.PageRange, r.ClearRange)
}

func TestPageBlob(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	disk := d.page("disk")
	if _, err := disk.Create(t.Context(), 4096, &pageblob.CreateOptions{SequenceNumber: to.Ptr(int64(7)), Tier: to.Ptr(pageblob.PremiumPageBlobAccessTierP10)}); err != nil {
		t.Fatalf("Create = %v", err)
	}
	d.wantContent(d.blob("disk"), pages("\x00", 8))
	wantCode(t, "UploadPages", d.writePages("disk", 1, pages("a", 2), nil), "")
	wantCode(t, "UploadPages", d.writePages("disk", 5, pages("b", 1), nil), "")
	d.wantContent(d.blob("disk"), pages("\x00", 1)+pages("a", 2)+pages("\x00", 2)+pages("b", 1)+pages("\x00", 2))
	wantSame(t, "page ranges", d.pageRanges("disk", nil), []string{"+512-1535", "+2560-3071"})
	within := &pageblob.GetPageRangesOptions{Range: blob.HTTPRange{Offset: 1024, Count: 1024}}
	wantSame(t, "page ranges within", d.pageRanges("disk", within), []string{"+1024-1535"})

	first := d.snapshot("disk")
	if _, err := disk.ClearPages(t.Context(), blob.HTTPRange{Offset: 512, Count: 512}, nil); err != nil {
		t.Fatalf("ClearPages = %v", err)
	}
	wantCode(t, "UploadPages", d.writePages("disk", 7, pages("c", 1), nil), "")
	diff, err := disk.NewGetPageRangesDiffPager(&pageblob.GetPageRangesDiffOptions{PrevSnapshot: &first}).NextPage(t.Context())
	if err != nil {
		t.Fatalf("GetPageRangesDiff = %v", err)
	}
	wantSame(t, "the difference", d.ranges(diff.PageRange, diff.ClearRange), []string{"+3584-4095", "-512-1023"})
	wantSame(t, "the snapshot's pages", d.pageRanges("disk", &pageblob.GetPageRangesOptions{Snapshot: &first}), []string{"+512-1535", "+2560-3071"})
	d.wantContent(d.at("disk", first), pages("\x00", 1)+pages("a", 2)+pages("\x00", 2)+pages("b", 1)+pages("\x00", 2))

	p := d.properties(d.blob("disk"))
	if value(p.BlobType) != blob.BlobTypePageBlob || value(p.BlobSequenceNumber) != 7 || value(p.AccessTier) != "P10" || value(p.ContentLength) != 4096 {
		t.Errorf("properties: %+v", p)
	}
}

// TestPageBlobProperties changes the size and the sequence number.
func TestPageBlobProperties(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	disk := d.page("disk")
	headers := &blob.HTTPHeaders{BlobContentType: to.Ptr("image/raw")}
	if _, err := disk.Create(t.Context(), 1024, &pageblob.CreateOptions{HTTPHeaders: headers}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "UploadPages", d.writePages("disk", 0, pages("a", 2), nil), "")
	resized, err := disk.Resize(t.Context(), 512, nil)
	wantCode(t, "Resize", err, "")
	_, err = disk.Resize(t.Context(), 1536, nil)
	wantCode(t, "Resize", err, "")
	d.wantContent(d.blob("disk"), pages("a", 1)+pages("\x00", 2))
	_, err = disk.Resize(t.Context(), 100, nil)
	wantCode(t, "Resize to an odd size", err, "InvalidHeaderValue")

	steps := []struct {
		action pageblob.SequenceNumberActionType
		number *int64
		code   string
		want   int64
	}{
		{pageblob.SequenceNumberActionTypeUpdate, to.Ptr(int64(5)), "", 5},
		{pageblob.SequenceNumberActionTypeMax, to.Ptr(int64(3)), "", 5},
		{pageblob.SequenceNumberActionTypeMax, to.Ptr(int64(9)), "", 9},
		{pageblob.SequenceNumberActionTypeIncrement, nil, "", 10},
		{pageblob.SequenceNumberActionTypeUpdate, nil, "MissingRequiredHeader", 10},
		{"shuffle", to.Ptr(int64(1)), "InvalidHeaderValue", 10},
	}
	for _, s := range steps {
		r, err := disk.UpdateSequenceNumber(t.Context(), &pageblob.UpdateSequenceNumberOptions{ActionType: &s.action, SequenceNumber: s.number})
		wantCode(t, string(s.action), err, s.code)
		if err == nil && (value(r.BlobSequenceNumber) != s.want || value(r.ETag) == value(resized.ETag)) {
			t.Errorf("%s %d = %d, want %d", s.action, value(s.number), value(r.BlobSequenceNumber), s.want)
		}
	}
	p := d.properties(d.blob("disk"))
	if value(p.BlobSequenceNumber) != 10 || value(p.ContentType) != "image/raw" {
		t.Errorf("number %d, type %s: want 10 and the type from before", value(p.BlobSequenceNumber), value(p.ContentType))
	}
	r := d.signed("PUT", d.path("disk")+"?comp=properties", "", "x-ms-blob-content-length", "512", "x-ms-blob-content-type", "x/y")
	wantReply(t, "size and type at once", r, 501, "NotImplemented")
	r = d.signed("PUT", d.path("disk")+"?comp=properties", "", "x-ms-blob-sequence-number", "11")
	wantReply(t, "a number without an action", r, 400, "MissingRequiredHeader")
	r = d.signed("PUT", d.path("disk")+"?comp=properties", "", "x-ms-sequence-number-action", "increment", "x-ms-blob-content-type", "x/y")
	wantReply(t, "number and type at once", r, 200, "")
	p = d.properties(d.blob("disk"))
	if value(p.BlobSequenceNumber) != 11 || value(p.ContentType) != "x/y" || value(p.ContentLength) != 1536 {
		t.Errorf("number %d, type %s, size %d: want 11, x/y, 1536", value(p.BlobSequenceNumber), value(p.ContentType), value(p.ContentLength))
	}

	is := func(le, lt, eq *int64) *pageblob.UploadPagesOptions {
		return &pageblob.UploadPagesOptions{SequenceNumberAccessConditions: &pageblob.SequenceNumberAccessConditions{
			IfSequenceNumberLessThanOrEqualTo: le, IfSequenceNumberLessThan: lt, IfSequenceNumberEqualTo: eq,
		}}
	}
	eleven, ten := to.Ptr(int64(11)), to.Ptr(int64(10))
	for _, o := range []*pageblob.UploadPagesOptions{is(ten, nil, nil), is(nil, eleven, nil), is(nil, nil, ten)} {
		wantCode(t, "UploadPages", d.writePages("disk", 0, pages("x", 1), o), "SequenceNumberConditionNotMet")
	}
	wantCode(t, "UploadPages", d.writePages("disk", 0, pages("y", 1), is(eleven, to.Ptr(int64(12)), eleven)), "")
	d.wantContent(d.blob("disk"), pages("y", 1)+pages("\x00", 2))
}

func TestPageRefusals(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	if _, err := d.page("disk").Create(t.Context(), 1024, nil); err != nil {
		t.Fatal(err)
	}
	d.upload("block", pages("x", 1), nil)
	tests := []struct {
		name, blob, write, span, body string
		status                        int
		code                          string
	}{
		{"no range", "disk", "update", "", pages("x", 1), 400, "MissingRequiredHeader"},
		{"an open range", "disk", "update", "bytes=0-", pages("x", 2), 400, "InvalidHeaderValue"},
		{"half a page", "disk", "update", "bytes=0-255", pages("x", 1)[:256], 416, "InvalidPageRange"},
		{"between pages", "disk", "update", "bytes=256-767", pages("x", 1), 416, "InvalidPageRange"},
		{"beyond the end", "disk", "update", "bytes=1024-1535", pages("x", 1), 416, "InvalidPageRange"},
		{"across the end", "disk", "update", "bytes=512-1535", pages("x", 2), 416, "InvalidPageRange"},
		{"another size", "disk", "update", "bytes=0-511", pages("x", 2), 400, "InvalidHeaderValue"},
		{"the largest range", "disk", "clear", "bytes=0-9223372036854775807", "", 416, "InvalidPageRange"},
		{"clearing with a body", "disk", "clear", "bytes=0-511", pages("x", 1), 400, "InvalidHeaderValue"},
		{"another verb", "disk", "paint", "bytes=0-511", pages("x", 1), 400, "InvalidHeaderValue"},
		{"a block blob", "block", "update", "bytes=0-511", pages("x", 1), 409, "InvalidBlobType"},
		{"no blob", "none", "update", "bytes=0-511", pages("x", 1), 404, "BlobNotFound"},
		{"too much", "disk", "update", fmt.Sprintf("bytes=0-%d", 4<<20+511), "", 400, "InvalidHeaderValue"},
	}
	for _, tt := range tests {
		wantReply(t, tt.name, d.signed("PUT", d.path(tt.blob)+"?comp=page", tt.body, "x-ms-page-write", tt.write, "x-ms-range", tt.span), tt.status, tt.code)
	}
	d.wantContent(d.blob("disk"), pages("\x00", 2))
	for query, code := range map[string]string{
		"marker=x": "InvalidQueryParameterValue", "prevsnapshot=yesterday": "InvalidQueryParameterValue",
		"prevsnapshot=2020-01-01T00:00:00.0000000Z": "PreviousSnapshotNotFound",
	} {
		if r := d.signed("GET", d.path("disk")+"?comp=pagelist&"+query, ""); r.code() != code {
			t.Errorf("pagelist with %s = %d %s, want %s", query, r.status, r.code(), code)
		}
	}
	wantReply(t, "pages of a block blob", d.signed("GET", d.path("block")+"?comp=pagelist", ""), 409, "InvalidBlobType")
	wantReply(t, "pages since a snapshot's URL", d.signed("GET", d.path("disk")+"?comp=pagelist", "", "x-ms-previous-snapshot-url", "http://x"), 501, "NotImplemented")
}
