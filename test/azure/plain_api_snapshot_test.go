//go:build unix

package azuretest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// checkOrphans: the snapshots of a deleted blob stay readable at both APIs, and
// belong to a new blob of that name.
func checkOrphans(main *raw, s *server) {
	path := main.put("based", "old")
	first := main.send("PUT", path+"?comp=snapshot", "").want(http.StatusCreated, "").header.Get("X-Ms-Snapshot")
	second := main.send("PUT", path+"?comp=snapshot", "").want(http.StatusCreated, "").header.Get("X-Ms-Snapshot")
	azure := s.sdk(s.newTransport(1)).NewContainerClient("zure").NewBlockBlobClient("based")
	_, err := azure.Delete(main.Context(), nil)
	wantCode(main, "Delete() at the Azure Blob API", err, bloberror.SnapshotsPresent)
	main.send("DELETE", path, "").want(http.StatusAccepted, "")

	main.send("GET", path, "").want(http.StatusNotFound, "BlobNotFound")
	main.send("GET", path+"?snapshot="+first, "").wantBody("old")
	old, err := azure.WithSnapshot(first)
	if err != nil {
		main.Fatal(err)
	}
	if got, err := download(main.Context(), old); string(got) != "old" || err != nil {
		main.Errorf("the snapshot at the Azure Blob API is %q, %v; want %q", got, err, "old")
	}
	if got, want := main.listed("based"), []string{first, second}; !slices.Equal(got, want) {
		main.Errorf("the list has %q, want the snapshots %q", got, want)
	}
	main.send("DELETE", path+"?snapshot="+first, "").want(http.StatusAccepted, "")
	main.send("GET", path+"?snapshot="+first, "").want(http.StatusNotFound, "BlobNotFound")
	main.put("based", "new")
	if got, want := main.listed("based"), []string{"", second}; !slices.Equal(got, want) {
		main.Errorf("the list has %q, want the new base and the snapshot %q", got, want)
	}
	main.send("GET", path+"?snapshot="+second, "").wantBody("old")
	main.send("DELETE", path, "", "X-Ms-Delete-Snapshots", "include").want(http.StatusAccepted, "")
	if got := main.listed("based"); len(got) != 0 {
		main.Errorf("the list has %q after all were deleted", got)
	}
}

// listed returns the snapshots that the list has of blobs with a prefix, in its
// order; the blob itself is "".
func (r *raw) listed(prefix string) (found []string) {
	r.Helper()
	text := r.send("GET", plainPath+"?restype=container&comp=list&include=snapshots&prefix="+prefix, "").want(http.StatusOK, "").body
	for _, blob := range between(text, "<Blob>", "</Blob>") {
		found = append(found, strings.Join(between(blob, "<Snapshot>", "</Snapshot>"), ""))
	}
	return found
}

func checkBaseFirst(main *raw, s *server) {
	path := main.put("listed", "v1")
	want := []string{""}
	for range 3 {
		want = append(want, main.send("PUT", path+"?comp=snapshot", "").want(http.StatusCreated, "").header.Get("X-Ms-Snapshot"))
	}
	if got := main.listed("listed"); !slices.Equal(got, want) {
		main.Errorf("the list has %q, want the base first and then %q", got, want[1:])
	}
	var atAzure []string
	pages := s.sdk(s.newTransport(1)).NewContainerClient("zure").NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: to.Ptr("listed"), Include: container.ListBlobsInclude{Snapshots: true},
	})
	for pages.More() {
		page, err := pages.NextPage(main.Context())
		if err != nil {
			main.Fatal(err)
		}
		for _, item := range page.Segment.BlobItems {
			atAzure = append(atAzure, deref(item.Snapshot))
		}
	}
	if !slices.Equal(atAzure, append(want[1:], "")) {
		main.Errorf("the list of the Azure Blob API has %q, want the base last", atAzure)
	}
}

// checkSixDigits: a snapshot whose id ends in 0 can be named without it.
func checkSixDigits(main *raw, _ *server) {
	path := main.put("counted", "v1")
	for range 500 {
		id := main.send("PUT", path+"?comp=snapshot", "").want(http.StatusCreated, "").header.Get("X-Ms-Snapshot")
		if short, ok := strings.CutSuffix(id, "0Z"); ok {
			main.send("GET", path+"?snapshot="+short+"Z", "").wantBody("v1")
			return
		}
	}
	main.Errorf("of 500 snapshots none has an id that ends in 0")
}
