package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/storetest"
)

// openMemory opens the embedded engine, which can do everything.
func openMemory(t testing.TB) leasehold.Store {
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: openMemory, Bubble: true})
}

func BenchmarkMemory(b *testing.B) { storetest.Bench(b, openMemory) }

// TestNaiveInRealTime runs the suite as stores in other processes must: with
// real waiting, all checks together, and clocks that no test controls.
func TestNaiveInRealTime(t *testing.T) {
	t.Parallel()
	h := naiveHarness(none)
	h.Bubble, h.Parallel = false, true
	storetest.Run(t, h)
}

// flaw is one broken promise of the naive store.
type flaw string

const (
	none                flaw = ""
	grantsTwice         flaw = "grants twice"
	repeatsTokens       flaw = "repeats tokens"
	losesReleases       flaw = "loses releases"
	revives             flaw = "revives"
	reusesIDs           flaw = "reuses ids"
	releasesEnded       flaw = "releases what has ended"
	breaksLate          flaw = "breaks late"
	growsRenewals       flaw = "grows renewals"
	releasesByName      flaw = "releases by name"
	acceptsAnything     flaw = "accepts anything"
	showsIDs            flaw = "shows ids"
	forcesSilently      flaw = "forces silently"
	sortsByFolding      flaw = "sorts by folding"
	servesLastFirst     flaw = "serves last first"
	ignoresPriority     flaw = "ignores priority"
	sleepsThroughExpiry flaw = "sleeps through expiry"
	forgetsTheDead      flaw = "forgets the dead"
	keepsUnreceived     flaw = "keeps unreceived grants"
	restartsTokens      flaw = "restarts tokens"
	stopsTime           flaw = "stops time while it is closed"
	letsIDsOvertake     flaw = "lets ids overtake"
	queuesRepeats       flaw = "queues repeats"
	foldsMetadata       flaw = "folds metadata"
	grantsHalf          flaw = "grants half of a set"
	ignoresModes        flaw = "ignores modes"
	keepsTokens         flaw = "keeps the token of an upgrade"
	breaksOnlyOne       flaw = "breaks only one of several"
	ignoresReservations flaw = "ignores reservations"
	reservesForEver     flaw = "reserves for ever"
	waitsInCycles       flaw = "waits in cycles"
	repeatsNotes        flaw = "shows a note twice"
	losesClaims         flaw = "loses claims when it closes"
)

// caught says which check must notice each flaw.
var caught = map[flaw]string{
	grantsTwice:         "Conflict/SaysWhoHolds",
	repeatsTokens:       "Acquire/TokensGrow",
	losesReleases:       "Acquire/MakesAnIDOfItsOwn",
	revives:             "Mistakes/RenewRevivesExpired",
	reusesIDs:           "IDs/EndedIsSpent",
	releasesEnded:       "Expire/TellsTheOwner",
	breaksLate:          "Break/FreesAtOnce",
	growsRenewals:       "Mistakes/RenewalLengthGrows",
	releasesByName:      "Mistakes/ReleaseByNameEndsNewerLease",
	acceptsAnything:     "Invalid/Acquire",
	showsIDs:            "Secrets/NoAnswerGivesAnIDAway",
	forcesSilently:      "Mistakes/ForceReleaseWithoutHistory",
	sortsByFolding:      "List/ByteOrder",
	servesLastFirst:     "Fairness/FirstComeFirstServed",
	ignoresPriority:     "Fairness/HigherPriorityFirst",
	sleepsThroughExpiry: "Wait/WokenByExpiry",
	forgetsTheDead:      "Mistakes/DeadWaiterBlocksFairQueue",
	keepsUnreceived:     "Context/UnreceivedGrantIsReleased",
	restartsTokens:      "Mistakes/TokenRepeatsAfterRestart",
	stopsTime:           "Mistakes/TimeStandsWhileTheStoreIsDown",
	letsIDsOvertake:     "Fairness/JoiningWithAnIDDoesNotOvertake",
	queuesRepeats:       "IdempotentAcquire/ByWaitWhileOthersWait",
	foldsMetadata:       "Names/MetadataIsPlainData",
	grantsHalf:          "Sets/AllOrNothing",
	ignoresModes:        "Modes/ExclusiveKeepsOthersOut",
	keepsTokens:         "SetIDs/UpgradeAndDowngrade",
	breaksOnlyOne:       "SetCalls/BreakByANameOfSeveral",
	ignoresReservations: "Reservation/ALargeSetIsNotStarved",
	reservesForEver:     "Reservation/EndsAfterOneTTL",
	waitsInCycles:       "Deadlock/OfTwo",
	repeatsNotes:        "Notes/OfASetAreShownOnce",
	losesClaims:         "Durability/SetsSurvive",
}

const flawVariable = "STORETEST_FLAW"

func naiveHarness(f flaw) storetest.Harness {
	return storetest.Harness{
		Open: func(t testing.TB) leasehold.Store {
			s := newNaive(f)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			s := old.(*naive).reopened()
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Bubble:  true,
		Without: []storetest.Capability{storetest.KeptPlaces, storetest.Settings, storetest.Cleanup, storetest.Watching, storetest.Waits},
	}
}

// TestNaive runs the suite on the naive store. With a flaw in the environment,
// which only TestFlawsAreCaught puts there, it is meant to fail.
func TestNaive(t *testing.T) {
	storetest.Run(t, naiveHarness(flaw(os.Getenv(flawVariable))))
}

// TestFlawsAreCaught shows that the suite can fail: a store that breaks a
// promise does not pass. A failing check needs a process of its own.
func TestFlawsAreCaught(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for f, check := range caught {
		t.Run(strings.ReplaceAll(string(f), " ", "-"), func(t *testing.T) {
			t.Parallel()
			run := exec.Command(self, "-test.run=^TestNaive$/^"+strings.ReplaceAll(check, "/", "$/^")+"$")
			run.Env = append(os.Environ(), flawVariable+"="+string(f))
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestNaive/"+check) {
				t.Errorf("a store that %s passes %s:\n%s", f, check, out)
			}
		})
	}
}
