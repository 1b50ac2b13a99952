package azerr

// Authentication and authorization.
const (
	AccountIsDisabled                 = "AccountIsDisabled"
	AuthenticationFailed              = "AuthenticationFailed"
	AuthorizationFailure              = "AuthorizationFailure"
	AuthorizationPermissionMismatch   = "AuthorizationPermissionMismatch"
	AuthorizationProtocolMismatch     = "AuthorizationProtocolMismatch"
	AuthorizationResourceTypeMismatch = "AuthorizationResourceTypeMismatch"
	AuthorizationServiceMismatch      = "AuthorizationServiceMismatch"
	AuthorizationSourceIPMismatch     = "AuthorizationSourceIPMismatch"
	InsufficientAccountPermissions    = "InsufficientAccountPermissions"
	InvalidAuthenticationInfo         = "InvalidAuthenticationInfo"
	NoAuthenticationInformation       = "NoAuthenticationInformation"
	PublicAccessNotPermitted          = "PublicAccessNotPermitted"
	UnauthorizedBlobOverwrite         = "UnauthorizedBlobOverwrite"
	CorsPreflightFailure              = "CorsPreflightFailure"
)

// The request itself: address, verb, headers, query, XML, body.
const (
	ConditionHeadersNotSupported         = "ConditionHeadersNotSupported"
	Crc64Mismatch                        = "Crc64Mismatch"
	EmptyMetadataKey                     = "EmptyMetadataKey"
	InvalidHeaderValue                   = "InvalidHeaderValue"
	InvalidHttpVerb                      = "InvalidHttpVerb"
	InvalidInput                         = "InvalidInput"
	InvalidMd5                           = "InvalidMd5"
	InvalidMetadata                      = "InvalidMetadata"
	InvalidOperation                     = "InvalidOperation"
	InvalidQueryParameterValue           = "InvalidQueryParameterValue"
	InvalidRange                         = "InvalidRange"
	InvalidResourceName                  = "InvalidResourceName"
	InvalidUri                           = "InvalidUri"
	InvalidXmlDocument                   = "InvalidXmlDocument"
	InvalidXmlNodeValue                  = "InvalidXmlNodeValue"
	Md5Mismatch                          = "Md5Mismatch"
	MetadataTooLarge                     = "MetadataTooLarge"
	MissingContentLengthHeader           = "MissingContentLengthHeader"
	MissingRequiredHeader                = "MissingRequiredHeader"
	MissingRequiredQueryParameter        = "MissingRequiredQueryParameter"
	MissingRequiredXmlNode               = "MissingRequiredXmlNode"
	MultipleConditionHeadersNotSupported = "MultipleConditionHeadersNotSupported"
	OutOfRangeInput                      = "OutOfRangeInput"
	OutOfRangeQueryParameterValue        = "OutOfRangeQueryParameterValue"
	OutOfRangeXmlNodeValue               = "OutOfRangeXmlNodeValue"
	RequestBodyTooLarge                  = "RequestBodyTooLarge"
	RequestUrlFailedToParse              = "RequestUrlFailedToParse"
	UnsupportedHeader                    = "UnsupportedHeader"
	UnsupportedHttpVerb                  = "UnsupportedHttpVerb"
	UnsupportedQueryParameter            = "UnsupportedQueryParameter"
	UnsupportedXmlNode                   = "UnsupportedXmlNode"
)

// Conditional headers. ConditionNotMet is 412, as writes answer it; a read sets
// the Status to 304 itself.
const (
	AppendPositionConditionNotMet   = "AppendPositionConditionNotMet"
	ConditionNotMet                 = "ConditionNotMet"
	MaxBlobSizeConditionNotMet      = "MaxBlobSizeConditionNotMet"
	SequenceNumberConditionNotMet   = "SequenceNumberConditionNotMet"
	SequenceNumberIncrementTooLarge = "SequenceNumberIncrementTooLarge"
	SourceConditionNotMet           = "SourceConditionNotMet"
	TargetConditionNotMet           = "TargetConditionNotMet"
	UnsatisfiableCondition          = "UnsatisfiableCondition"
)

// Containers and the service.
const (
	ContainerAlreadyExists = "ContainerAlreadyExists"
	ContainerBeingDeleted  = "ContainerBeingDeleted"
	ContainerDisabled      = "ContainerDisabled"
	ContainerNotFound      = "ContainerNotFound"
	FeatureVersionMismatch = "FeatureVersionMismatch"
	ResourceAlreadyExists  = "ResourceAlreadyExists"
	ResourceNotFound       = "ResourceNotFound"
	ResourceTypeMismatch   = "ResourceTypeMismatch"
)

