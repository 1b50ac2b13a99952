package azerr

import "net/http"

// entry is what is known of a code.
type entry struct {
	status   int
	sentence string // Azure's own, word for word
	message  string // what this server adds; "" if that sentence says it all
}

// table is the one place where a code gets its status and its sentences. Short
// names keep a line per code readable.
var table = map[string]entry{
	AccountIsDisabled:                 {forbidden, "The specified account is disabled.", ""},
	AuthenticationFailed:              {forbidden, "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.", "Check the account's name, the key and the signature."},
	AuthorizationFailure:              {forbidden, "This request is not authorized to perform this operation.", ""},
	AuthorizationPermissionMismatch:   {forbidden, "This request is not authorized to perform this operation using this permission.", "The shared access signature does not hold the permission (sp) that this operation needs."},
	AuthorizationProtocolMismatch:     {forbidden, "This request is not authorized to perform this operation using this protocol.", "The shared access signature allows another protocol (spr) than the one used."},
	AuthorizationResourceTypeMismatch: {forbidden, "This request is not authorized to perform this operation using this resource type.", "The shared access signature is not for this type of resource (srt)."},
	AuthorizationServiceMismatch:      {forbidden, "This request is not authorized to perform this operation using this service.", "The shared access signature is not for the blob service (ss)."},
	AuthorizationSourceIPMismatch:     {forbidden, "This request is not authorized to perform this operation using this source IP.", "The shared access signature is not for the address (sip) that the request came from."},
	CorsPreflightFailure:              {forbidden, "CORS not enabled or no matching rule found for this request.", ""},
	InsufficientAccountPermissions:    {forbidden, "The account being accessed does not have sufficient permissions to execute this operation.", ""},
	InvalidAuthenticationInfo:         {bad, "Authentication information is not given in the correct format. Check the value of Authorization header.", "Send \"SharedKey account:signature\", or a shared access signature in the query."},
	NoAuthenticationInformation:       {unauthorized, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.", "Sign the request with an account key, or add a shared access signature."},
	PublicAccessNotPermitted:          {conflict, "Public access is not permitted on this storage account.", ""},
	UnauthorizedBlobOverwrite:         {forbidden, "This request is not authorized to perform blob overwrites.", "The caller may create blobs but not overwrite them, and this blob exists."},

	ConditionHeadersNotSupported:         {bad, "Condition headers are not supported.", ""},
	Crc64Mismatch:                        {bad, "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.", "Send the content again."},
	EmptyMetadataKey:                     {bad, "The key for one of the metadata key-value pairs is empty.", "A metadata header has no name after x-ms-meta-."},
	InvalidHeaderValue:                   {bad, "The value for one of the HTTP headers is not in the correct format.", ""},
	InvalidHttpVerb:                      {bad, "The HTTP verb specified is invalid - it is not recognized by the server.", ""},
	InvalidInput:                         {bad, "One of the request inputs is not valid.", ""},
	InvalidMd5:                           {bad, "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.", ""},
	InvalidMetadata:                      {bad, "The metadata specified is invalid. It has characters that are not permitted.", "Names must be identifiers: letters, digits and underscores, with no digit first."},
	InvalidOperation:                     {bad, "Invalid operation against a blob snapshot.", ""},
	InvalidQueryParameterValue:           {bad, "Value for one of the query parameters specified in the request URI is invalid.", ""},
	InvalidRange:                         {unsatisfiable, "The range specified is invalid for the current size of the resource.", ""},
	InvalidResourceName:                  {bad, "The specifed resource name contains invalid characters.", ""}, // Azure's spelling
	InvalidUri:                           {bad, "The requested URI does not represent any resource on the server.", ""},
	InvalidXmlDocument:                   {bad, "XML specified is not syntactically valid.", ""},
	InvalidXmlNodeValue:                  {bad, "The value for one of the XML nodes is not in the correct format.", ""},
	Md5Mismatch:                          {bad, "The MD5 value specified in the request did not match with the MD5 value calculated by the server.", "Send the content again."},
	MetadataTooLarge:                     {bad, "The metadata specified exceeds the maximum permissible limit (8KB).", "Names and values are counted together."},
	MissingContentLengthHeader:           {http.StatusLengthRequired, "Content-Length HTTP header is missing.", ""},
	MissingRequiredHeader:                {bad, "An HTTP header that's mandatory for this request is not specified.", ""},
	MissingRequiredQueryParameter:        {bad, "A query parameter that's mandatory for this request is not specified.", ""},
	MissingRequiredXmlNode:               {bad, "An XML node that's mandatory for this request is not specified.", ""},
	MultipleConditionHeadersNotSupported: {bad, "Multiple condition headers are not supported.", "Send one of them."},
	OutOfRangeInput:                      {bad, "One of the request inputs is out of range.", ""},
	OutOfRangeQueryParameterValue:        {bad, "One of the query parameters specified in the request URI is outside the permissible range.", ""},
	OutOfRangeXmlNodeValue:               {bad, "One of the XML nodes specified in the request body is outside the permissible range.", ""},
	RequestBodyTooLarge:                  {http.StatusRequestEntityTooLarge, "The request body is too large and exceeds the maximum permissible limit.", "Upload the content in blocks."},
	RequestUrlFailedToParse:              {bad, "The url in the request could not be parsed.", ""},
	UnsupportedHeader:                    {bad, "One of the HTTP headers specified in the request is not supported.", ""},
	UnsupportedHttpVerb:                  {http.StatusMethodNotAllowed, "The resource doesn't support specified Http Verb.", ""},
	UnsupportedQueryParameter:            {bad, "One of the query parameters specified in the request URI is not supported.", ""},
	UnsupportedXmlNode:                   {bad, "One of the XML nodes specified in the request body is not supported.", ""},

	AppendPositionConditionNotMet:   {failed, "The append position condition specified was not met.", "The blob does not end at the position that x-ms-blob-condition-appendpos states."},
	ConditionNotMet:                 {failed, "The condition specified using HTTP conditional header(s) is not met.", "Read the resource again and decide anew."},
	MaxBlobSizeConditionNotMet:      {failed, "The max blob size condition specified was not met.", "The blob would grow past x-ms-blob-condition-maxsize."},
	SequenceNumberConditionNotMet:   {failed, "The sequence number condition specified was not met.", ""},
	SequenceNumberIncrementTooLarge: {conflict, "The sequence number increment cannot be performed because it would result in overflow of the sequence number.", ""},
	SourceConditionNotMet:           {failed, "The source condition specified using HTTP conditional header(s) is not met.", ""},
	TargetConditionNotMet:           {failed, "The target condition specified using HTTP conditional header(s) is not met.", ""},
	UnsatisfiableCondition:          {bad, "The request includes an unsatisfiable condition for this operation.", ""},

	ContainerAlreadyExists: {conflict, "The specified container already exists.", ""},
	ContainerBeingDeleted:  {conflict, "The specified container is being deleted. Try operation later.", ""},
	ContainerDisabled:      {conflict, "The specified container has been disabled by the administrator.", ""},
	ContainerNotFound:      {missing, "The specified container does not exist.", "Create it first."},
	FeatureVersionMismatch: {conflict, "The type of a blob in the container is unrecognized by this version.", ""},
	ResourceAlreadyExists:  {conflict, "The specified resource already exists.", ""},
	ResourceNotFound:       {missing, "The specified resource does not exist.", ""},
	ResourceTypeMismatch:   {conflict, "The specified resource type does not match the type of the existing resource.", ""},

	AccessTierNotSupportedForBlobType:   {bad, "The access tier is not supported for this blob type.", ""},
	BlobAlreadyExists:                   {conflict, "The specified blob already exists.", ""},
	BlobArchived:                        {conflict, "This operation is not permitted on an archived blob.", "Set another tier before reading it."},
	BlobBeingRehydrated:                 {conflict, "This operation is not permitted because the blob is being rehydrated.", ""},
	BlobImmutableDueToPolicy:            {conflict, "This operation is not permitted as the blob is immutable due to a policy.", ""},
	BlobNotArchived:                     {conflict, "This blob is currently not in the archived state.", ""},
	BlobNotFound:                        {missing, "The specified blob does not exist.", ""},
	BlobOperationNotSupported:           {conflict, "The operation is not supported in this scenario.", ""},
	BlobIsSealed:                        {conflict, "The specified blob is sealed and its contents can't be modified unless the blob is re-created after a delete.", "It takes no more blocks."},
	BlobOverwritten:                     {conflict, "The blob has been recreated since the previous snapshot was taken.", ""},
	BlobTierInadequateForContentLength:  {conflict, "Specified blob tier size limit cannot be less than content length.", ""},
	BlobUsesCustomerSpecifiedEncryption: {conflict, "The blob is encrypted with customer specified encryption, but it was not provided in the request.", ""},
	BlockCountExceedsLimit:              {conflict, "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.", ""},
	BlockListTooLong:                    {bad, "The block list may not contain more than 50,000 blocks.", ""},
	CannotChangeToLowerTier:             {conflict, "A higher blob tier has already been explicitly set.", ""},
	ContentLengthLargerThanTierLimit:    {conflict, "The blob's content length cannot exceed its tier limit.", ""},
	DuplicateTagNames:                   {bad, "The tags specified contain duplicate names.", ""},
	EmptyTagName:                        {bad, "The name of one of the tag key-value pairs is empty.", ""},
	InvalidBlobOrBlock:                  {bad, "The specified blob or block content is invalid.", "All block ids of a blob must have the same length."},
	InvalidBlobTier:                     {bad, "The specified blob tier is invalid.", ""},
	InvalidBlobType:                     {conflict, "The blob type is invalid for this operation.", ""},
	InvalidBlockId:                      {bad, "The specified block ID is invalid. The block ID must be Base64-encoded.", "It has at most 64 bytes before it is encoded."},
	InvalidBlockList:                    {bad, "The specified block list is invalid.", "It names a block that the blob does not have. Put the block first."},
	InvalidPageRange:                    {unsatisfiable, "The page range specified is invalid.", "It must begin and end on 512-byte boundaries inside of the blob."},
	InvalidTag:                          {bad, "The tags specified are invalid. It contains characters that are not permitted.", "Names have 1 to 128 characters, values up to 256: letters, digits, space and + - . / : = _"},
	InvalidVersionForPageBlobOperation:  {bad, "All operations on page blobs require at least version 2009-09-19.", ""},
	OperationNotAllowedOnRootBlob:       {conflict, "This operation is not allowed on a blob of the root container.", ""},
	TagsTooLarge:                        {bad, "The tags specified exceed the maximum permissible limit.", "A blob may have at most 10 tags."},

	BothUserTagsAndSourceTagsCopyPresentException: {bad, "x-ms-tags header must not be present with x-ms-copy-source-tag-option as COPY.", ""},
	CannotVerifyCopySource:                        {broken, "Could not verify the copy source within the specified time.", ""},
	CopyAcrossAccountsNotSupported:                {conflict, "The copy source account and destination account must be the same.", ""},
	CopyIdMismatch:                                {conflict, "The specified copy ID did not match the copy ID for the pending copy operation.", ""},
	IncrementalCopyBlobMismatch:                   {conflict, "The specified source blob is different than the copy source of the existing incremental copy blob.", ""},
	IncrementalCopyOfEarlierSnapshotNotAllowed:    {conflict, "The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.", ""},
	IncrementalCopySourceMustBeSnapshot:           {conflict, "The source for incremental copy request must be a snapshot.", ""},
	InvalidSourceBlobType:                         {conflict, "The copy source blob type is invalid for this operation.", ""},
	InvalidSourceBlobUrl:                          {conflict, "The source URL for incremental copy request must be valid Azure Storage blob URL.", ""},
	NoPendingCopyOperation:                        {conflict, "There is currently no pending copy operation.", "A copy here has ended before it is answered."},
	OperationNotAllowedOnIncrementalCopyBlob:      {conflict, "The specified operation is not allowed on an incremental copy blob.", ""},
	PendingCopyOperation:                          {conflict, "There is currently a pending copy operation.", ""},

	PreviousSnapshotCannotBeNewer:         {bad, "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.", ""},
	PreviousSnapshotNotFound:              {conflict, "The previous snapshot is not found.", ""},
	PreviousSnapshotOperationNotSupported: {conflict, "Differential Get Page Ranges is not supported on the previous snapshot.", ""},
	SnapshotCountExceeded:                 {conflict, "The snapshot count against this blob has been exceeded.", ""},
	SnapshotOperationRateExceeded:         {conflict, "The rate of snapshot operations against this blob has been exceeded.", ""},
	SnapshotsPresent:                      {conflict, "This operation is not permitted because the blob has snapshots.", "Delete them with x-ms-delete-snapshots: include, or delete only them with: only."},

	InfiniteLeaseDurationRequired:         {failed, "The lease ID matched, but the specified lease must be an infinite-duration lease.", ""},
	LeaseAlreadyBroken:                    {conflict, "The lease has already been broken and cannot be broken again.", ""},
	LeaseAlreadyPresent:                   {conflict, "There is already a lease present.", "Wait until that lease ends, or break it."},
	LeaseIdMismatch:                       {failed, "The lease ID specified did not match the lease ID for the blob.", ""},
	LeaseIdMismatchWithBlobOperation:      {failed, "The lease ID specified did not match the lease ID for the blob.", ""},
	LeaseIdMismatchWithContainerOperation: {failed, "The lease ID specified did not match the lease ID for the container.", ""},
	LeaseIdMismatchWithLeaseOperation:     {conflict, "The lease ID specified did not match the lease ID for the blob.", ""},
	LeaseIdMissing:                        {failed, "There is currently a lease on the blob and no lease ID was specified in the request.", "Send x-ms-lease-id."},
	LeaseIsBreakingAndCannotBeAcquired:    {conflict, "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.", "It can be acquired when its break period has passed."},
	LeaseIsBreakingAndCannotBeChanged:     {conflict, "The lease ID matched, but the lease is currently in breaking state and cannot be changed.", ""},
	LeaseIsBrokenAndCannotBeRenewed:       {conflict, "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.", "Acquire a new one."},
	LeaseLost:                             {failed, "A lease ID was specified, but the lease for the blob has expired.", ""},
	LeaseNotFound:                         {missing, "There is currently no lease on the blob.", "It has ended, or there was none."},
	LeaseNotPresentWithBlobOperation:      {failed, "There is currently no lease on the blob.", "The request has a lease id; its lease may have expired."},
	LeaseNotPresentWithContainerOperation: {failed, "There is currently no lease on the container.", "The request has a lease id; its lease may have expired."},
	LeaseNotPresentWithLeaseOperation:     {conflict, "There is currently no lease on the blob.", ""},

	InsufficientStorage: {http.StatusInsufficientStorage, "The server's disk is full.", "Reads, deletes and leases go on: delete blobs, or ask the operator for space."},

	InternalError:     {broken, "Server encountered an internal error. Please try again after some time.", "The server's log tells more."},
	NotImplemented:    {http.StatusNotImplemented, "The requested operation is not implemented on the specified resource.", ""},
	OperationTimedOut: {broken, "Operation could not be completed within the specified time.", "It may or may not have been done: read before you try again."},
	ServerBusy:        {http.StatusServiceUnavailable, "The server is busy.", "Wait a moment and try again."},
	SystemInUse:       {conflict, "This blob is in use by the system.", ""},
}

const (
	bad           = http.StatusBadRequest
	unauthorized  = http.StatusUnauthorized
	forbidden     = http.StatusForbidden
	missing       = http.StatusNotFound
	conflict      = http.StatusConflict
	failed        = http.StatusPreconditionFailed
	unsatisfiable = http.StatusRequestedRangeNotSatisfiable
	broken        = http.StatusInternalServerError
)
