// Package powers is the one table of what each kind of store lacks. The program
// refuses by it, the conformance suite holds every store to it, and the table in
// docs/choosing-a-store.md is tested against it.
package powers

import "slices"

// Power is something that a store may lack, in the words of package storetest.
type Power = string

// The powers, and what they mean to a user.
const (
	Waiting        Power = "waiting"
	Breaking       Power = "breaking"
	Changing       Power = "changing"
	Transfer       Power = "transfer"
	Finding        Power = "finding"
	Listing        Power = "listing"
	ForceRelease   Power = "force-release"
	ForceChildren  Power = "force-children"
	History        Power = "history"
	Settings       Power = "settings"
	Cleanup        Power = "cleanup"
	Watching       Power = "watching"
	Priorities     Power = "priorities"
	KeptPlaces     Power = "kept-places"
	ShownQueue     Power = "shown-queue"
	CancelRecords  Power = "cancel-records"
	WaitTimes      Power = "wait-times"
	MetadataFilter Power = "metadata-filter"
	Infinite       Power = "infinite"
	MaxRenewals    Power = "max-renewals"
	UniqueIDs      Power = "unique-ids"
	Memory         Power = "memory"
	ExpiryRecords  Power = "expiry-records"
	Downtime       Power = "downtime"
	HealthNames    Power = "health-names"
	Sets           Power = "sets"
	Notes          Power = "notes"
	Deadlocks      Power = "deadlocks"
	Waits          Power = "waits"
)

// All are the powers in the order of the document.
func All() []Power {
	return []Power{
		Waiting, Priorities, KeptPlaces, ShownQueue, WaitTimes, Waits, Deadlocks,
		Sets, Notes,
		Breaking, Changing, Transfer, ForceRelease, ForceChildren,
		Finding, Listing, MetadataFilter, Memory, UniqueIDs,
		Infinite, MaxRenewals, Downtime, HealthNames,
		History, ExpiryRecords, CancelRecords, Cleanup, Settings, Watching,
	}
}

// The kinds of stores.
const (
	KindMemory       = "memory"
	KindSQLite       = "sqlite"
	KindSQLiteShared = "sqlite-shared" // its errors say sqlite
	KindServer       = "server"        // another Leasehold server
	KindPostgres     = "postgres"
	KindRedis        = "redis"
	KindEtcd         = "etcd"
	KindSurreal      = "surreal"
	KindAzblob       = "azblob"
	KindCosmos       = "cosmos"
)

// Kinds are the kinds of stores in the order of the document.
func Kinds() []string {
	return []string{
		KindMemory, KindSQLite, KindSQLiteShared, KindServer, KindPostgres,
		KindRedis, KindEtcd, KindSurreal, KindAzblob, KindCosmos,
	}
}

// lacks is the table. A store has what is not listed.
var lacks = map[string][]Power{
	KindMemory:       {},
	KindSQLite:       {},
	KindSQLiteShared: {Waiting, Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, ForceChildren},
	KindServer:       {HealthNames, CancelRecords},
	KindPostgres:     {Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, ForceChildren},
	KindRedis:        {Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, ForceRelease, ForceChildren, Memory, Watching},
	KindEtcd:         {Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, ForceRelease, ForceChildren, Memory, ExpiryRecords},
	KindSurreal:      {Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, ForceChildren},
	KindAzblob: {
		Priorities, KeptPlaces, ShownQueue, Sets, Notes, Deadlocks, Waits, Transfer, ForceRelease, ForceChildren, Finding, Memory, UniqueIDs,
		MaxRenewals, History, Settings, Watching,
	},
	KindCosmos: {KeptPlaces, Sets, Notes, Deadlocks, Waits, ForceRelease, ForceChildren, History, Settings, Watching},
}

// Lacks returns what a kind of store lacks, for a harness as its capabilities.
func Lacks[P ~string](kind string) []P {
	lacking := make([]P, 0, len(lacks[kind]))
	for _, p := range lacks[kind] {
		lacking = append(lacking, P(p))
	}
	return lacking
}

// needs are the powers without which there is no other, as in the suite.
var needs = map[Power][]Power{
	Priorities: {Waiting}, KeptPlaces: {Waiting}, ShownQueue: {Waiting}, WaitTimes: {Waiting}, Deadlocks: {Waiting}, Waits: {Waiting},
	MetadataFilter: {Listing}, ExpiryRecords: {History}, CancelRecords: {History, Waiting},
}

// Has reports whether a kind of store has a power. An unknown kind has none.
func Has(kind string, p Power) bool {
	lacking, known := lacks[kind]
	if !known || slices.Contains(lacking, p) {
		return false
	}
	for _, needed := range needs[p] {
		if !Has(kind, needed) {
			return false
		}
	}
	return true
}
