package sign

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold/azure/azerr"
)

func ip(text string) netip.Addr { return netip.MustParseAddr(text) }

// containerGrant is a grant for the container c, signed by the SDK.
func containerGrant(t testing.TB, change func(*sas.BlobSignatureValues)) url.Values {
	t.Helper()
	_, credential := two(t)
	v := sas.BlobSignatureValues{ContainerName: "c", Permissions: "rcl", ExpiryTime: noon.Add(time.Hour)}
	if change != nil {
		change(&v)
	}
	p, err := v.SignWithSharedKey(credential)
	return query(t, p, err)
}

func accountGrant(t testing.TB, types string) url.Values {
	t.Helper()
	_, credential := two(t)
	p, err := sas.AccountSignatureValues{Permissions: "rcl", ResourceTypes: types, ExpiryTime: noon.Add(time.Hour)}.SignWithSharedKey(credential)
	return query(t, p, err)
}

func TestGrants(t *testing.T) {
	account, _ := two(t)
	blob, list := Target{Container: "c", Blob: "b"}, Need{Service: 'b', ResourceType: 'c', Permissions: "l"}
	plain := containerGrant(t, nil)
	between := func(from, to string) url.Values {
		return containerGrant(t, func(v *sas.BlobSignatureValues) {
			v.IPRange.Start = ip(from).AsSlice()
			if to != "" {
				v.IPRange.End = ip(to).AsSlice()
			}
		})
	}
	over := func(protocol sas.Protocol) url.Values {
		return containerGrant(t, func(v *sas.BlobSignatureValues) { v.Protocol = protocol })
	}
	ofBlob := containerGrant(t, func(v *sas.BlobSignatureValues) { v.BlobName = "b" })
	for _, test := range []struct {
		name  string
		grant url.Values
		with  request
		code  string
	}{
		{"a blob of the container", plain, request{target: blob}, ""},
		{"its snapshot", plain, request{target: Target{"c", "b", "2026-03-01T11:59:00.0000001Z"}}, ""},
		{"the blob's snapshot", ofBlob, request{target: Target{"c", "b", "2026-03-01T11:59:00.0000001Z"}}, ""},
		{"the container", plain, request{target: Target{Container: "c"}, need: list}, ""},
		{"the container with a blob's grant", ofBlob, request{target: Target{Container: "c"}, need: list}, azerr.AuthenticationFailed},
		{"the service", plain, request{need: Need{ResourceType: 's', Permissions: "l"}}, azerr.AuthenticationFailed},
		{"another container", plain, request{target: Target{Container: "d", Blob: "b"}}, azerr.AuthenticationFailed},

		{"the last moment", plain, request{target: blob, now: noon.Add(time.Hour - 1)}, ""},
		{"expired", plain, request{target: blob, now: noon.Add(time.Hour)}, azerr.AuthenticationFailed},
		{"the first moment", containerGrant(t, startAt(noon)), request{target: blob}, ""},
		{"not yet", containerGrant(t, startAt(noon.Add(time.Second))), request{target: blob}, azerr.AuthenticationFailed},

		{"the address", between("10.0.0.7", ""), request{target: blob, from: ip("10.0.0.7")}, ""},
		{"the address inside IPv6", between("10.0.0.7", ""), request{target: blob, from: ip("::ffff:10.0.0.7")}, ""},
		{"another address", between("10.0.0.7", ""), request{target: blob, from: ip("10.0.0.8")}, azerr.AuthorizationSourceIPMismatch},
		{"the range's first", between("10.0.0.7", "10.0.1.9"), request{target: blob, from: ip("10.0.0.7")}, ""},
		{"the range's last", between("10.0.0.7", "10.0.1.9"), request{target: blob, from: ip("10.0.1.9")}, ""},
		{"below the range", between("10.0.0.7", "10.0.1.9"), request{target: blob, from: ip("10.0.0.6")}, azerr.AuthorizationSourceIPMismatch},
		{"above the range", between("10.0.0.7", "10.0.1.9"), request{target: blob, from: ip("10.0.1.10")}, azerr.AuthorizationSourceIPMismatch},
		{"another family", between("10.0.0.7", "10.0.1.9"), request{target: blob, from: ip("::1")}, azerr.AuthorizationSourceIPMismatch},
		{"two families", between("10.0.0.7", "fe80::1"), request{target: blob, from: ip("10.0.0.8")}, azerr.AuthorizationSourceIPMismatch},
		{"two families, the other one", between("10.0.0.7", "fe80::1"), request{target: blob, from: ip("fe80::")}, azerr.AuthorizationSourceIPMismatch},
		{"a range of IPv6", between("fe80::1", "fe80::9"), request{target: blob, from: ip("fe80::2%eth0")}, ""},

		{"any protocol", plain, request{target: blob, plain: true}, ""},
		{"both protocols", over("https,http"), request{target: blob, plain: true}, ""},
		{"https", over("https"), request{target: blob}, ""},
		{"http with a grant for https", over("https"), request{target: blob, plain: true}, azerr.AuthorizationProtocolMismatch},

		{"one of two permissions", plain, request{target: blob, need: Need{ResourceType: 'o', Permissions: "wc"}}, ""},
		{"a missing permission", plain, request{target: blob, need: Need{ResourceType: 'o', Permissions: "wd"}}, azerr.AuthorizationPermissionMismatch},
		{"a further permission", plain, request{target: blob, need: Need{ResourceType: 'o', Permissions: "wc", Also: "rl"}}, ""},
		{"a further one missing", plain, request{target: blob, need: Need{ResourceType: 'o', Permissions: "wc", Also: "rt"}}, azerr.AuthorizationPermissionMismatch},
		{"account's own, service SAS", plain, request{target: Target{Container: "c"}, need: Need{ResourceType: 'c', Permissions: "c", AccountOnly: true}}, azerr.AuthorizationFailure},
		{"account's own, account SAS", accountGrant(t, "c"), request{target: Target{Container: "c"}, need: Need{ResourceType: 'c', Permissions: "c", AccountOnly: true}}, ""},

		{"service level", accountGrant(t, "s"), request{need: Need{ResourceType: 's', Permissions: "l"}}, ""},
		{"object with a grant for containers", accountGrant(t, "sc"), request{target: blob}, azerr.AuthorizationResourceTypeMismatch},
		{"container with a grant for objects", accountGrant(t, "so"), request{target: Target{Container: "c"}, need: list}, azerr.AuthorizationResourceTypeMismatch},
		{"no type", accountGrant(t, "sco"), request{target: blob, need: Need{Permissions: "r"}}, azerr.AuthorizationResourceTypeMismatch},
		{"another service", accountGrant(t, "sco"), request{target: blob, need: Need{Service: 'q', ResourceType: 'o', Permissions: "r"}}, azerr.AuthorizationServiceMismatch},
	} {
		t.Run(test.name, func(t *testing.T) {
			refused(t, test.name, test.with.verify(t, account, test.grant), test.code)
		})
	}
}

