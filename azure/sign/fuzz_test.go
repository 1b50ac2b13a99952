package sign

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
)

// Whatever a query holds, Parse returns, says why not in an Azure error, and lets
// nothing through that was not signed.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "comp=list", "sig=", "sv=2020-12-06&sr=b&sp=r&se=2026-03-02&sig=c2ln", "sv=2018-11-09&sr=bs&sp=r&se=2026-03-02T00:00:00.1234567Z&sig=x",
		"sv=2020-12-06&ss=b&srt=sco&sp=rwdl&st=2026-03-01T00:00Z&se=2026-03-02&sip=10.0.0.1-10.0.0.9&spr=https,http&sig=x",
		"sv=2020-12-06&sr=c&si=p&rscd=a%0Ab&sig=x", "skoid=1&sig=x", "SIG=a&sig=b", "sip=::1&sig=%00",
	} {
		f.Add(seed, "container", "blob", "")
	}
	account, _ := two(f)
	f.Fuzz(func(t *testing.T, raw, container, blob, snapshot string) {
		values, _ := url.ParseQuery(raw)
		grant, found, err := Parse(values)
		if err != nil && (!found || codeOf(err) != azerr.AuthenticationFailed) {
			t.Fatalf("Parse(%q) = %v, %v, want AuthenticationFailed", raw, found, err)
		}
		if found == (grant == nil && err == nil) {
			t.Fatalf("Parse(%q) = %v, %v, %v, want one answer", raw, grant, found, err)
		}
		if grant == nil {
			return
		}
		target := Target{container, blob, snapshot}
		need := Need{ResourceType: 'o', Permissions: "abcdefghijklmnopqrstuvwxyz"}
		if err := grant.Verify(account, target, need, noon, loopback, true, &Policy{}); err == nil {
			t.Fatalf("Verify(%q) = nil, want a refusal: nobody signed it", raw)
		}
		if lines := strings.Count(grant.text("a", target), "\n") - strings.Count(container+blob+snapshot, "\n"); lines > 15 {
			t.Fatalf("the text of %q has %d lines: %q", raw, lines, grant.text("a", target))
		}
		if printed := fmt.Sprintf("%v %+v %#v", grant, grant, *grant); printed != "service SAS service SAS service SAS" && printed != "account SAS account SAS account SAS" {
			t.Fatalf("printing a SAS gives %q", printed)
		}
	})
}

// Whatever times a grant and its policy state: one that lets a request through
// has no expiry that has passed, and no start that is to come.
func FuzzTimes(f *testing.F) {
	times := []string{
		"", "0001-01-01T00:00:00Z", "0001-01-01", "0001-01-01T00:00Z", "0001-01-01T01:00:00+01:00", "0000-01-01", "9999-12-31T23:59:59Z",
		"2026-02-28", "2026-03-02T00:00:00.0000001Z", "soon",
	}
	for _, own := range times {
		for _, stored := range times {
			f.Add("", own, "", stored)
			f.Add(own, "2026-03-02", stored, "")
			f.Add(own, "", stored, "2026-03-02")
		}
	}
	account, _ := two(f)
	target := Target{Container: "c", Blob: "b"}
	f.Fuzz(func(t *testing.T, start, expiry, storedStart, storedExpiry string) {
		from, err := ParseTime(storedStart)
		until, err2 := ParseTime(storedExpiry)
		if err != nil || err2 != nil {
			return
		}
		query := url.Values{"sv": {"2020-12-06"}, "sr": {"c"}, "si": {"p"}, "sp": {"r"}, "st": {start}, "se": {expiry}, "sig": {"x"}}
		grant, _, err := Parse(query)
		if err != nil {
			return
		}
		query.Set("sig", mac(account.Keys[0], grant.text(account.Name, target)))
		if grant, _, err = Parse(query); err != nil {
			t.Fatalf("Parse(%v) = %v", query, err)
		}
		err = grant.Verify(account, target, Need{ResourceType: 'o', Permissions: "r"}, noon, loopback, true, &Policy{Start: from, Expiry: until})
		if err != nil {
			return
		}
		for what, text := range map[string]string{"st": start, "the policy's start": storedStart} {
			if at, err := ParseTime(text); err != nil || at != nil && noon.Before(*at) {
				t.Errorf("valid at %v, though %s is %q", noon, what, text)
			}
		}
		for what, text := range map[string]string{"se": expiry, "the policy's expiry": storedExpiry} {
			if at, err := ParseTime(text); err != nil || at != nil && !noon.Before(*at) {
				t.Errorf("valid at %v, though %s is %q", noon, what, text)
			}
		}
		if expiry == "" && storedExpiry == "" {
			t.Error("valid for ever")
		}
	})
}

// A request that is signed as it is passes, and does not after any addition.
func FuzzCanonical(f *testing.F) {
	f.Add("PUT", "/c/b", "comp=metadata&x=%2B", "X-Ms-Meta-A", " 1  2 ", "meta-a_b", true)
	f.Add("GET", "//c/%2F..", "a=1;b=2&A=0&&=", "Range", "bytes=0-", "a'-1", false)
	f.Add("DELETE", "", "%", "x-ms-", "\n", "", true)
	account, _ := two(f)
	f.Fuzz(func(t *testing.T, method, path, query, name, value, other string, whole bool) {
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}, ContentLength: int64(len(value))}
		r.Header.Set(name, value)
		r.Header.Set("X-Ms-Date", at)
		how, scheme := "SharedKey", matchFull
		if !whole {
			how, scheme = "SharedKeyLite", matchLite
		}
		parameters, err := ParseQuery(query)
		if err != nil {
			refused(t, query, checkKey(authorized(r, how, "x"), account, path, noon), azerr.InvalidQueryParameterValue)
			return
		}
		for _, text := range textsOf(scheme, r, resource{account.Name, path, parameters}) {
			authorized(r, how, mac(account.Keys[1], text))
			if err := checkKey(r, account, path, noon); err != nil {
				t.Fatalf("SharedKey(%s %q?%q) = %v, want success", method, path, query, err)
			}
		}
		r.Header.Add("X-Ms-Lease-Id", "x")
		refused(t, "another header", checkKey(r, account, path, noon), azerr.AuthenticationFailed)
		r.Header.Del("X-Ms-Lease-Id")
		refused(t, "another path", checkKey(r, account, path+"/x", noon), azerr.AuthenticationFailed)
		checkOrder(t, strings.ToLower(name), strings.ToLower(other))
	})
}

func authorized(r *http.Request, how, signature string) *http.Request {
	r.Header.Set("Authorization", how+" leasehold2:"+signature)
	return r
}

// checkOrder keeps the order of headers a total one: otherwise sorting would
// depend on how a map is walked.
func checkOrder(t *testing.T, a, b string) {
	t.Helper()
	there, back := compareNames(a, b), compareNames(b, a)
	if there != -back || (there == 0) != (a == b) {
		t.Fatalf("compareNames(%q, %q) = %d and %d the other way round", a, b, there, back)
	}
}
