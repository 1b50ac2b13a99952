package azerr

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statuses is what Microsoft's pages say; where a code has several statuses,
// the one that the server answers unless it decides otherwise.
var statuses = map[int]string{
	400: `AccessTierNotSupportedForBlobType BlockListTooLong
		BothUserTagsAndSourceTagsCopyPresentException ConditionHeadersNotSupported
		Crc64Mismatch DuplicateTagNames EmptyMetadataKey EmptyTagName
		InvalidAuthenticationInfo InvalidBlobOrBlock InvalidBlobTier InvalidBlockId
		InvalidBlockList InvalidHeaderValue InvalidHttpVerb InvalidInput InvalidMd5
		InvalidMetadata InvalidOperation InvalidQueryParameterValue
		InvalidResourceName InvalidTag InvalidUri InvalidVersionForPageBlobOperation
		InvalidXmlDocument InvalidXmlNodeValue Md5Mismatch MetadataTooLarge
		MissingRequiredHeader MissingRequiredQueryParameter MissingRequiredXmlNode
		MultipleConditionHeadersNotSupported OutOfRangeInput
		OutOfRangeQueryParameterValue OutOfRangeXmlNodeValue
		PreviousSnapshotCannotBeNewer RequestUrlFailedToParse TagsTooLarge
		UnsatisfiableCondition UnsupportedHeader UnsupportedQueryParameter
		UnsupportedXmlNode`,
	401: `NoAuthenticationInformation`,
	403: `AccountIsDisabled AuthenticationFailed AuthorizationFailure
		AuthorizationPermissionMismatch AuthorizationProtocolMismatch
		AuthorizationResourceTypeMismatch AuthorizationServiceMismatch
		AuthorizationSourceIPMismatch CorsPreflightFailure
		InsufficientAccountPermissions UnauthorizedBlobOverwrite`,
	404: `BlobNotFound ContainerNotFound LeaseNotFound ResourceNotFound`,
	405: `UnsupportedHttpVerb`,
	409: `BlobAlreadyExists BlobArchived BlobBeingRehydrated
		BlobImmutableDueToPolicy BlobNotArchived BlobOperationNotSupported
		BlobIsSealed BlobOverwritten BlobTierInadequateForContentLength
		BlobUsesCustomerSpecifiedEncryption BlockCountExceedsLimit
		CannotChangeToLowerTier ContainerAlreadyExists ContainerBeingDeleted
		ContainerDisabled ContentLengthLargerThanTierLimit
		CopyAcrossAccountsNotSupported CopyIdMismatch FeatureVersionMismatch
		IncrementalCopyBlobMismatch IncrementalCopyOfEarlierSnapshotNotAllowed
		IncrementalCopySourceMustBeSnapshot InvalidBlobType InvalidSourceBlobType
		InvalidSourceBlobUrl LeaseAlreadyBroken LeaseAlreadyPresent
		LeaseIdMismatchWithLeaseOperation LeaseIsBreakingAndCannotBeAcquired
		LeaseIsBreakingAndCannotBeChanged LeaseIsBrokenAndCannotBeRenewed
		LeaseNotPresentWithLeaseOperation NoPendingCopyOperation
		OperationNotAllowedOnIncrementalCopyBlob OperationNotAllowedOnRootBlob
		PendingCopyOperation PreviousSnapshotNotFound
		PreviousSnapshotOperationNotSupported PublicAccessNotPermitted
		ResourceAlreadyExists ResourceTypeMismatch SequenceNumberIncrementTooLarge
		SnapshotCountExceeded SnapshotOperationRateExceeded SnapshotsPresent
		SystemInUse`,
	411: `MissingContentLengthHeader`,
	412: `AppendPositionConditionNotMet ConditionNotMet
		InfiniteLeaseDurationRequired LeaseIdMismatch
		LeaseIdMismatchWithBlobOperation LeaseIdMismatchWithContainerOperation
		LeaseIdMissing LeaseLost LeaseNotPresentWithBlobOperation
		LeaseNotPresentWithContainerOperation MaxBlobSizeConditionNotMet
		SequenceNumberConditionNotMet SourceConditionNotMet TargetConditionNotMet`,
	413: `RequestBodyTooLarge`,
	416: `InvalidPageRange InvalidRange`,
	500: `CannotVerifyCopySource InternalError OperationTimedOut`,
	501: `NotImplemented`,
	503: `ServerBusy`,
	507: `InsufficientStorage`,
}

