package azureapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"
)

func TestContainer(t *testing.T) {
	d := newDeployment(t)
	client := d.service().NewContainerClient("box")
	_, err := client.GetProperties(t.Context(), nil)
	wantCode(t, "GetProperties before it is there", err, "ContainerNotFound")
	made, err := client.Create(t.Context(), &container.CreateOptions{Access: to.Ptr(container.PublicAccessTypeBlob), Metadata: map[string]*string{"color": to.Ptr("red"), "_a1": to.Ptr("")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Create(t.Context(), nil)
	wantCode(t, "Create again", err, "ContainerAlreadyExists")
	p, err := client.GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *p.ETag != *made.ETag || !p.LastModified.Equal(*made.LastModified) || *p.BlobPublicAccess != "blob" || *p.LeaseState != "available" || *p.LeaseStatus != "unlocked" || *p.HasLegalHold {
		t.Errorf("GetProperties = %+v", p)
	}
	if diff := cmp.Diff(map[string]string{"Color": "red", "_a1": ""}, plain(p.Metadata)); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	set, err := client.SetMetadata(t.Context(), &container.SetMetadataOptions{Metadata: map[string]*string{"shape": to.Ptr("round")}})
	if err != nil || *set.ETag == *made.ETag {
		t.Errorf("SetMetadata = %v, %v, want a new ETag", value(set.ETag), err)
	}
	if p, _ := client.GetProperties(t.Context(), nil); len(p.Metadata) != 1 || value(p.BlobPublicAccess) != "blob" {
		t.Errorf("after SetMetadata: %+v, want the new metadata and the old access", p)
	}
	head := d.signed("HEAD", "/"+testAccount+"/box?restype=container&comp=metadata", "")
	if head.status != 200 || head.header.Get("x-ms-meta-shape") != "round" {
		t.Errorf("Get Container Metadata = %d, %v", head.status, head.header)
	}
	_, err = client.SetMetadata(t.Context(), &container.SetMetadataOptions{ModifiedAccessConditions: &container.ModifiedAccessConditions{IfModifiedSince: to.Ptr(time.Now().Add(time.Hour))}})
	wantCode(t, "SetMetadata if modified in the future", err, "ConditionNotMet")
	_, err = client.Delete(t.Context(), &container.DeleteOptions{AccessConditions: &container.AccessConditions{ModifiedAccessConditions: &container.ModifiedAccessConditions{IfUnmodifiedSince: to.Ptr(time.Now().Add(-time.Hour))}}})
	wantCode(t, "Delete if not modified for an hour", err, "ConditionNotMet")
	_, err = client.Delete(t.Context(), nil)
	wantCode(t, "Delete", err, "")
	_, err = client.Delete(t.Context(), nil)
	wantCode(t, "Delete again", err, "ContainerNotFound")
	_, err = client.Create(t.Context(), nil)
	wantCode(t, "Create anew", err, "")
}

func plain(m map[string]*string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = value(v)
	}
	return out
}

func TestContainerACL(t *testing.T) {
	d := newDeployment(t)
	client := d.container("box")
	start, expiry := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []*container.SignedIdentifier{
		{ID: to.Ptr("first & <best>"), AccessPolicy: &container.AccessPolicy{Start: &start, Expiry: &expiry, Permission: to.Ptr("racwdl")}},
		{ID: to.Ptr("second"), AccessPolicy: &container.AccessPolicy{Expiry: &expiry}},
	}
	_, err := client.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{Access: to.Ptr(container.PublicAccessTypeContainer), ContainerACL: want})
	wantCode(t, "SetAccessPolicy", err, "")
	got, err := client.GetAccessPolicy(t.Context(), nil)
	if err != nil || *got.BlobPublicAccess != "container" {
		t.Fatalf("GetAccessPolicy = %+v, %v", got, err)
	}
	if diff := cmp.Diff(want, got.SignedIdentifiers); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	var many []*container.SignedIdentifier
	for i := range 6 {
		many = append(many, &container.SignedIdentifier{ID: to.Ptr(fmt.Sprint(i)), AccessPolicy: &container.AccessPolicy{}})
	}
	_, err = client.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{ContainerACL: many})
	wantCode(t, "SetAccessPolicy with six", err, "InvalidXmlDocument")
	one := func(id, start, permission string) string {
		return fmt.Sprintf("<SignedIdentifier><Id>%s</Id><AccessPolicy><Start>%s</Start><Permission>%s</Permission></AccessPolicy></SignedIdentifier>", id, start, permission)
	}
	for body, want := range map[string]string{
		one("a", "", "r") + one("a", "", "r"):   "InvalidXmlDocument",
		one("", "", "r"):                        "InvalidXmlDocument",
		one(strings.Repeat("x", 65), "", "r"):   "InvalidXmlDocument",
		one("a", "soon", "r"):                   "InvalidXmlNodeValue",
		one("a", "2026-01-02T03:04Z", "r"):      "",
		one("a", "", "R!"):                      "InvalidXmlNodeValue",
		"<SignedIdentifier>":                    "InvalidXmlDocument",
		"</SignedIdentifiers><More/>":           "InvalidXmlDocument",
		"&secret;":                              "InvalidXmlDocument",
		strings.Repeat("<a>", 40):               "InvalidXmlDocument",
		one("a", "", "r") + "<!DOCTYPE a []>":   "InvalidXmlDocument",
		"\x00":                                  "InvalidXmlDocument",
		strings.Repeat(" ", 5<<20):              "RequestBodyTooLarge",
		one("\xff\xfe", "2026-01-02", "racwdl"): "InvalidXmlDocument",
	} {
		r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl", "<SignedIdentifiers>"+body+"</SignedIdentifiers>")
		if got := r.code(); got != want {
			t.Errorf("Set Container ACL %.80q = %d %s, want %s", body, r.status, got, want)
		}
	}
	if r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl", "", "x-ms-blob-public-access", "world"); r.code() != "InvalidHeaderValue" {
		t.Errorf("public access for the world = %d %s", r.status, r.code())
	}
	_, err = client.SetAccessPolicy(t.Context(), nil)
	wantCode(t, "SetAccessPolicy of nothing", err, "")
	if got, err := client.GetAccessPolicy(t.Context(), nil); err != nil || len(got.SignedIdentifiers) != 0 || got.BlobPublicAccess != nil {
		t.Errorf("GetAccessPolicy = %+v, %v, want nothing", got, err)
	}
}

