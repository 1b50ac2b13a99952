package leasehold

import "time"

// Kind names what happened to a lease.
type Kind string

// The kinds of history records. A plain refusal costs no write and leaves no
// record; Failed is for waits that ended without a grant.
const (
	KindAcquired      Kind = "acquired"
	KindRenewed       Kind = "renewed"
	KindReleased      Kind = "released"
	KindExpired       Kind = "expired"
	KindBreaking      Kind = "breaking"
	KindBroken        Kind = "broken"
	KindChanged       Kind = "changed"
	KindTransferred   Kind = "transferred"
	KindForceReleased Kind = "force_released"
	KindFailed        Kind = "failed"
	KindPurged        Kind = "purged"     // retention dropped the oldest records
	KindConfigured    Kind = "configured" // a run-time setting was changed
)

var kinds = map[Kind]bool{
	KindAcquired: true, KindRenewed: true, KindReleased: true, KindExpired: true,
	KindBreaking: true, KindBroken: true, KindChanged: true, KindTransferred: true,
	KindForceReleased: true, KindFailed: true, KindPurged: true, KindConfigured: true,
}

// Record is one line of the history. It never carries a lease id: a lease is
// named by Resource and Token.
type Record struct {
	Seq      uint64    // commit order, without gaps in what is retained
	At       time.Time // wall clock
	Kind     Kind
	Resource string
	Holder   string
	Token    uint64
	Before   State
	After    State
	Renewals int
	Why      string            // who or what caused it, where that is not plain
	Details  map[string]string // what else is worth keeping
}

// HistoryRequest says which records to return. Since is inclusive, Until is
// exclusive; zero times do not filter.
type HistoryRequest struct {
	Resource     string
	Prefix       string // of the resource's name
	Holder       string
	Kind         Kind
	Since, Until time.Time
	Limit        int    // 1 … MaxPage; zero: DefaultPage
	Cursor       string // from the page before, with the same filters
}

// HistoryPage is one page of the history. Cursor is empty on the last one.
type HistoryPage struct {
	Records []Record
	Cursor  string
}