// Blobs of every kind: content, blocks, pages, tiers, tags.
const (
	AccessTierNotSupportedForBlobType   = "AccessTierNotSupportedForBlobType"
	BlobAlreadyExists                   = "BlobAlreadyExists"
	BlobArchived                        = "BlobArchived"
	BlobBeingRehydrated                 = "BlobBeingRehydrated"
	BlobImmutableDueToPolicy            = "BlobImmutableDueToPolicy"
	BlobIsSealed                        = "BlobIsSealed"
	BlobNotArchived                     = "BlobNotArchived"
	BlobNotFound                        = "BlobNotFound"
	BlobOperationNotSupported           = "BlobOperationNotSupported"
	BlobOverwritten                     = "BlobOverwritten"
	BlobTierInadequateForContentLength  = "BlobTierInadequateForContentLength"
	BlobUsesCustomerSpecifiedEncryption = "BlobUsesCustomerSpecifiedEncryption"
	BlockCountExceedsLimit              = "BlockCountExceedsLimit"
	BlockListTooLong                    = "BlockListTooLong"
	CannotChangeToLowerTier             = "CannotChangeToLowerTier"
	ContentLengthLargerThanTierLimit    = "ContentLengthLargerThanTierLimit"
	DuplicateTagNames                   = "DuplicateTagNames"
	EmptyTagName                        = "EmptyTagName"
	InvalidBlobOrBlock                  = "InvalidBlobOrBlock"
	InvalidBlobTier                     = "InvalidBlobTier"
	InvalidBlobType                     = "InvalidBlobType"
	InvalidBlockId                      = "InvalidBlockId"
	InvalidBlockList                    = "InvalidBlockList"
	InvalidPageRange                    = "InvalidPageRange"
	InvalidTag                          = "InvalidTag"
	InvalidVersionForPageBlobOperation  = "InvalidVersionForPageBlobOperation"
	OperationNotAllowedOnRootBlob       = "OperationNotAllowedOnRootBlob"
	TagsTooLarge                        = "TagsTooLarge"
)

// Copies.
const (
	BothUserTagsAndSourceTagsCopyPresentException = "BothUserTagsAndSourceTagsCopyPresentException"
	CannotVerifyCopySource                        = "CannotVerifyCopySource"
	CopyAcrossAccountsNotSupported                = "CopyAcrossAccountsNotSupported"
	CopyIdMismatch                                = "CopyIdMismatch"
	IncrementalCopyBlobMismatch                   = "IncrementalCopyBlobMismatch"
	IncrementalCopyOfEarlierSnapshotNotAllowed    = "IncrementalCopyOfEarlierSnapshotNotAllowed"
	IncrementalCopySourceMustBeSnapshot           = "IncrementalCopySourceMustBeSnapshot"
	InvalidSourceBlobType                         = "InvalidSourceBlobType"
	InvalidSourceBlobUrl                          = "InvalidSourceBlobUrl"
	NoPendingCopyOperation                        = "NoPendingCopyOperation"
	OperationNotAllowedOnIncrementalCopyBlob      = "OperationNotAllowedOnIncrementalCopyBlob"
	PendingCopyOperation                          = "PendingCopyOperation"
)

// Snapshots.
const (
	PreviousSnapshotCannotBeNewer         = "PreviousSnapshotCannotBeNewer"
	PreviousSnapshotNotFound              = "PreviousSnapshotNotFound"
	PreviousSnapshotOperationNotSupported = "PreviousSnapshotOperationNotSupported"
	SnapshotCountExceeded                 = "SnapshotCountExceeded"
	SnapshotOperationRateExceeded         = "SnapshotOperationRateExceeded"
	SnapshotsPresent                      = "SnapshotsPresent"
)

// Leases. LeaseNotFound and LeaseIdMismatch are not Azure's: they are the
// plain API's, after the emulator LocalZure.
const (
	InfiniteLeaseDurationRequired         = "InfiniteLeaseDurationRequired"
	LeaseAlreadyBroken                    = "LeaseAlreadyBroken"
	LeaseAlreadyPresent                   = "LeaseAlreadyPresent"
	LeaseIdMismatch                       = "LeaseIdMismatch"
	LeaseIdMismatchWithBlobOperation      = "LeaseIdMismatchWithBlobOperation"
	LeaseIdMismatchWithContainerOperation = "LeaseIdMismatchWithContainerOperation"
	LeaseIdMismatchWithLeaseOperation     = "LeaseIdMismatchWithLeaseOperation"
	LeaseIdMissing                        = "LeaseIdMissing"
	LeaseIsBreakingAndCannotBeAcquired    = "LeaseIsBreakingAndCannotBeAcquired"
	LeaseIsBreakingAndCannotBeChanged     = "LeaseIsBreakingAndCannotBeChanged"
	LeaseIsBrokenAndCannotBeRenewed       = "LeaseIsBrokenAndCannotBeRenewed"
	LeaseLost                             = "LeaseLost"
	LeaseNotFound                         = "LeaseNotFound"
	LeaseNotPresentWithBlobOperation      = "LeaseNotPresentWithBlobOperation"
	LeaseNotPresentWithContainerOperation = "LeaseNotPresentWithContainerOperation"
	LeaseNotPresentWithLeaseOperation     = "LeaseNotPresentWithLeaseOperation"
)

// Failures of the server itself.
const (
	// InsufficientStorage is not among Azure's, whose disks are never full.
	InsufficientStorage = "InsufficientStorage"

	InternalError     = "InternalError"
	NotImplemented    = "NotImplemented"
	OperationTimedOut = "OperationTimedOut"
	ServerBusy        = "ServerBusy"
	SystemInUse       = "SystemInUse"
)
