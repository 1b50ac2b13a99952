package fault

import "net/http"

// entry is what is known of a code.
type entry struct {
	status  int
	message string
}

// table is the one place where a code gets its status. Short names keep a line
// per code readable.
var table = map[string]entry{
	AccountIsDisabled:                 {forbidden, "The account is disabled."},
	AuthenticationFailed:              {forbidden, "The request could not be authenticated. Check the account name, the key and the signature."},
	AuthorizationFailure:              {forbidden, "The caller may not do this."},
	AuthorizationPermissionMismatch:   {forbidden, "The shared access signature does not hold the permission (sp) that this operation needs."},
	AuthorizationProtocolMismatch:     {forbidden, "The shared access signature allows another protocol (spr) than the one used."},
	AuthorizationResourceTypeMismatch: {forbidden, "The shared access signature is not for this type of resource (srt)."},
	AuthorizationServiceMismatch:      {forbidden, "The shared access signature is not for the blob service (ss)."},
	AuthorizationSourceIPMismatch:     {forbidden, "The shared access signature is not for the address (sip) that the request came from."},
	CorsPreflightFailure:              {forbidden, "CORS is not enabled here, or no rule matches this request."},
	InsufficientAccountPermissions:    {forbidden, "The account does not have the permissions that this operation needs."},
	InvalidAuthenticationInfo:         {bad, "The Authorization header is malformed. Send \"SharedKey account:signature\", or a shared access signature in the query."},
	NoAuthenticationInformation:       {unauthorized, "The request carries no credentials. Sign it with an account key, or add a shared access signature."},
	PublicAccessNotPermitted:          {conflict, "Public access is not permitted on this account."},
	UnauthorizedBlobOverwrite:         {forbidden, "The caller may create blobs but not overwrite them, and this blob exists."},

	ConditionHeadersNotSupported:         {bad, "This operation takes no conditional headers."},
	Crc64Mismatch:                        {bad, "The content does not have the CRC-64 that the request states. Send it again."},
	EmptyMetadataKey:                     {bad, "A metadata header has no name after x-ms-meta-."},
	InvalidHeaderValue:                   {bad, "The value of a header is not in the correct format."},
	InvalidHttpVerb:                      {bad, "The HTTP verb is not known."},
	InvalidInput:                         {bad, "An input of the request is not valid."},
	InvalidMd5:                           {bad, "The MD5 in the request is not valid. It must be 16 bytes in base64."},
	InvalidMetadata:                      {bad, "The metadata is not valid. Names must be identifiers: letters, digits and underscores, with no digit first."},
	InvalidOperation:                     {bad, "This operation cannot be done on this resource."},
	InvalidQueryParameterValue:           {bad, "The value of a query parameter is not valid."},
	InvalidRange:                         {unsatisfiable, "The range lies outside of the content."},
	InvalidResourceName:                  {bad, "The name of the container or blob has characters or a form that is not allowed."},
	InvalidUri:                           {bad, "The address does not name any resource of this server."},
	InvalidXmlDocument:                   {bad, "The body is not the XML that this operation expects."},
	InvalidXmlNodeValue:                  {bad, "The value of an element in the XML body is not in the correct format."},
	Md5Mismatch:                          {bad, "The content does not have the MD5 that the request states. Send it again."},
	MetadataTooLarge:                     {bad, "The metadata is larger than 8 KiB, names and values together."},
	MissingContentLengthHeader:           {http.StatusLengthRequired, "The Content-Length header is missing."},
	MissingRequiredHeader:                {bad, "A header that this operation needs is missing."},
	MissingRequiredQueryParameter:        {bad, "A query parameter that this operation needs is missing."},
	MissingRequiredXmlNode:               {bad, "An element that this operation needs is missing from the XML body."},
	MultipleConditionHeadersNotSupported: {bad, "This combination of conditional headers is not supported. Send one of them."},
	OutOfRangeInput:                      {bad, "An input of the request is out of range."},
	OutOfRangeQueryParameterValue:        {bad, "The value of a query parameter is out of range."},
	OutOfRangeXmlNodeValue:               {bad, "The value of an element in the XML body is out of range."},
	RequestBodyTooLarge:                  {http.StatusRequestEntityTooLarge, "The body is larger than this operation allows. Upload the content in blocks."},
	RequestUrlFailedToParse:              {bad, "The URL in the request cannot be parsed."},
	UnsupportedHeader:                    {bad, "A header of the request is not supported by this operation."},
	UnsupportedHttpVerb:                  {http.StatusMethodNotAllowed, "The resource does not support this HTTP verb."},
	UnsupportedQueryParameter:            {bad, "A query parameter of the request is not supported by this operation."},
	UnsupportedXmlNode:                   {bad, "An element of the XML body is not supported by this operation."},

	AppendPositionConditionNotMet:   {failed, "The blob does not end at the position that x-ms-blob-condition-appendpos states."},
	ConditionNotMet:                 {failed, "A condition in the request's headers is not met. Read the resource again and decide anew."},
	MaxBlobSizeConditionNotMet:      {failed, "The blob would grow past x-ms-blob-condition-maxsize."},
	SequenceNumberConditionNotMet:   {failed, "The condition on the page blob's sequence number is not met."},
	SequenceNumberIncrementTooLarge: {conflict, "The sequence number would grow past the largest value."},
	SourceConditionNotMet:           {failed, "A condition on the source of the copy is not met."},
	TargetConditionNotMet:           {failed, "A condition on the destination of the copy is not met."},
	UnsatisfiableCondition:          {bad, "The request holds a condition that this operation can never meet."},

	ContainerAlreadyExists: {conflict, "The container already exists."},
	ContainerBeingDeleted:  {conflict, "The container is being deleted. Try again later."},
	ContainerDisabled:      {conflict, "The container has been disabled by its administrator."},
	ContainerNotFound:      {missing, "The container does not exist. Create it first."},
	FeatureVersionMismatch: {conflict, "The blob uses a feature that this version of the operation does not have."},
	ResourceAlreadyExists:  {conflict, "The resource already exists."},
	ResourceNotFound:       {missing, "The resource does not exist."},
	ResourceTypeMismatch:   {conflict, "The resource is of another type than this operation works on."},

	AccessTierNotSupportedForBlobType:   {bad, "Blobs of this type do not have this access tier."},
	BlobAlreadyExists:                   {conflict, "The blob already exists."},
	BlobArchived:                        {conflict, "The blob is in the archive tier. Set another tier before reading it."},
	BlobBeingRehydrated:                 {conflict, "The blob is on its way out of the archive tier. Try again later."},
	BlobImmutableDueToPolicy:            {conflict, "A policy keeps the blob as it is."},
	BlobNotArchived:                     {conflict, "The blob is not in the archive tier."},
	BlobNotFound:                        {missing, "The blob does not exist."},
	BlobOperationNotSupported:           {conflict, "The blob does not support this operation."},
	BlobIsSealed:                        {conflict, "The blob is sealed, and takes no more blocks."},
	BlobOverwritten:                     {conflict, "The blob has been written anew since the previous snapshot."},
	BlobTierInadequateForContentLength:  {conflict, "The blob is larger than the tier allows."},
	BlobUsesCustomerSpecifiedEncryption: {conflict, "The blob is encrypted with a key of the customer's, which the request must carry."},
	BlockCountExceedsLimit:              {conflict, "The blob has as many blocks as a blob may have: 50,000 committed, 100,000 uncommitted."},
	BlockListTooLong:                    {bad, "A block list may name at most 50,000 blocks."},
	CannotChangeToLowerTier:             {conflict, "A higher tier has been set explicitly and stays."},
	ContentLengthLargerThanTierLimit:    {conflict, "The content is larger than the blob's tier allows."},
	DuplicateTagNames:                   {bad, "The same tag is named twice."},
	EmptyTagName:                        {bad, "A tag has no name."},
	InvalidBlobOrBlock:                  {bad, "The content of the blob or block is not valid. All block ids of a blob must have the same length."},
	InvalidBlobTier:                     {bad, "The access tier is not known or not valid for this blob."},
	InvalidBlobType:                     {conflict, "The blob is of another type than this operation works on."},
	InvalidBlockId:                      {bad, "The block id is not valid. It must be base64 of at most 64 bytes."},
	InvalidBlockList:                    {bad, "The block list names a block that the blob does not have. Put the block first."},
	InvalidPageRange:                    {unsatisfiable, "The page range is not valid. It must begin and end on 512-byte boundaries inside of the blob."},
	InvalidTag:                          {bad, "A tag is not valid. Names have 1 to 128 characters, values up to 256: letters, digits, space and + - . / : = _"},
	InvalidVersionForPageBlobOperation:  {bad, "Page blobs need x-ms-version 2009-09-19 or later."},
	OperationNotAllowedOnRootBlob:       {conflict, "This operation is not allowed on a blob of the root container."},
	TagsTooLarge:                        {bad, "A blob may have at most 10 tags."},

	BothUserTagsAndSourceTagsCopyPresentException: {bad, "Send either x-ms-tags or x-ms-copy-source-tag-option: COPY, not both."},
	CannotVerifyCopySource:                        {broken, "The source of the copy could not be read."},
	CopyAcrossAccountsNotSupported:                {conflict, "The source of the copy must be in the same account."},
	CopyIdMismatch:                                {conflict, "The copy in progress has another id."},
	IncrementalCopyBlobMismatch:                   {conflict, "The source is not a snapshot of the blob that earlier incremental copies came from."},
	IncrementalCopyOfEarlierSnapshotNotAllowed:    {conflict, "The snapshot is older than the one copied last."},
	IncrementalCopySourceMustBeSnapshot:           {conflict, "The source of an incremental copy must be a snapshot."},
	InvalidSourceBlobType:                         {conflict, "The source of the copy is of another type than this operation works on."},
	InvalidSourceBlobUrl:                          {conflict, "The source URL of an incremental copy is not valid."},
	NoPendingCopyOperation:                        {conflict, "No copy is in progress: it has ended, or there was none."},
	OperationNotAllowedOnIncrementalCopyBlob:      {conflict, "This operation is not allowed on a blob made by incremental copies."},
	PendingCopyOperation:                          {conflict, "A copy to this blob is in progress. Wait for it or abort it."},

	PreviousSnapshotCannotBeNewer:         {bad, "The previous snapshot (prevsnapshot) is newer than the one asked for."},
	PreviousSnapshotNotFound:              {conflict, "The previous snapshot (prevsnapshot) does not exist."},
	PreviousSnapshotOperationNotSupported: {conflict, "Differences to a previous snapshot are not supported for this blob."},
	SnapshotCountExceeded:                 {conflict, "The blob has as many snapshots as a blob may have. Delete some."},
	SnapshotOperationRateExceeded:         {conflict, "Snapshots of this blob are made too fast. Wait and try again."},
	SnapshotsPresent:                      {conflict, "The blob has snapshots. Delete them with x-ms-delete-snapshots: include, or delete only them with: only."},

	InfiniteLeaseDurationRequired:         {failed, "The lease on the destination must be infinite while a copy is in progress."},
	LeaseAlreadyBroken:                    {conflict, "The lease is broken already."},
	LeaseAlreadyPresent:                   {conflict, "The resource is leased already. Wait until that lease ends, or break it."},
	LeaseIdMismatch:                       {failed, "The lease id is not the one of the current lease."},
	LeaseIdMismatchWithBlobOperation:      {failed, "The lease id is not the one of the blob's lease."},
	LeaseIdMismatchWithContainerOperation: {failed, "The lease id is not the one of the container's lease."},
	LeaseIdMismatchWithLeaseOperation:     {conflict, "The lease id is not the one of the current lease."},
	LeaseIdMissing:                        {failed, "The resource is leased, and the request has no lease id. Send x-ms-lease-id."},
	LeaseIsBreakingAndCannotBeAcquired:    {conflict, "The lease is being broken. It can be acquired when its break period has passed."},
	LeaseIsBreakingAndCannotBeChanged:     {conflict, "The lease is being broken, so its id cannot be changed."},
	LeaseIsBrokenAndCannotBeRenewed:       {conflict, "The lease has been broken and cannot be renewed. Acquire a new one."},
	LeaseLost:                             {failed, "The lease that the request names has expired."},
	LeaseNotFound:                         {missing, "There is no lease, or it has ended."},
	LeaseNotPresentWithBlobOperation:      {failed, "The request has a lease id, but the blob is not leased. The lease may have expired."},
	LeaseNotPresentWithContainerOperation: {failed, "The request has a lease id, but the container is not leased. The lease may have expired."},
	LeaseNotPresentWithLeaseOperation:     {conflict, "There is no lease that could be changed or broken."},

	InsufficientStorage: {http.StatusInsufficientStorage, "The server's disk is full. Reads, deletes and leases go on: delete blobs, or ask the operator for space."},

	InternalError:     {broken, "The server failed. Try again; its log tells more."},
	NotImplemented:    {http.StatusNotImplemented, "This server does not offer this operation."},
	OperationTimedOut: {broken, "The operation did not end in time. It may or may not have been done: read before you try again."},
	ServerBusy:        {http.StatusServiceUnavailable, "The server is busy. Wait a moment and try again."},
	SystemInUse:       {conflict, "The blob is in use by the server itself."},
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