func TestStatuses(t *testing.T) {
	want := map[string]int{}
	for status, codes := range statuses {
		for _, code := range strings.Fields(codes) {
			want[code] = status
		}
	}
	got := map[string]int{}
	for code := range table {
		got[code] = New(code).Status
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses of the table (-want +got):\n%s", diff)
	}
}

// Every constant is in the table, is named like its value, and nothing else is
// in the table.
func TestConstants(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		constants++
		name, value := spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value
		if value != fmt.Sprintf("%q", name) {
			t.Errorf("constant %s = %s, want its own name", name, value)
		}
		if _, ok := table[name]; !ok {
			t.Errorf("constant %s is not in the table", name)
		}
		return true
	})
	if constants != len(table) {
		t.Errorf("%d constants and %d lines in the table, want as many", constants, len(table))
	}
}

func TestMessages(t *testing.T) {
	for code := range table {
		e := New(code)
		if e.Code != code || e.Header != nil {
			t.Errorf("New(%q) = %+v, want that code and no header", code, e)
		}
		if len(e.Sentence) < 15 || len(e.Sentence) > 140 || !strings.HasSuffix(e.Sentence, ".") || strings.ContainsAny(e.Sentence, "%\n") {
			t.Errorf("New(%q).Sentence = %q, want one short plain sentence", code, e.Sentence)
		}
		if len(e.Message) > 140 || strings.ContainsAny(e.Message, "%\n") {
			t.Errorf("New(%q).Message = %q, want a short plain sentence or none", code, e.Message)
		}
		if e.Message == e.Sentence {
			t.Errorf("New(%q) says %q twice", code, e.Message)
		}
	}
}

func TestUnknownCode(t *testing.T) {
	e := New("NoSuchCode")
	if e.Code != InternalError || e.Status != http.StatusInternalServerError || !strings.Contains(e.Message, "NoSuchCode") {
		t.Errorf("New(%q) = %v, want an InternalError that names it", "NoSuchCode", e)
	}
}

func TestWith(t *testing.T) {
	first := New(MissingRequiredHeader)
	first.Header = http.Header{"Allow": {"GET"}}
	before := *first
	second := first.With("The header %s is missing.", "x-ms-lease-duration")
	second.Header.Set("Allow", "PUT")
	if diff := cmp.Diff(&before, first); diff != "" {
		t.Errorf("With changed the error it was called on (-before +after):\n%s", diff)
	}
	want := &Error{
		Code: MissingRequiredHeader, Status: 400, Header: http.Header{"Allow": {"PUT"}},
		Sentence: "An HTTP header that's mandatory for this request is not specified.",
		Message:  "The header x-ms-lease-duration is missing.",
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("With(…) (-want +got):\n%s", diff)
	}
	if got := New(InvalidUri).With("100%").Message; got != "100%" {
		t.Errorf("With(%q).Message = %q, want it untouched", "100%", got)
	}
	if diff := cmp.Diff(New(BlobNotFound), New(BlobNotFound)); diff != "" {
		t.Errorf("New twice (-first +second):\n%s", diff)
	}
}

// Some codes of leases are a blob's and a container's.
func TestOfContainer(t *testing.T) {
	of := New(LeaseIdMissing)
	got := of.OfContainer().Sentence
	if want := "There is currently a lease on the container and no lease ID was specified in the request."; got != want {
		t.Errorf("OfContainer().Sentence = %q, want %q", got, want)
	}
	if diff := cmp.Diff(New(LeaseIdMissing), of); diff != "" {
		t.Errorf("OfContainer changed the error it was called on (-want +got):\n%s", diff)
	}
}

func TestError(t *testing.T) {
	err := fmt.Errorf("get: %w", New(ServerBusy).With("Busy."))
	if got, want := err.Error(), "get: 503 ServerBusy: Busy."; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != ServerBusy {
		t.Errorf("errors.As(%v) = %v, want ServerBusy", err, e)
	}
}

func TestHasCode(t *testing.T) {
	wrapped := fmt.Errorf("wrapped: %w", New(BlobNotFound))
	if !HasCode(wrapped, BlobNotFound) || HasCode(wrapped, BlobArchived) || HasCode(nil, BlobNotFound) || HasCode(errors.New("x"), BlobNotFound) {
		t.Error("HasCode does not go by the code")
	}
}
