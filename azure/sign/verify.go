package sign

import (
	"net/netip"
	"strings"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
)

// Target is what a request addresses, names decoded. Blob is empty for a
// request about the container, both are for one about the service.
type Target struct {
	Container string
	Blob      string
	Snapshot  string // as in the query
}

// Need is what a request asks of a grant.
type Need struct {
	Service      byte   // default 'b', blobs; the letter of ss
	ResourceType byte   // 's' service, 'c' container, 'o' object; the letter of srt
	Permissions  string // any one of these letters of sp is enough; "" means that no SAS is
	Also         string // each of these letters is needed besides
	AccountOnly  bool   // no service SAS is enough, as for creating a container
}

// Policy is a stored access policy of a container. Nil and empty fields are those
// that it leaves to the SAS.
type Policy struct {
	Start       *time.Time
	Expiry      *time.Time
	Permissions string
}

// Verify tells whether the grant was signed with a key of the account and
// allows the request. policy is the container's stored access policy of that
// Identifier, nil when there is none.
//
// The signature comes first: whoever cannot sign learns nothing else.
func (s *SAS) Verify(account Account, target Target, need Need, now time.Time, remoteIP netip.Addr, https bool, policy *Policy) error {
	if err := s.covers(target); err != nil {
		return err
	}
	if !account.signed([]byte(s.text(account.Name, target)), s.values["sig"]) {
		return unauthentic("The shared access signature's sig does not match. Check the key of account %s, and that every parameter is as it was signed.", account.Name)
	}
	granted, err := s.terms(policy)
	if err != nil {
		return err
	}
	if err := granted.valid(now); err != nil {
		return err
	}
	if err := s.origin(remoteIP, https); err != nil {
		return err
	}
	return s.allow(need, granted)
}

// covers refuses a service SAS outside of its container or blob. That the names
// are the right ones shows in the signature.
func (s *SAS) covers(target Target) error {
	kind := s.values["sr"]
	switch {
	case s.account():
		return nil
	case target.Container == "":
		return unauthentic("Requests about the whole account need an account SAS or the account's key.")
	case kind != "c" && target.Blob == "":
		return unauthentic("The shared access signature is for a blob, and the request is about a container.")
	case kind == "bs" && target.Snapshot == "":
		return unauthentic("The shared access signature is for a snapshot, and the request names none.")
	}
	return nil
}

// origin checks where the request comes from and how.
func (s *SAS) origin(remoteIP netip.Addr, https bool) error {
	if !s.from.hold(remoteIP) {
		return azerr.New(azerr.AuthorizationSourceIPMismatch).With("The shared access signature is not for the address that the request came from, %v.", remoteIP)
	}
	if s.values["spr"] == "https" && !https {
		return azerr.New(azerr.AuthorizationProtocolMismatch).With("The shared access signature is for HTTPS only (spr=https), and the request came over HTTP.")
	}
	return nil
}

// allow compares what is granted with what is needed.
func (s *SAS) allow(need Need, granted Policy) error {
	service := need.Service
	if service == 0 {
		service = 'b'
	}
	switch {
	case need.Permissions == "", need.AccountOnly && !s.account():
		return azerr.New(azerr.AuthorizationFailure).With("This kind of shared access signature cannot be used for this operation. Use the account's key.")
	case s.account() && strings.IndexByte(s.values["ss"], service) < 0:
		return azerr.New(azerr.AuthorizationServiceMismatch)
	case s.account() && strings.IndexByte(s.values["srt"], need.ResourceType) < 0:
		return azerr.New(azerr.AuthorizationResourceTypeMismatch).With("The shared access signature is not for this type of resource: srt lacks %q.", need.ResourceType)
	}
	return granted.permit(need)
}

// permit looks for the letters.
func (p Policy) permit(need Need) error {
	mismatch := azerr.New(azerr.AuthorizationPermissionMismatch)
	if !strings.ContainsAny(p.Permissions, need.Permissions) {
		return mismatch.With("The shared access signature's permissions (sp) lack what this operation needs: one of %q.", need.Permissions)
	}
	for _, letter := range need.Also {
		if !strings.ContainsRune(p.Permissions, letter) {
			return mismatch.With("The shared access signature's permissions (sp) lack what this operation needs: %q.", letter)
		}
	}
	return nil
}

// May reports whether a verified SAS grants any of the letters: for an operation
// that depends on what it finds, such as one that may create a blob ('c') but
// overwrite it only with 'w'.
func (s *SAS) May(letters string, policy *Policy) bool {
	granted, err := s.terms(policy)
	return err == nil && strings.ContainsAny(granted.Permissions, letters)
}
