package machine_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestNoCellIsForgotten builds the rows and columns that every table must have
// from the rules' own words, and compares: a new state, or an operation left
// out of a table, fails here.
func TestNoCellIsForgotten(t *testing.T) {
	for _, tt := range []struct {
		name   string
		text   string
		states []string
		rows   []string
	}{
		{"azure", azureTable, azureStates, azureRows()},
		{"guard", guardTable, azureStates, guardRows()},
		{"acquire", acquireTable, allStates(), acquireRows()},
		{"renew", renewTable, allStates(), proofRows("A", "B", "F changed", "F handed", "none")},
		{"release", releaseTable, allStates(), proofRows("A", "B", "F changed", "F handed", "none")},
		{"break", breakTable, allStates(), []string{"without period", "0s", "20s", "25s", "60s"}},
		{"force", forceTable, allStates(), []string{"release"}},
		{"change", changeTable, allStates(), changeRows()},
		{"transfer", transferTable, allStates(), transferRows()},
	} {
		p := readTable(t, tt.text)
		if diff := cmp.Diff(tt.states, p.states); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", tt.name, diff)
		}
		var rows []string
		for _, r := range p.rows {
			rows = append(rows, r.operation)
		}
		slices.Sort(rows)
		slices.Sort(tt.rows)
		if diff := cmp.Diff(tt.rows, rows); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", tt.name, diff)
		}
	}
}

var azureStates = []string{"available", "leased(A)", "breaking(A)", "broken(A)", "expired(A)"}

// allStates asks the root package, so that a new state shows up here.
func allStates() (names []string) {
	for s := leasehold.StateAvailable; !strings.HasPrefix(s.String(), "State("); s++ {
		names = append(names, s.String())
	}
	return names
}

func azureRows() []string {
	rows := []string{"acquire, no id", "break 0", "break n", "break, no period"}
	for _, id := range []string{"A", "B"} {
		rows = append(rows, "acquire "+id, "renew "+id, "release "+id)
	}
	return append(rows, "change A→B", "change B→A", "change B→C")
}

func guardRows() (rows []string) {
	for _, access := range []string{"write", "read"} {
		rows = append(rows, access+" with A", access+" with B", access+" without id")
	}
	return rows
}

func acquireRows() []string {
	rows := []string{"F changed", "F handed", "L", "R", "E", "K", "G"}
	for _, id := range []string{"none", "A", "B"} {
		rows = append(rows, id, id+", other holder")
	}
	return rows
}

// proofRows are the rows for the ids that a caller may show. The first is right
// and stands once for each way to be wrong beside it; the others are wrong
// whatever stands beside them.
func proofRows(right string, wrong ...string) []string {
	rows := []string{right, right + ", wrong holder", right + ", wrong token"}
	for _, id := range wrong {
		rows = append(rows, id+" ±")
	}
	return rows
}

func changeRows() []string {
	rows := proofRows("A→B", "B→A", "B→C", "none→A", "none→B", "F→B changed", "F→A handed", "F→B handed")
	rows = append(rows, proofRows("A→A")...)
	rows = append(rows, proofRows("F→A changed")...)
	return append(rows, unusableRows()...)
}

func transferRows() []string {
	rows := proofRows("A→B", "B→none", "B→A", "B→C", "none→B", "F→A changed", "F→B changed", "F→B handed", "F→none handed")
	rows = append(rows, "A→none", "A→A", "A→B, same holder", "F→A handed", "F→A handed, same holder")
	return append(rows, unusableRows()...)
}

// unusableRows propose ids that cannot start anything new.
func unusableRows() (rows []string) {
	for _, id := range []string{"F changed", "F handed", "L", "R", "E", "K", "G"} {
		rows = append(rows, "A→"+id)
	}
	return rows
}

// TestEveryPolicyMatters: switching one field of Azure off must change a cell of
// its table, or the field would be a promise that nothing keeps.
func TestEveryPolicyMatters(t *testing.T) {
	for field := range reflect.TypeFor[machine.Policy]().Fields() {
		weaker := machine.Azure
		reflect.ValueOf(&weaker).Elem().FieldByIndex(field.Index).SetBool(false)
		if !differs(t, machine.Azure, weaker) {
			t.Errorf("without %s every cell of the Azure table answers the same", field.Name)
		}
	}
	if machine.Standard != (machine.Policy{}) {
		t.Error("Standard is not the zero Policy")
	}
}

// differs reports whether any operation of the Azure table answers differently
// under the two policies.
func differs(t *testing.T, p, q machine.Policy) bool {
	t.Helper()
	for _, operation := range azureRows() {
		for _, state := range azureStates {
			for _, f := range azureVariants(t, state) {
				if !cmp.Equal(azureOperationBy(t, operation, f.row, p), azureOperationBy(t, operation, f.row, q)) {
					return true
				}
			}
		}
	}
	return false
}
