package machine

// Policy names the differences between the two sets of rules. The zero value is
// Standard.
type Policy struct {
	// Revive: renewing an expired lease brings it back, as a new grant with a
	// new token. Otherwise nothing that has ended comes back.
	Revive bool

	// ReuseID: an acquire may propose the id of a lease that has ended.
	// Otherwise each lease needs a new id.
	ReuseID bool

	// ReleaseEnded: the id of an expired or broken lease can still be released,
	// which makes the resource available. Otherwise the lease is gone.
	ReleaseEnded bool

	// BreakEnded: breaking an expired or broken lease succeeds and leaves it
	// broken. Otherwise there is nothing to break.
	BreakEnded bool

	// BreakDrains: a break without a period lets a finite lease run to its end
	// and leaves one that is breaking as it is. Otherwise it frees at once.
	BreakDrains bool

	// ChangeToCurrent: a change that proposes the id already on record succeeds
	// whatever id it shows. Otherwise only the id before it does, or itself.
	ChangeToCurrent bool

	// ScopedIDs: ids are known only together with their resource, so the same
	// id may be live on several.
	ScopedIDs bool
}

// Standard are the rules of the JSON API, the Go library and every store.
var Standard = Policy{}

// Azure are the rules of the Azure Blob API.
var Azure = Policy{
	Revive:          true,
	ReuseID:         true,
	ReleaseEnded:    true,
	BreakEnded:      true,
	BreakDrains:     true,
	ChangeToCurrent: true,
	ScopedIDs:       true,
}
