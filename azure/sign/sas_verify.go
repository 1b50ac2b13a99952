package sign

import (
	"cmp"
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

// Need is what an operation requires of a grant.
type Need struct {
	Service      byte   // default 'b', blobs; the letter of ss
	ResourceType byte   // 's' service, 'c' container, 'o' object; the letter of srt
	Permissions  string // any one of these letters of sp is enough; "" means that no SAS is
	Also         string // each of these letters is needed besides
	AccountOnly  bool   // no service SAS is enough, as for creating a container
}

// Policy is a stored access policy of a container. The SAS has the fields that are
// nil or empty.
type Policy struct {
	Start       *time.Time
	Expiry      *time.Time
	Permissions string
}

// Verify checks that the grant was signed with a key of the account and allows the
// request. policy is the container's stored access policy of that
// Identifier, nil when there is none.
//
// The signature comes first: callers that cannot sign learn nothing else.
func (s *SAS) Verify(account Account, target Target, need Need, now time.Time, remoteIP netip.Addr, https bool, policy *Policy) error {
	if err := s.checkTarget(target); err != nil {
		return err
	}
	if !account.signed([]byte(s.text(account.Name, target)), s.values["sig"]) {
		return authFailed("The shared access signature's sig does not match. Check the key of account %s, and that every parameter is as it was signed.", account.Name)
	}
	granted, err := s.grant(policy)
	if err != nil {
		return err
	}
	if err := granted.checkTime(now); err != nil {
		return err
	}
	if err := s.checkOrigin(remoteIP, https); err != nil {
		return err
	}
	return s.authorize(need, granted)
}

// checkTarget refuses a service SAS outside of its container or blob. That the names
// are the right ones shows in the signature.
func (s *SAS) checkTarget(target Target) error {
	kind := s.values["sr"]
	switch {
	case s.account():
		return nil
	case target.Container == "":
		return authFailed("Requests about the whole account need an account SAS or the account's key.")
	case kind != "c" && target.Blob == "":
		return authFailed("The shared access signature is for a blob, and the request is about a container.")
	case kind == "bs" && target.Snapshot == "":
		return authFailed("The shared access signature is for a snapshot, and the request names none.")
	}
	return nil
}

// checkOrigin checks where the request comes from and how.
func (s *SAS) checkOrigin(remoteIP netip.Addr, https bool) error {
	if !s.from.contains(remoteIP) {
		return azerr.New(azerr.AuthorizationSourceIPMismatch).With("The shared access signature is not for the address that the request came from, %v.", remoteIP)
	}
	if s.values["spr"] == "https" && !https {
		return azerr.New(azerr.AuthorizationProtocolMismatch).With("The shared access signature is for HTTPS only (spr=https), and the request came over HTTP.")
	}
	return nil
}

// authorize compares what is granted with what is needed.
func (s *SAS) authorize(need Need, granted Policy) error {
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
	return granted.authorize(need)
}

// authorize requires the letters of sp.
func (p Policy) authorize(need Need) error {
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
	granted, err := s.grant(policy)
	return err == nil && strings.ContainsAny(granted.Permissions, letters)
}

// grant is what the SAS and the stored policy grant together. Each field is in one
// of them only: otherwise a SAS would outlive a change of the policy.
func (s *SAS) grant(stored *Policy) (Policy, error) {
	own := Policy{s.start, s.expiry, s.values["sp"]}
	if s.Identifier() == "" {
		return own, nil
	}
	if stored == nil {
		return Policy{}, authFailed("The container has no stored access policy %q (si).", s.Identifier())
	}
	switch {
	case own.Start != nil && stored.Start != nil:
		return Policy{}, statedTwice("st")
	case own.Expiry != nil && stored.Expiry != nil:
		return Policy{}, statedTwice("se")
	case own.Permissions != "" && stored.Permissions != "":
		return Policy{}, statedTwice("sp")
	}
	both := Policy{cmp.Or(own.Start, stored.Start), cmp.Or(own.Expiry, stored.Expiry), own.Permissions + stored.Permissions}
	switch {
	case both.Expiry == nil:
		return Policy{}, notStated("se")
	case both.Permissions == "":
		return Policy{}, notStated("sp")
	}
	return both, nil
}

func statedTwice(name string) error {
	return authFailed("The shared access signature and its stored access policy both state %s: leave it to one of them.", name)
}

func notStated(name string) error {
	return authFailed("Neither the shared access signature nor its stored access policy states %s.", name)
}

func (p Policy) checkTime(now time.Time) error {
	switch {
	case p.Start != nil && now.Before(*p.Start):
		return authFailed("The shared access signature is valid from %s, and it is %s by this server's clock.", clock(*p.Start), clock(now))
	case p.Expiry == nil: // grant and validate require one
		return notStated("se")
	case !now.Before(*p.Expiry):
		return authFailed("The shared access signature expired at %s, and it is %s by this server's clock.", clock(*p.Expiry), clock(now))
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// The versions that added lines to what is signed.
const (
	withSnapshot = "2018-11-09" // sr and the snapshot
	withScope    = "2020-12-06" // ses, the encryption scope
)

// layout lists the lines of the signed text in order: parameters of the SAS, and
// words that line knows.
func (s *SAS) layout() string {
	version := s.values["sv"]
	switch {
	case s.account() && version >= withScope:
		return "account sp ss srt st se sip spr sv ses empty"
	case s.account():
		return "account sp ss srt st se sip spr sv empty"
	case version >= withScope:
		return "sp st se resource si sip spr sv sr snapshot ses rscc rscd rsce rscl rsct"
	case version >= withSnapshot:
		return "sp st se resource si sip spr sv sr snapshot rscc rscd rsce rscl rsct"
	}
	return "sp st se resource si sip spr sv rscc rscd rsce rscl rsct"
}

// text is the text to be signed for access to the target.
func (s *SAS) text(account string, target Target) string {
	var lines []string
	for word := range strings.FieldsSeq(s.layout()) {
		lines = append(lines, s.line(word, account, target))
	}
	return strings.Join(lines, "\n")
}

func (s *SAS) line(word, account string, target Target) string {
	switch word {
	case "account":
		return account
	case "resource":
		return s.resource(account, target)
	case "snapshot":
		return s.snapshot(target)
	case "empty":
		return ""
	}
	return s.values[word]
}

// resource is the container for a container's SAS, whatever blob of it the
// request is about.
func (s *SAS) resource(account string, target Target) string {
	container := "/blob/" + account + "/" + target.Container
	if s.values["sr"] == "c" {
		return container
	}
	return container + "/" + target.Blob
}

// snapshot is signed only in a grant for that snapshot alone; a grant for a blob
// opens all its snapshots.
func (s *SAS) snapshot(target Target) string {
	if s.values["sr"] != "bs" {
		return ""
	}
	return target.Snapshot
}
