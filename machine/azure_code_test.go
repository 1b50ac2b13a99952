package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

var periods = map[string]*time.Duration{
	"0": period(0), "n": period(askedTTL), "no period": nil,
}

// azureCode is the mapping of an Azure API in small: the code that Azure answers, from the verb and
// the outcome alone. It stands here to show that the outcome says enough.
func azureCode(operation string, o machine.Outcome) string {
	switch verb := strings.TrimSuffix(strings.Fields(operation)[0], ","); verb {
	case "acquire":
		return acquireCode(o)
	case "renew":
		return renewCode(o)
	case "change":
		return changeCode(o)
	case "release":
		return only(o, "LeaseIdMismatchWithLeaseOperation", leasehold.ReasonNotFound, leasehold.ReasonReleased)
	case "break":
		return only(o, "LeaseNotPresentWithLeaseOperation", leasehold.ReasonNotFound, leasehold.ReasonReleased)
	default:
		return "no code for " + verb
	}
}

func acquireCode(o machine.Outcome) string {
	if o.Reason == leasehold.ReasonBreaking && o.SameID {
		return "LeaseIsBreakingAndCannotBeAcquired"
	}
	return only(o, "LeaseAlreadyPresent", leasehold.ReasonHeld, leasehold.ReasonBreaking)
}

func renewCode(o machine.Outcome) string {
	switch o.Reason {
	case leasehold.ReasonBreaking, leasehold.ReasonBroken:
		return "LeaseIsBrokenAndCannotBeRenewed"
	}
	return only(o, "LeaseIdMismatchWithLeaseOperation", leasehold.ReasonNotFound, leasehold.ReasonReleased)
}

func changeCode(o machine.Outcome) string {
	switch {
	case !o.Row.State.Locked():
		return "LeaseNotPresentWithLeaseOperation"
	case o.Reason == leasehold.ReasonBreaking:
		return "LeaseIsBreakingAndCannotBeChanged"
	}
	return only(o, "LeaseIdMismatchWithLeaseOperation", leasehold.ReasonNotFound)
}

// only answers the code if the reason is one that this code may have.
func only(o machine.Outcome, code string, reasons ...leasehold.Reason) string {
	for _, r := range reasons {
		if r == o.Reason {
			return code
		}
	}
	return "no code for " + string(o.Reason)
}

// TestAzureSameID shows that SameID is about the id on record, whatever the
// answer is.
func TestAzureSameID(t *testing.T) {
	p := readTable(t, azureTable)
	p.each(t, azureVariants, func(t *testing.T, operation string, f variant, _ string) {
		shows := map[string]bool{"acquire A": true, "renew A": true, "release A": true, "change A→B": true}
		want := shows[operation] && f.row.ID == ids["A"]
		if got := azureOperation(t, operation, f.row).SameID; got != want {
			t.Errorf("SameID = %t, want %t", got, want)
		}
	})
}
