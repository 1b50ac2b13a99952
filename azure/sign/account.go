// Package sign checks that a request to the Azure Blob API was signed with an
// account's key: with Shared Key, where the request itself is signed, or with a
// shared access signature (SAS), a signed grant in the query.
//
// It is pure: no server, no clock of its own, no state. All refusals are
// *azerr.Error. No message and no formatting of a value shows a key or a
// signature.
package sign

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Account is a storage account and the keys that may sign for it. Two keys let
// people replace one while the other still works.
type Account struct {
	Name string
	Keys [][]byte // decoded; one or two

	signers signers // of the keys; none before NewAccounts
}

// Format prints the name alone, whatever the verb: keys do not belong in logs.
func (a Account) Format(f fmt.State, _ rune) { io.WriteString(f, "account "+a.Name) }

// MarshalText keeps keys out of JSON and of structured logs.
func (a Account) MarshalText() ([]byte, error) { return []byte(a.Name), nil }

// Development is the account that every Azure Storage SDK and tool knows as
// "UseDevelopmentStorage=true". Its key is public, printed in Microsoft's
// documentation: everybody who reaches the port may use it.
func Development() Account {
	const published = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	key, err := base64.StdEncoding.DecodeString(published)
	if err != nil {
		panic(err) // a constant
	}
	return Account{Name: "devstoreaccount1", Keys: [][]byte{key}}
}

// ParseAccount reads "name:key" or "name:key:key", the keys in base64 as Azure's
// portal shows them. The error repeats the name alone.
func ParseAccount(text string) (Account, error) {
	name, keys, _ := strings.Cut(text, ":")
	a := Account{Name: name}
	for key := range strings.SplitSeq(keys, ":") {
		decoded, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			return Account{}, fmt.Errorf("account %.24q: key %d is not base64", name, len(a.Keys)+1)
		}
		a.Keys = append(a.Keys, decoded)
	}
	return a, a.validate()
}

var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

func (a Account) validate() error {
	switch {
	case !accountName.MatchString(a.Name):
		return errors.New("an account's name has 3 to 24 characters, lower-case letters and digits")
	case len(a.Keys) < 1 || len(a.Keys) > 2:
		return fmt.Errorf("account %s has %d keys, want one or two", a.Name, len(a.Keys))
	case slices.ContainsFunc(a.Keys, func(key []byte) bool { return len(key) == 0 }):
		return fmt.Errorf("account %s has an empty key, with which everybody could sign", a.Name)
	}
	return nil
}

// Accounts are the accounts of a server. They do not change.
type Accounts struct{ named map[string]Account }

// NewAccounts refuses invalid names and keys, and the same name twice.
func NewAccounts(list ...Account) (*Accounts, error) {
	named := map[string]Account{}
	for _, a := range list {
		if err := a.validate(); err != nil {
			return nil, err
		}
		if _, twice := named[a.Name]; twice {
			return nil, fmt.Errorf("account %s is configured twice", a.Name)
		}
		a.signers = nil
		for _, key := range a.Keys {
			a.signers = append(a.signers, newSigner(key))
		}
		named[a.Name] = a
	}
	return &Accounts{named}, nil
}

// secondary marks the read-only endpoint of an account. No account's name can
// hold a hyphen, so the mark is never part of a name.
const secondary = "-secondary"

// Lookup finds the account that a host name's first label or a path's first
// segment means, "{account}-secondary" included; the account's Name is without
// that mark, as the SDKs sign it.
func (a *Accounts) Lookup(name string) (Account, bool) {
	found, ok := a.named[strings.TrimSuffix(name, secondary)]
	return found, ok
}

// AccountName reports whether name is valid for an account, "{account}-secondary"
// included, and returns it without that mark.
func AccountName(name string) (account string, ok bool) {
	account = strings.TrimSuffix(name, secondary)
	return account, accountName.MatchString(account)
}

// All lists the accounts by name.
func (a *Accounts) All() []Account {
	return slices.SortedFunc(maps.Values(a.named), func(x, y Account) int { return cmp.Compare(x.Name, y.Name) })
}
