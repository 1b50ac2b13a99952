package azureapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/go-cmp/cmp"

	"net/http"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

func TestListContainers(t *testing.T) {
	d := newDeployment(t)
	client := d.service()
	for i := range 7 {
		if _, err := client.CreateContainer(t.Context(), fmt.Sprintf("box-%d", i), &service.CreateContainerOptions{Metadata: map[string]*string{"Number": to.Ptr(fmt.Sprint(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	d.ensure("another")
	sdkLeaseOf(d, "box-3").try("acquire A for ever")
	var names []string
	pager := client.NewListContainersPager(&service.ListContainersOptions{Prefix: to.Ptr("box-"), MaxResults: to.Ptr(int32(3)), Include: service.ListContainersInclude{Metadata: true, Deleted: true}})
	for pages := 0; pager.More(); pages++ {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.ContainerItems {
			names = append(names, *c.Name)
			if n := value(c.Metadata["number"]); "box-"+n != *c.Name {
				t.Errorf("%s has the metadata %q", *c.Name, n)
			}
			state, duration := "available", ""
			if *c.Name == "box-3" {
				state, duration = "leased", "infinite"
			}
			if p := c.Properties; string(*p.LeaseState) != state || string(value(p.LeaseDuration)) != duration || p.LastModified.IsZero() || value(p.ETag) == "" {
				t.Errorf("%s has the properties %+v", *c.Name, p)
			}
		}
		if pages > 3 {
			t.Fatal("the list has no end")
		}
	}
	if diff := cmp.Diff(strings.Fields("box-0 box-1 box-2 box-3 box-4 box-5 box-6"), names); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

func sdkLeaseOf(d *deployment, container string) leased {
	return &rawLease{d, testRef(container, ""), "/" + testAccount + "/" + container + "?restype=container&comp=lease", d.signed}
}

func TestServiceProperties(t *testing.T) {
	d := newDeployment(t)
	client := d.service()
	get := func() service.GetPropertiesResponse {
		t.Helper()
		p, err := client.GetProperties(t.Context(), nil)
		if err != nil {
			t.Fatalf("GetProperties = %v", err)
		}
		return p
	}
	set := func(o service.SetPropertiesOptions, want string) {
		t.Helper()
		_, err := client.SetProperties(t.Context(), &o)
		wantCode(t, "SetProperties", err, want)
	}
	if p := get(); len(p.CORS) != 0 || *p.HourMetrics.Enabled || *p.DeleteRetentionPolicy.Enabled || *p.StaticWebsite.Enabled {
		t.Errorf("the properties of a new account are %+v", p)
	}
	rule := &service.CORSRule{AllowedOrigins: to.Ptr("https://a.example,https://*.b.example"), AllowedMethods: to.Ptr("GET,PUT"), AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-*"), MaxAgeInSeconds: to.Ptr(int32(77))}
	set(service.SetPropertiesOptions{CORS: []*service.CORSRule{rule}, DefaultServiceVersion: to.Ptr("2020-02-10")}, "")
	set(service.SetPropertiesOptions{StaticWebsite: &service.StaticWebsite{Enabled: to.Ptr(true), IndexDocument: to.Ptr("index.html")}}, "")
	set(service.SetPropertiesOptions{HourMetrics: &service.Metrics{Enabled: to.Ptr(true), Version: to.Ptr("1.0"), IncludeAPIs: to.Ptr(true), RetentionPolicy: &service.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(3))}}}, "")
	p := get()
	if diff := cmp.Diff([]*service.CORSRule{rule}, p.CORS); diff != "" {
		t.Errorf("CORS (-want +got):\n%s", diff)
	}
	if *p.DefaultServiceVersion != "2020-02-10" || !*p.StaticWebsite.Enabled || *p.StaticWebsite.IndexDocument != "index.html" || *p.HourMetrics.RetentionPolicy.Days != 3 || !*p.HourMetrics.IncludeAPIs {
		t.Errorf("what was set before is gone: %+v", p)
	}
	set(service.SetPropertiesOptions{DeleteRetentionPolicy: &service.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(3))}}, "NotImplemented")
	set(service.SetPropertiesOptions{CORS: []*service.CORSRule{rule, rule, rule, rule, rule, rule}}, "InvalidXmlDocument")
	set(service.SetPropertiesOptions{CORS: []*service.CORSRule{{AllowedOrigins: to.Ptr("*"), AllowedMethods: to.Ptr("STEAL"), AllowedHeaders: to.Ptr(""), ExposedHeaders: to.Ptr(""), MaxAgeInSeconds: to.Ptr(int32(0))}}}, "InvalidXmlNodeValue")
	if p := get(); len(p.CORS) != 1 {
		t.Errorf("after refusals there are %d rules, want 1", len(p.CORS))
	}
	set(service.SetPropertiesOptions{CORS: []*service.CORSRule{}}, "")
	if r := d.signed("PUT", "/"+testAccount+"?restype=service&comp=properties", "<StorageServiceProperties><Cors/></StorageServiceProperties>"); r.status != 202 {
		t.Errorf("an empty list of rules = %d, want 202", r.status)
	}
	if p := get(); len(p.CORS) != 0 || !*p.StaticWebsite.Enabled {
		t.Errorf("an empty list of rules left %d, want none, and the rest as it was", len(p.CORS))
	}
}

// TestServicePropertiesAtOnce: two that change different things both win.
func TestServicePropertiesAtOnce(t *testing.T) {
	d := newDeployment(t)
	var group sync.WaitGroup
	for _, body := range []string{"<StaticWebsite><Enabled>true</Enabled></StaticWebsite>", "<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>", "<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled></MinuteMetrics>"} {
		group.Go(func() {
			d.signed("PUT", "/"+testAccount+"?restype=service&comp=properties", "<StorageServiceProperties>"+body+"</StorageServiceProperties>")
		})
	}
	group.Wait()
	p, err := d.service().GetProperties(t.Context(), nil)
	if err != nil || !*p.StaticWebsite.Enabled || value(p.DefaultServiceVersion) != "2021-12-02" || !*p.MinuteMetrics.Enabled {
		t.Errorf("GetProperties = %+v, %v, want all three changes", p, err)
	}
}

func TestCORS(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	rules := `<StorageServiceProperties><Cors>
		<CorsRule><AllowedOrigins>https://a.example, https://*.b.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-ms-*,content-type</AllowedHeaders><ExposedHeaders>x-ms-request-id</ExposedHeaders><MaxAgeInSeconds>77</MaxAgeInSeconds></CorsRule>
		<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>HEAD</AllowedMethods><AllowedHeaders/><ExposedHeaders/><MaxAgeInSeconds>0</MaxAgeInSeconds></CorsRule>
		</Cors></StorageServiceProperties>`
	if r := d.signed("PUT", "/"+testAccount+"?restype=service&comp=properties", rules); r.status != 202 {
		t.Fatalf("Set Blob Service Properties = %d: %s", r.status, r.body)
	}
	const method, headers = "Access-Control-Request-Method", "Access-Control-Request-Headers"
	for _, test := range []struct {
		headers []string
		status  int
		origin  string
	}{
		{[]string{"Origin", "https://a.example", method, "PUT", headers, "x-ms-lease-id, Content-Type"}, 200, "https://a.example"},
		{[]string{"Origin", "https://x.b.example", method, "GET"}, 200, "https://x.b.example"},
		{[]string{"Origin", "https://anybody.example", method, "HEAD"}, 200, "*"},
		{[]string{"Origin", "https://b.example", method, "GET"}, 403, ""},
		{[]string{"Origin", "https://a.example", method, "DELETE"}, 403, ""},
		{[]string{"Origin", "https://a.example", method, "PUT", headers, "authorization"}, 403, ""},
		{[]string{"Origin", "https://a.example"}, 400, ""},
		{[]string{method, "GET"}, 400, ""},
	} {
		r := d.send("OPTIONS", "/"+testAccount+"/box/a", "", test.headers...)
		if got := r.header.Get("Access-Control-Allow-Origin"); r.status != test.status || got != test.origin {
			t.Errorf("preflight %q = %d for %q, want %d for %q", test.headers, r.status, got, test.status, test.origin)
		}
	}
	// Pages may read refusals too, or nobody would know why.
	for _, signed := range []func(method, path, body string, headers ...string) reply{d.send, d.signed} {
		r := signed("GET", "/"+testAccount+"/box?restype=container&comp=acl", "", "Origin", "https://a.example")
		if r.header.Get("Access-Control-Allow-Origin") != "https://a.example" || r.header.Get("Access-Control-Expose-Headers") != "x-ms-request-id" || r.header.Get("Vary") != "Origin" {
			t.Errorf("a request of the page = %d, %v", r.status, r.header)
		}
		if r := signed("GET", "/"+testAccount+"/box?restype=container", "", "Origin", "https://evil.example"); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("a foreign page is let in")
		}
	}
}

func TestStatsAndAccount(t *testing.T) {
	d := newDeployment(t)
	stats, err := d.serviceOf(testHost+"/"+testAccount+"-secondary/", testAccount, sign.Development().Keys[0]).GetStatistics(t.Context(), nil)
	if err != nil || *stats.GeoReplication.Status != "live" || stats.GeoReplication.LastSyncTime.IsZero() {
		t.Errorf("GetStatistics = %+v, %v", stats, err)
	}
	client := d.service()
	_, err = client.GetStatistics(t.Context(), nil)
	wantCode(t, "GetStatistics of the primary", err, "InvalidQueryParameterValue")
	info, err := client.GetAccountInfo(t.Context(), nil)
	if err != nil || *info.AccountKind != "StorageV2" {
		t.Errorf("GetAccountInfo = %+v, %v", info, err)
	}
	if _, err := client.NewContainerClient("box").GetAccountInfo(t.Context(), nil); err != nil {
		t.Errorf("GetAccountInfo of a container = %v", err)
	}
	if _, err := client.NewContainerClient("box").NewBlobClient("a").GetAccountInfo(t.Context(), nil); err != nil {
		t.Errorf("GetAccountInfo of a blob = %v", err)
	}
}

func TestFindBlobs(t *testing.T) {
	d := newDeployment(t)
	for _, box := range []string{"box", "other"} {
		d.ensure(box)
		for i := range 5 {
			tags := map[string]string{"number": fmt.Sprint(i), "color": "red"}
			ref := testRef(box, fmt.Sprintf("blob <%d>", i))
			if _, err := d.catalog.PutBlob(t.Context(), ref, catalog.New{Tags: tags}, d.catalog.Accept(nil), catalog.Access{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	client := d.service()
	found, err := client.FilterBlobs(t.Context(), `"color"='red' AND "number">='3'`, nil)
	if err != nil || len(found.Blobs) != 4 {
		t.Fatalf("FilterBlobs = %d blobs, %v, want 4", len(found.Blobs), err)
	}
	if b := found.Blobs[0]; *b.ContainerName != "box" || !strings.HasPrefix(*b.Name, "blob <") || len(b.Tags.BlobTagSet) != 2 {
		t.Errorf("FilterBlobs found %+v", b)
	}
	inBox, err := client.NewContainerClient("other").FilterBlobs(t.Context(), `"number"='3'`, nil)
	if err != nil || len(inBox.Blobs) != 1 || *inBox.Blobs[0].ContainerName != "other" {
		t.Errorf("FilterBlobs in a container = %+v, %v", inBox, err)
	}
	names, marker := map[string]bool{}, (*string)(nil)
	for pages := 0; ; pages++ {
		page, err := client.FilterBlobs(t.Context(), `"color"='red'`, &service.FilterBlobsOptions{MaxResults: to.Ptr(int32(3)), Marker: marker})
		if err != nil || len(page.Blobs) > 3 || pages > 5 {
			t.Fatalf("FilterBlobs = %d blobs, %v", len(page.Blobs), err)
		}
		for _, b := range page.Blobs {
			names[*b.ContainerName+"/"+*b.Name] = true
		}
		if marker = page.NextMarker; value(marker) == "" {
			break
		}
	}
	if len(names) != 10 {
		t.Errorf("page by page there are %d blobs, want 10", len(names))
	}
	_, err = client.FilterBlobs(t.Context(), `color is red`, nil)
	if statusOf(err) != 400 {
		t.Errorf("FilterBlobs with nonsense = %v, want 400", err)
	}
}

// TestReset deletes what one account has, leased or not, and no other's; on the
// main port only an operator can.
func TestReset(t *testing.T) {
	d := newDeployment(t)
	for _, account := range []string{testAccount, "otheraccount"} {
		ref := catalog.Ref{Account: account, Container: "box"}
		if _, err := d.catalog.CreateContainer(t.Context(), ref, catalog.ContainerDetails{}); err != nil {
			t.Fatal(err)
		}
		lease := catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite}
		if _, err := d.catalog.Lease(t.Context(), ref, lease); err != nil {
			t.Fatal(err)
		}
	}
	reset := func() *http.Response {
		t.Helper()
		r, err := http.NewRequest("DELETE", testHost+"/blob/"+testAccount+"?restype=service&comp=reset", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := d.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	d.caller = auth.Caller{Name: "ci", Roles: []auth.Role{auth.RoleReader, auth.RoleHolder}}
	if got := reset(); got.Header.Get("X-Ms-Error-Code") != azerr.AuthorizationFailure {
		t.Errorf("reset by a holder = %s, want %s", got.Status, azerr.AuthorizationFailure)
	}
	d.caller = auth.Caller{Name: "root", Roles: []auth.Role{auth.RoleOperator}}
	if got := reset(); got.StatusCode != http.StatusAccepted {
		t.Errorf("reset by an operator = %s, want 202", got.Status)
	}
	for account, there := range map[string]bool{testAccount: false, "otheraccount": true} {
		_, err := d.catalog.Container(t.Context(), catalog.Ref{Account: account, Container: "box"}, catalog.Access{})
		if (err == nil) != there {
			t.Errorf("Container of %s after the reset: %v, want it there: %v", account, err, there)
		}
	}
}