func startAt(start time.Time) func(*sas.BlobSignatureValues) {
	return func(v *sas.BlobSignatureValues) { v.StartTime = start }
}

// An operation that no SAS can do, such as changing a container's policies.
func TestNeverGranted(t *testing.T) {
	account, _ := two(t)
	for _, values := range []url.Values{containerGrant(t, nil), accountGrant(t, "sco")} {
		grant, _, err := Parse(values)
		if err != nil {
			t.Fatal(err)
		}
		err = grant.Verify(account, Target{Container: "c"}, Need{ResourceType: 'c'}, noon, loopback, true, nil)
		refused(t, values.Get("sr"), err, azerr.AuthorizationFailure)
	}
}

// These could not have the right signature either; the message tells people what
// they mixed up.
func TestUncovered(t *testing.T) {
	account, _ := two(t)
	ofBlob := containerGrant(t, func(v *sas.BlobSignatureValues) { v.BlobName = "b" })
	ofSnapshot := containerGrant(t, func(v *sas.BlobSignatureValues) { v.BlobName, v.SnapshotTime = "b", noon })
	for _, test := range []struct {
		grant  url.Values
		target Target
		says   string
	}{
		{ofBlob, Target{Container: "c"}, "is for a blob"},
		{ofSnapshot, Target{Container: "c"}, "is for a blob"},
		{ofSnapshot, Target{Container: "c", Blob: "b"}, "is for a snapshot"},
	} {
		err := request{target: test.target}.verify(t, account, test.grant)
		if codeOf(err) != azerr.AuthenticationFailed || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Verify(%+v) = %v, want AuthenticationFailed with %q", test.target, err, test.says)
		}
	}
}

