package sign

import "testing"

func BenchmarkSharedKey(b *testing.B) {
	account, _ := two(b)
	r := base(b, account)
	b.ReportAllocs()
	for b.Loop() {
		if err := SharedKey(r, account, "/leasehold2/c/b", noon); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	account, _ := two(b)
	values := containerGrant(b, nil)
	need := Need{ResourceType: 'o', Permissions: "r"}
	b.ReportAllocs()
	for b.Loop() {
		grant, _, err := Parse(values)
		if err == nil {
			err = grant.Verify(account, Target{Container: "c", Blob: "b"}, need, noon, loopback, false, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