func TestMetadataRefusals(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	for name, test := range map[string]struct {
		header, value, want string
	}{
		"fine":      {"x-ms-meta-fine", "value", ""},
		"unicode":   {"x-ms-meta-snow", "☃", ""},
		"dash":      {"x-ms-meta-a-b", "value", "InvalidMetadata"},
		"digit":     {"x-ms-meta-1a", "value", "InvalidMetadata"},
		"empty":     {"x-ms-meta-", "value", "EmptyMetadataKey"},
		"too large": {"x-ms-meta-a", strings.Repeat("x", 8<<10), "MetadataTooLarge"},
		"as large":  {"x-ms-meta-a", strings.Repeat("x", 8<<10-1), ""},
		"no UTF-8":  {"x-ms-meta-a", "\xff\xfe", "InvalidMetadata"},
	} {
		r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=metadata", "", test.header, test.value)
		if got := r.code(); got != test.want {
			t.Errorf("%s = %d %s, want %s", name, r.status, got, test.want)
		}
	}
	d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=metadata", "", "x-ms-meta-A", "1", "x-ms-meta-a", "2")
	if r := d.signed("GET", "/"+testAccount+"/box?restype=container", ""); r.header.Get("x-ms-meta-a") != "1,2" {
		t.Errorf("the same name twice = %q, want both values", r.header.Get("x-ms-meta-a"))
	}
}