// A wrong signature is the only thing that the holder of one learns.
func TestSignatureComesFirst(t *testing.T) {
	account, _ := two(t)
	values := containerGrant(t, func(v *sas.BlobSignatureValues) {
		v.Protocol, v.Identifier, v.Permissions, v.IPRange.Start = "https", "policy", "", ip("10.1.1.1").AsSlice()
	})
	values.Set("sig", "AAAA")
	r := request{target: Target{Container: "c", Blob: "b"}, plain: true, now: noon.AddDate(9, 0, 0)}
	err := r.verify(t, account, values)
	refused(t, "all wrong", err, azerr.AuthenticationFailed)
	if want := request.verify(request{target: r.target}, t, account, values); want.Error() != err.Error() {
		t.Errorf("Verify() = %v, want what any bad signature gets: %v", err, want)
	}
}

func TestPolicies(t *testing.T) {
	account, _ := two(t)
	tomorrow := noon.AddDate(0, 0, 1)
	si := func(permissions string, start, expiry time.Time) url.Values {
		return containerGrant(t, func(v *sas.BlobSignatureValues) {
			v.Identifier, v.Permissions, v.StartTime, v.ExpiryTime = "readers", permissions, start, expiry
		})
	}
	var none time.Time
	for _, test := range []struct {
		name   string
		grant  url.Values
		policy *Policy
		code   string
	}{
		{"all in the policy", si("", none, none), &Policy{new(noon), new(tomorrow), "rl"}, ""},
		{"all in the SAS", si("r", noon, tomorrow), &Policy{}, ""},
		{"some in each", si("r", none, none), &Policy{Expiry: new(tomorrow)}, ""},
		{"no such policy", si("r", noon, tomorrow), nil, azerr.AuthenticationFailed},
		{"permissions in both", si("r", none, none), &Policy{new(noon), new(tomorrow), "r"}, azerr.AuthenticationFailed},
		{"expiry in both", si("", none, tomorrow), &Policy{new(noon), new(tomorrow), "r"}, azerr.AuthenticationFailed},
		{"start in both", si("", noon, none), &Policy{new(noon), new(tomorrow), "r"}, azerr.AuthenticationFailed},
		{"no expiry", si("r", none, none), &Policy{}, azerr.AuthenticationFailed},
		{"no permissions", si("", none, none), &Policy{Expiry: new(tomorrow)}, azerr.AuthenticationFailed},
		{"the policy expired", si("", none, none), &Policy{Expiry: new(noon), Permissions: "r"}, azerr.AuthenticationFailed},
		{"the policy begins later", si("", none, none), &Policy{new(tomorrow), new(tomorrow.AddDate(0, 0, 1)), "r"}, azerr.AuthenticationFailed},
		{"the policy lacks it", si("", none, none), &Policy{Expiry: new(tomorrow), Permissions: "wl"}, azerr.AuthorizationPermissionMismatch},
		{"a policy nobody asked for", containerGrant(t, nil), &Policy{new(tomorrow), new(noon), "x"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request{target: Target{Container: "c", Blob: "b"}, policy: test.policy}
			refused(t, test.name, r.verify(t, account, test.grant), test.code)
		})
	}
	grant, _, err := Parse(si("", none, none))
	if err != nil || grant.Identifier() != "readers" {
		t.Fatalf("Parse() = %v, %v, want the SAS of policy readers", grant, err)
	}
	for letters, want := range map[string]bool{"r": true, "w": false, "wl": true} {
		if got := grant.May(letters, &Policy{Expiry: new(tomorrow), Permissions: "rl"}); got != want {
			t.Errorf("May(%q) = %v, want %v", letters, got, want)
		}
		if grant.May(letters, nil) {
			t.Errorf("May(%q) without the policy = true, want false", letters)
		}
	}
}
