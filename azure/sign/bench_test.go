package sign

import "testing"

// known is the account as a server has it.
func known(b *testing.B) Account {
	account, _ := two(b)
	all, err := NewAccounts(account)
	if err != nil {
		b.Fatal(err)
	}
	account, _ = all.Lookup(account.Name)
	return account
}

func BenchmarkSharedKey(b *testing.B) {
	account := known(b)
	r := base(b, account)
	b.ReportAllocs()
	for b.Loop() {
		if err := checkKey(r, account, "/leasehold2/c/b", noon); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	account := known(b)
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
