package sign

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/azure/azerr"
)

var (
	loopback = netip.MustParseAddr("127.0.0.1")
	readOnly = sas.BlobPermissions{Read: true}
)

// request is what a grant is shown with; the zero value reads a blob at noon.
type request struct {
	target Target
	need   Need
	now    time.Time
	from   netip.Addr
	plain  bool // HTTP
	policy *Policy
}

func (r request) verify(t testing.TB, account Account, query url.Values) error {
	t.Helper()
	grant, found, err := Parse(query)
	if !found {
		t.Fatalf("Parse(%v) found no SAS", query)
	}
	if err != nil {
		return err
	}
	if r.now.IsZero() {
		r.now = noon
	}
	if !r.from.IsValid() {
		r.from = loopback
	}
	if r.need.Permissions == "" {
		r.need = Need{Service: 'b', ResourceType: 'o', Permissions: "r"}
	}
	return grant.Verify(account, r.target, r.need, r.now, r.from, !r.plain, r.policy)
}

// query is what the SDK puts into the URL.
func query(t testing.TB, p sas.QueryParameters, err error) url.Values {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	values, err := url.ParseQuery(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	values.Del("snapshot") // addresses the blob, and is no part of the grant
	return values
}

func randomService(s source) (sas.BlobSignatureValues, request) {
	v := sas.BlobSignatureValues{
		ContainerName: s.pick("c", "$root", "some-container"),
		Permissions:   "racwd",
		ExpiryTime:    noon.Add(time.Hour),
		CacheControl:  s.pick("", "no-store"), ContentDisposition: s.pick("", `attachment; filename="ä b.txt"`),
		ContentEncoding: s.pick("", "gzip"), ContentLanguage: s.pick("", "de, en"), ContentType: s.pick("", "text/plain; charset=utf-8"),
		EncryptionScope: s.pick("", "", "scope"),
		Protocol:        sas.Protocol(s.pick("", "https", "https,http")),
		Version:         s.pick("", "2020-12-06", "2024-11-04", "2031-01-01"),
	}
	r := request{target: Target{Container: v.ContainerName, Blob: s.name(8)}}
	if s.IntN(2) == 0 {
		v.StartTime = noon.Add(-time.Hour)
	}
	if s.IntN(2) == 0 {
		v.IPRange = sas.IPRange{Start: net.ParseIP("127.0.0.0"), End: net.ParseIP("127.0.0.9")}
	}
	switch s.IntN(3) {
	case 0:
		v.BlobName = r.target.Blob
	case 1:
		v.BlobName = r.target.Blob
		v.SnapshotTime = noon.Add(-time.Minute + 100)
		r.target.Snapshot = "2026-03-01T11:59:00.0000001Z"
	}
	return v, r
}

func TestSDKServiceSAS(t *testing.T) {
	account, credential := two(t)
	s := newSource(11)
	for range 400 {
		v, r := randomService(s)
		p, err := v.SignWithSharedKey(credential)
		values := query(t, p, err)
		if err := r.verify(t, account, values); err != nil {
			t.Fatalf("Verify(%+v, %+v) = %v, want success", r.target, v, err)
		}
		for name := range values {
			changed := changedValue(values, name)
			if err := r.verify(t, account, changed); codeOf(err) != azerr.AuthenticationFailed {
				t.Errorf("Verify with another %s than in %+v = %v, want AuthenticationFailed", name, v, err)
			}
			if absent := without(values, name); name != "sig" {
				if err := r.verify(t, account, absent); codeOf(err) != azerr.AuthenticationFailed {
					t.Errorf("Verify without the %s of %+v = %v, want AuthenticationFailed", name, v, err)
				}
			}
		}
		for _, other := range elsewhere(v, r.target) {
			moved := r
			moved.target = other
			if err := moved.verify(t, account, values); codeOf(err) != azerr.AuthenticationFailed {
				t.Errorf("Verify(%+v) with the grant for %+v = %v, want AuthenticationFailed", other, v, err)
			}
		}
	}
}

// elsewhere are targets that the grant does not cover.
func elsewhere(v sas.BlobSignatureValues, target Target) []Target {
	all := []Target{{Container: target.Container + "x", Blob: target.Blob}}
	if v.BlobName != "" {
		all = append(all, Target{Container: target.Container, Blob: target.Blob + "x", Snapshot: target.Snapshot}, Target{Container: target.Container})
		if turned := strings.ReplaceAll(target.Blob, "/", `\`); turned != target.Blob {
			all = append(all, Target{Container: target.Container, Blob: turned, Snapshot: target.Snapshot})
		}
	}
	if !v.SnapshotTime.IsZero() {
		all = append(all, Target{Container: target.Container, Blob: target.Blob},
			Target{Container: target.Container, Blob: target.Blob, Snapshot: "2026-03-01T11:59:00.0000002Z"})
	}
	return all
}

// changedValue is the query with another, still well-formed value.
func changedValue(values url.Values, name string) url.Values {
	others := map[string]string{
		"sv": "2022-11-02", "sr": "c", "srt": "s", "ss": "bq", "sp": "rl",
		"st": "2026-03-01T10:00:00Z", "se": "2026-03-02T00:00:00Z",
		"sip": "127.0.0.1", "spr": "https",
	}
	changed := without(values, name)
	value := others[name]
	if value == "" || value == values.Get(name) {
		switch name {
		case "sr":
			value = "b"
		case "spr":
			value = "https,http"
		default:
			value = values.Get(name) + "x"
		}
	}
	changed.Set(name, value)
	return changed
}

func without(values url.Values, name string) url.Values {
	rest := url.Values{}
	for other, value := range values {
		if other != name {
			rest[other] = value
		}
	}
	return rest
}

func TestSDKAccountSAS(t *testing.T) {
	account, credential := two(t)
	s := newSource(12)
	for range 200 {
		v := sas.AccountSignatureValues{
			Permissions: "rwdl", ResourceTypes: s.pick("sco", "o", "co"), ExpiryTime: noon.Add(time.Hour),
			EncryptionScope: s.pick("", "", "scope"), Protocol: sas.Protocol(s.pick("", "https", "https,http")),
			Version: s.pick("", "2020-12-06", "2024-11-04"),
		}
		if s.IntN(2) == 0 {
			v.StartTime = noon.Add(-time.Hour)
		}
		if s.IntN(2) == 0 {
			v.IPRange = sas.IPRange{Start: net.ParseIP("127.0.0.1")}
		}
		p, err := v.SignWithSharedKey(credential)
		values := query(t, p, err)
		r := request{target: Target{Container: "c", Blob: s.name(5)}}
		if err := r.verify(t, account, values); err != nil {
			t.Fatalf("Verify(%+v) = %v, want success", v, err)
		}
		for name := range values {
			if err := r.verify(t, account, changedValue(values, name)); codeOf(err) != azerr.AuthenticationFailed {
				t.Errorf("Verify with another %s than in %+v = %v, want AuthenticationFailed", name, v, err)
			}
		}
		other := account
		other.Name = "leasehold3"
		if err := r.verify(t, other, values); codeOf(err) != azerr.AuthenticationFailed {
			t.Errorf("Verify(%+v) for another account of the same key = %v, want AuthenticationFailed", v, err)
		}
	}
}

func TestChangedSAS(t *testing.T) {
	account, credential := two(t)
	p, err := sas.BlobSignatureValues{ContainerName: "c", BlobName: "b", Permissions: "r", ExpiryTime: noon.Add(time.Hour)}.SignWithSharedKey(credential)
	values := query(t, p, err)
	signature := values.Get("sig")
	r := request{target: Target{Container: "c", Blob: "b"}}
	for _, changed := range changes(signature) {
		values.Set("sig", changed)
		err := r.verify(t, account, values)
		refused(t, changed, err, azerr.AuthenticationFailed)
		if strings.Contains(err.Error(), signature[:8]) {
			t.Fatalf("the refusal shows the signature: %v", err)
		}
	}
}

// A name with a backslash is opened by a grant that signs the backslash as it
// is. Go's SDK signs a slash for it, and so grants another blob.
func TestBackslash(t *testing.T) {
	account, credential := two(t)
	v := sas.BlobSignatureValues{ContainerName: "c", BlobName: `a\b`, Permissions: "r", ExpiryTime: noon.Add(time.Hour)}
	p, err := v.SignWithSharedKey(credential)
	folded := query(t, p, err)
	own := signedQuery(account, "sv=2020-12-06&sr=b&sp=r&se=2026-03-02",
		"r\n\n2026-03-02\n/blob/leasehold2/c/a\\b\n\n\n\n2020-12-06\nb\n\n\n\n\n\n\n")
	backslash, slash := request{target: Target{Container: "c", Blob: `a\b`}}, request{target: Target{Container: "c", Blob: "a/b"}}
	refused(t, "the backslash with its own grant", backslash.verify(t, account, own), "")
	refused(t, "the slash with the backslash's grant", slash.verify(t, account, own), azerr.AuthenticationFailed)
	refused(t, "the backslash with the SDK's grant", backslash.verify(t, account, folded), azerr.AuthenticationFailed)
	refused(t, "the slash with the SDK's grant", slash.verify(t, account, folded), "")
}

// Two blobs that differ in a slash are two: the grant for one never opens the
// other, whatever it permits.
func TestSlashDoesNotOpenBackslash(t *testing.T) {
	account, _ := two(t)
	for _, letter := range "racwdxyltmeopfi" {
		for _, kind := range []string{"b", "bs"} {
			snapshot := ""
			if kind == "bs" {
				snapshot = "2026-03-01T11:59:00.0000001Z"
			}
			grant := signedQuery(account, fmt.Sprintf("sv=2020-12-06&sr=%s&sp=%c&se=2026-03-02", kind, letter),
				fmt.Sprintf("%c\n\n2026-03-02\n/blob/leasehold2/c/a/b\n\n\n\n2020-12-06\n%s\n%s\n\n\n\n\n\n", letter, kind, snapshot))
			r := request{target: Target{Container: "c", Blob: "a/b", Snapshot: snapshot}, need: Need{ResourceType: 'o', Permissions: string(letter)}}
			refused(t, fmt.Sprintf("sr=%s, sp=%c for a/b", kind, letter), r.verify(t, account, grant), "")
			r.target.Blob = `a\b`
			refused(t, fmt.Sprintf(`sr=%s, sp=%c for a\b`, kind, letter), r.verify(t, account, grant), azerr.AuthenticationFailed)
		}
	}
}

// signedQuery adds the signature of a text that a test wrote out.
func signedQuery(account Account, raw, text string) url.Values {
	values, err := url.ParseQuery(raw)
	if err != nil {
		panic(err)
	}
	values.Set("sig", mac(account.Keys[0], text))
	return values
}

// The texts of each version, written out by hand.
func TestVersions(t *testing.T) {
	account, _ := two(t)
	const given = "&sp=r&st=2026-03-01&se=2026-03-01T13:00Z&sip=127.0.0.1&spr=https&rscc=cc&rscd=cd&rsce=ce&rscl=cl&rsct=ct"
	const grant = "r\n2026-03-01\n2026-03-01T13:00Z\n/blob/leasehold2/c/d/e f\n\n127.0.0.1\nhttps\n"
	snapshot := "2026-03-01T11:59:00.0000001Z"
	for name, test := range map[string]struct{ query, text string }{
		"2015 blob":     {"sv=2015-04-05&sr=b" + given, grant + "2015-04-05\ncc\ncd\nce\ncl\nct"},
		"2017 blob":     {"sv=2017-11-09&sr=b" + given, grant + "2017-11-09\ncc\ncd\nce\ncl\nct"},
		"2018 blob":     {"sv=2018-11-09&sr=b" + given, grant + "2018-11-09\nb\n\ncc\ncd\nce\ncl\nct"},
		"2018 snapshot": {"sv=2018-11-09&sr=bs" + given, grant + "2018-11-09\nbs\n" + snapshot + "\ncc\ncd\nce\ncl\nct"},
		"2020 before":   {"sv=2020-10-02&sr=b" + given, grant + "2020-10-02\nb\n\ncc\ncd\nce\ncl\nct"},
		"2020 blob":     {"sv=2020-12-06&sr=b&ses=s" + given, grant + "2020-12-06\nb\n\ns\ncc\ncd\nce\ncl\nct"},
		"2026 snapshot": {"sv=2026-06-06&sr=bs" + given, grant + "2026-06-06\nbs\n" + snapshot + "\n\ncc\ncd\nce\ncl\nct"},
		"account 2015":  {"sv=2015-04-05&ss=bq&srt=o&sp=rw&se=2026-03-02", "leasehold2\nrw\nbq\no\n\n2026-03-02\n\n\n2015-04-05\n"},
		"account 2020":  {"sv=2020-12-06&ss=b&srt=co&sp=r&se=2026-03-02&ses=s", "leasehold2\nr\nb\nco\n\n2026-03-02\n\n\n2020-12-06\ns\n"},
		"capitals":      {"SV=2018-11-09&Sr=b" + given, grant + "2018-11-09\nb\n\ncc\ncd\nce\ncl\nct"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request{target: Target{Container: "c", Blob: "d/e f", Snapshot: snapshot}}
			refused(t, name, r.verify(t, account, signedQuery(account, test.query, test.text)), "")
			for i := range test.text {
				broken := signedQuery(account, test.query, test.text[:i]+"~"+test.text[i+1:])
				refused(t, "another text", r.verify(t, account, broken), azerr.AuthenticationFailed)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	account, _ := two(t)
	const service = "sv=2020-12-06&sr=b&sp=r&se=2026-03-02&sig=c2ln"
	const whole = "sv=2020-12-06&ss=b&srt=o&sp=r&se=2026-03-02&sig=c2ln"
	for _, test := range []struct{ query, says string }{
		{"sig=", "sv"},
		{"sig=c2ln", "sv"},
		{strings.Replace(service, "2020-12-06", "latest", 1), "sv"},
		{strings.Replace(service, "2020-12-06", "2014-02-14", 1), "older than 2015-04-05"},
		{strings.Replace(service, "2020-12-06&sr=b", "2018-03-28&sr=bs", 1), "older than 2018-11-09"},
		{strings.Replace(service, "sr=b&", "", 1), "sr is missing"},
		{strings.Replace(service, "sr=b&", "sr=d&sdd=1&", 1), "sr is not"},
		{strings.Replace(service, "sr=b&", "sr=bv&", 1), "sr is not"},
		{strings.Replace(service, "sp=r&", "", 1), "sp"},
		{strings.Replace(service, "sp=r&", "sp=R&", 1), "sp"},
		{strings.Replace(service, "sp=r&", "sp=r%0Aw&", 1), "sp"},
		{strings.Replace(service, "se=2026-03-02&", "", 1), "se is missing"},
		{strings.Replace(service, "2026-03-02", "tomorrow", 1), "se is no time"},
		{service + "&st=0", "st is no time"},
		{service + "&spr=http", "spr"},
		{service + "&sip=localhost", "sip"},
		{service + "&sip=127.0.0.1-", "sip"},
		{service + "&rscc=a%0Ab", "rscc is not plain text"},
		{service + "&sig=c2ln", "sig is there more than once"},
		{service + "&SP=w", "sp is there more than once"},
		{service + "&ss=b&srt=o", "sr is there together"},
		{whole + "&si=policy", "si"},
		{strings.Replace(whole, "ss=b", "ss=x", 1), "ss"},
		{strings.Replace(whole, "ss=b&", "", 1), "ss"},
		{strings.Replace(whole, "srt=o", "srt=ox", 1), "srt"},
		{strings.Replace(whole, "srt=o&", "", 1), "srt"},
		{service + "&skoid=1&sktid=2&skt=3&ske=4&sks=b&skv=2020-12-06", "Entra ID"},
	} {
		values, err := url.ParseQuery(test.query)
		if err != nil {
			t.Fatal(err)
		}
		grant, found, err := Parse(values)
		if grant != nil || !found || codeOf(err) != azerr.AuthenticationFailed || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Parse(%s) = %v, %v, %v, want AuthenticationFailed with %q", test.query, grant, found, err, test.says)
		}
		if strings.Contains(fmt.Sprint(err), "c2ln") {
			t.Errorf("Parse(%s) = %v, which shows the signature", test.query, err)
		}
	}
	if grant, found, err := Parse(url.Values{"comp": {"list"}, "sv": {"x"}, "sp": {"r", "w"}}); grant != nil || found || err != nil {
		t.Errorf("Parse without sig = %v, %v, %v, want nothing", grant, found, err)
	}
	refused(t, "well-formed and not signed", request{target: Target{Container: "c", Blob: "b"}}.verify(t, account, must(service)), azerr.AuthenticationFailed)
}

func must(raw string) url.Values {
	values, err := url.ParseQuery(raw)
	if err != nil {
		panic(err)
	}
	return values
}

func TestOverrides(t *testing.T) {
	const all = "&sp=r&se=2026-03-02&rscc=no-store&rscd=inline&rsce=gzip&rscl=de&rsct=text/plain&sig=x"
	for raw, want := range map[string]http.Header{
		"sv=2020-12-06&sr=b" + all: {
			"Cache-Control": {"no-store"}, "Content-Disposition": {"inline"}, "Content-Encoding": {"gzip"},
			"Content-Language": {"de"}, "Content-Type": {"text/plain"},
		},
		"sv=2020-12-06&sr=c&sp=r&se=2026-03-02&rsct=a/b&sig=x": {"Content-Type": {"a/b"}},
		"sv=2020-12-06&sr=c&sp=r&se=2026-03-02&sig=x":          {},
		"sv=2020-12-06&ss=b&srt=o" + all:                       {},
	} {
		grant, _, err := Parse(must(raw))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, grant.Overrides()); diff != "" {
			t.Errorf("Overrides() of %s (-want +got):\n%s", raw, diff)
		}
	}
}
