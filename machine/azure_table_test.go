package machine_test

import (
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// azureTable is the table of lease operations of the Azure Blob service, cell
// by cell. A is the id on record, B and C are others, X is made by the server.
// Acquire asks for 30 s; "break n" is for 30 s. "Available" is a blob that was
// never leased, and one whose lease was released.
//
// "Renew A" on an expired lease holds while the blob was neither written nor
// leased since; leasing puts another id on record, and a write makes the row
// available (see the guard's table). A container is not guarded against
// writes of its blobs, so its lease can always be revived: the difference lies
// in who calls Guard, not in the machine.
const azureTable = `
operation        | available                                | leased(A)                                                                      | breaking(A)                              | broken(A)                           | expired(A)
acquire, no id   | active(X) new 30s acquired               | 409 LeaseAlreadyPresent                                                        | 409 LeaseAlreadyPresent                  | active(X) new 30s acquired          | active(X) new 30s acquired
acquire A        | active(A) new 30s acquired               | active(A) same 30s renewed again                                               | 409 LeaseIsBreakingAndCannotBeAcquired   | active(A) new 30s acquired          | active(A) new 30s acquired
acquire B        | active(B) new 30s acquired               | 409 LeaseAlreadyPresent                                                        | 409 LeaseAlreadyPresent                  | active(B) new 30s acquired          | active(B) new 30s acquired
renew A          | 409 LeaseIdMismatchWithLeaseOperation    | active(A) same ttl renewed                                                     | 409 LeaseIsBrokenAndCannotBeRenewed      | 409 LeaseIsBrokenAndCannotBeRenewed | active(A) new ttl acquired
renew B          | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseIdMismatchWithLeaseOperation                                          | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation
change A→B       | 409 LeaseNotPresentWithLeaseOperation    | active(B) same kept changed                                                    | 409 LeaseIsBreakingAndCannotBeChanged    | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
change B→A       | 409 LeaseNotPresentWithLeaseOperation    | active(A) same kept - again                                                    | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
change B→C       | 409 LeaseNotPresentWithLeaseOperation    | 409 LeaseIdMismatchWithLeaseOperation                                          | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
release A        | 409 LeaseIdMismatchWithLeaseOperation    | released(A) same over released                                                 | released(A) same over released           | released(A) same over released      | released(A) same over released
release B        | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseIdMismatchWithLeaseOperation                                          | 409 LeaseIdMismatchWithLeaseOperation    | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation
break 0          | 409 LeaseNotPresentWithLeaseOperation    | broken(A) same over broken                                                     | broken(A) same over broken               | broken(A) same over -               | broken(A) same over broken
break n          | 409 LeaseNotPresentWithLeaseOperation    | breaking(A) same min(30s) breaking                                             | breaking(A) same min(30s) -              | broken(A) same over -               | broken(A) same over broken
break, no period | 409 LeaseNotPresentWithLeaseOperation    | breaking(A) same kept breaking; infinite: broken(A) same over broken           | breaking(A) same kept -                  | broken(A) same over -               | broken(A) same over broken
`

func TestAzureTable(t *testing.T) {
	p := readTable(t, azureTable)
	if got, want := p.count(), 13*5; got != want {
		t.Fatalf("the table has %d cells, want %d", got, want)
	}
	p.each(t, azureVariants, func(t *testing.T, operation string, f variant, cell string) {
		o := azureOperation(t, operation, f.row)
		if code, refused := strings.CutPrefix(cell, "409 "); refused {
			verifyAzureRefusal(t, operation, f.row, o, code)
			return
		}
		verifyCell(t, f, o, cell)
	})
}

// azureVariants knows that a released blob is an available one.
func azureVariants(t *testing.T, state string) []variant {
	all := variants(t, state)
	if state == "available" {
		all = append(all, variant{"released", rowIn(leasehold.StateReleased, -agoEnded)})
	}
	for i := range all {
		all[i].row.Scoped = true
	}
	return all
}

func azureOperation(t *testing.T, operation string, row machine.Row) machine.Outcome {
	t.Helper()
	return azureOperationBy(t, operation, row, machine.Azure)
}

func azureOperationBy(t *testing.T, operation string, row machine.Row, p machine.Policy) machine.Outcome {
	t.Helper()
	verb, rest, _ := strings.Cut(operation, " ")
	switch verb {
	case "acquire,":
		return acquireBy(row, leasehold.ID{}, p)
	case "acquire":
		return acquireBy(row, ids[rest], p)
	case "renew":
		return machine.Renew(now, leasehold.RenewRequest{ID: ids[rest]}, fresh, row, p)
	case "release":
		return machine.Release(now, leasehold.ReleaseRequest{ID: ids[rest]}, row, p)
	case "change":
		from, to, _ := strings.Cut(rest, "→")
		return machine.Change(now, leasehold.ChangeRequest{ID: ids[from], Proposed: ids[to]}, row, knownBy(row, to), p)
	case "break", "break,":
		return machine.Break(now, leasehold.BreakRequest{Resource: resource, Period: periods[rest]}, row, p)
	}
	t.Fatalf("no such operation: %q", operation)
	return machine.Outcome{}
}

func azureAcquire(row machine.Row, id leasehold.ID) machine.Outcome {
	return acquireBy(row, id, machine.Azure)
}

// acquireBy says by which row the id is known although Azure's ids are scoped,
// so that the table would show it if the machine cared.
func acquireBy(row machine.Row, id leasehold.ID, p machine.Policy) machine.Outcome {
	r := leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: id, TTL: askedTTL, MaxRenewals: unlimited()}
	return machine.Acquire(now, r, fresh, []machine.Row{row}, knownBy(row, nameOf(id)), p)
}

// verifyAzureRefusal checks that the outcome says enough for an API to find the
// one code that Azure answers.
func verifyAzureRefusal(t *testing.T, operation string, row machine.Row, o machine.Outcome, want string) {
	t.Helper()
	if o.Reason == "" {
		t.Fatalf("done, and the row is %s; want 409 %s", o.Row.State, want)
	}
	verifyRefusal(t, row, o, o.Reason)
	if got := azureCode(operation, o); got != want {
		t.Errorf("%s, same id %t, in %s: that is 409 %s, want %s", o.Reason, o.SameID, o.Row.State, got, want)
	}
}
