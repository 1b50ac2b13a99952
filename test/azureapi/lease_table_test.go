package azureapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// leaseIDs are the ids of the tables.
var leaseIDs = map[string]string{
	"A": "aaaaaaaa-0000-4000-8000-00000000000a",
	"B": "BBBBBBBB-0000-4000-8000-00000000000B", // in the other letter case
	"C": "cccccccc-0000-4000-8000-00000000000c",
}

// azureLeasePage is what Azure answers. A refusal leaves all as it is; the
// seconds are those of x-ms-lease-time. When they were 60 there are 50 left.
const azureLeasePage = `
operation        | available                             | leased(A)                             | breaking(A)                            | broken(A)                             | expired(A)
acquire, no id   | 201 leased                            | 409 LeaseAlreadyPresent               | 409 LeaseAlreadyPresent                | 201 leased                            | 201 leased
acquire A        | 201 leased A                          | 201 leased A                          | 409 LeaseIsBreakingAndCannotBeAcquired | 201 leased A                          | 201 leased A
acquire B        | 201 leased B                          | 409 LeaseAlreadyPresent               | 409 LeaseAlreadyPresent                | 201 leased B                          | 201 leased B
renew A          | 409 LeaseIdMismatchWithLeaseOperation | 200 leased A                          | 409 LeaseIsBrokenAndCannotBeRenewed    | 409 LeaseIsBrokenAndCannotBeRenewed   | 200 leased A
renew B          | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation  | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation
change A to B    | 409 LeaseNotPresentWithLeaseOperation | 200 leased B                          | 409 LeaseIsBreakingAndCannotBeChanged  | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
change B to A    | 409 LeaseNotPresentWithLeaseOperation | 200 leased A                          | 409 LeaseIdMismatchWithLeaseOperation  | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
change B to C    | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation  | 409 LeaseNotPresentWithLeaseOperation | 409 LeaseNotPresentWithLeaseOperation
release A        | 409 LeaseIdMismatchWithLeaseOperation | 200 available                         | 200 available                          | 200 available                         | 200 available
release B        | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation  | 409 LeaseIdMismatchWithLeaseOperation | 409 LeaseIdMismatchWithLeaseOperation
break 0          | 409 LeaseNotPresentWithLeaseOperation | 202 broken 0                          | 202 broken 0                           | 202 broken 0                          | 202 broken 0
break 20         | 409 LeaseNotPresentWithLeaseOperation | 202 breaking 20                       | 202 breaking 20                        | 202 broken 0                          | 202 broken 0
break 55         | 409 LeaseNotPresentWithLeaseOperation | 202 breaking 50                       | 202 breaking 30                        | 202 broken 0                          | 202 broken 0
break, no period | 409 LeaseNotPresentWithLeaseOperation | 202 breaking 50                       | 202 breaking 30                        | 202 broken 0                          | 202 broken 0
`

// azureInfinitePage is the one column where an infinite lease differs.
const azureInfinitePage = `
operation        | infinite(A)
acquire A        | 201 leased A
acquire B        | 409 LeaseAlreadyPresent
renew A          | 200 leased A
change A to B    | 200 leased B
release A        | 200 available
break 0          | 202 broken 0
break 20         | 202 breaking 20
break, no period | 202 broken 0
`

// plainLeasePage is what the main port answers: what has ended is gone.
const plainLeasePage = `
operation        | available           | leased(A)               | breaking(A)                            | broken(A)         | expired(A)
acquire, no id   | 201 leased          | 409 LeaseAlreadyPresent | 409 LeaseAlreadyPresent                | 201 leased        | 201 leased
acquire A        | 201 leased A        | 201 leased A            | 409 LeaseIsBreakingAndCannotBeAcquired | 201 leased A      | 201 leased A
acquire B        | 201 leased B        | 409 LeaseAlreadyPresent | 409 LeaseAlreadyPresent                | 201 leased B      | 201 leased B
renew A          | 404 LeaseNotFound   | 200 leased A            | 409 LeaseIsBrokenAndCannotBeRenewed    | 404 LeaseNotFound | 404 LeaseNotFound
renew B          | 404 LeaseNotFound   | 412 LeaseIdMismatch     | 412 LeaseIdMismatch                    | 404 LeaseNotFound | 404 LeaseNotFound
change A to B    | 404 LeaseNotFound   | 200 leased B            | 409 LeaseIsBreakingAndCannotBeChanged  | 404 LeaseNotFound | 404 LeaseNotFound
change B to A    | 404 LeaseNotFound   | 200 leased A            | 412 LeaseIdMismatch                    | 404 LeaseNotFound | 404 LeaseNotFound
change B to C    | 404 LeaseNotFound   | 412 LeaseIdMismatch     | 412 LeaseIdMismatch                    | 404 LeaseNotFound | 404 LeaseNotFound
release A        | 404 LeaseNotFound   | 200 available           | 200 available                          | 404 LeaseNotFound | 404 LeaseNotFound
release B        | 404 LeaseNotFound   | 412 LeaseIdMismatch     | 412 LeaseIdMismatch                    | 404 LeaseNotFound | 404 LeaseNotFound
break 0          | 404 LeaseNotFound   | 202 broken 0            | 202 broken 0                           | 404 LeaseNotFound | 404 LeaseNotFound
break 20         | 404 LeaseNotFound   | 202 breaking 20         | 202 breaking 20                        | 404 LeaseNotFound | 404 LeaseNotFound
break 55         | 404 LeaseNotFound   | 202 breaking 50         | 202 breaking 30                        | 404 LeaseNotFound | 404 LeaseNotFound
break, no period | 404 LeaseNotFound   | 202 breaking 50         | 202 breaking 30                        | 404 LeaseNotFound | 404 LeaseNotFound
`

// cell of a table.
type cell struct{ row, column, want string }

func cells(t testing.TB, page string) []cell {
	t.Helper()
	var found []cell
	var columns []string
	for line := range strings.Lines(strings.TrimSpace(page)) {
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if columns == nil {
			columns = fields
			continue
		}
		if len(fields) != len(columns) {
			t.Fatalf("row %q has %d columns, want %d", fields[0], len(fields), len(columns))
		}
		for i := 1; i < len(fields); i++ {
			found = append(found, cell{fields[0], columns[i], fields[i]})
		}
	}
	return found
}

// leased is a blob or container whose lease is tried, through a client.
type leased interface {
	// try carries out an operation in the words of the tables and returns what
	// it answered, in the words of the cells, without the state.
	try(operation string) (status int, code, id string, seconds int)
	// state is what everybody sees of the lease.
	state() string
}

func TestLeaseTables(t *testing.T) {
	for name, test := range map[string]struct {
		page  string
		cells int
		make  func(d *deployment, name string) leased
	}{
		"Azure, blobs":                {azureLeasePage, 14 * 5, sdkBlob},
		"Azure, containers":           {azureLeasePage, 14 * 5, sdkContainer},
		"Azure, infinite, blobs":      {azureInfinitePage, 8, sdkBlob},
		"Azure, infinite, containers": {azureInfinitePage, 8, sdkContainer},
		"plain, blobs":                {plainLeasePage, 14 * 5, plainBlob},
		"plain, containers":           {plainLeasePage, 14 * 5, plainContainer},
		"plain, infinite, blobs":      {azureInfinitePage, 8, plainBlob},
		"plain, infinite, containers": {azureInfinitePage, 8, plainContainer},
	} {
		t.Run(name, func(t *testing.T) {
			all := cells(t, test.page)
			if len(all) != test.cells {
				t.Fatalf("the page has %d cells, want %d", len(all), test.cells)
			}
			synctest.Test(t, func(t *testing.T) {
				d := newDeployment(t)
				for i, c := range all {
					thing := test.make(d, fmt.Sprintf("cell-%d", i))
					enterState(t, thing, c.column)
					before := thing.state()
					checkCell(t, thing, c, before)
				}
			})
		})
	}
}

// enterState puts a lease into the state that a column is about.
func enterState(t *testing.T, thing leased, column string) {
	t.Helper()
	must := func(operation string, want int) {
		if status, code, _, _ := thing.try(operation); status != want {
			t.Fatalf("%s, on the way to %s = %d %s, want %d", operation, column, status, code, want)
		}
	}
	switch column {
	case "available":
	case "leased(A)":
		must("acquire A", 201)
		time.Sleep(10 * time.Second)
	case "infinite(A)":
		must("acquire A for ever", 201)
		time.Sleep(10 * time.Second)
	case "breaking(A)":
		must("acquire A", 201)
		must("break 40", 202)
		time.Sleep(10 * time.Second)
	case "broken(A)":
		must("acquire A", 201)
		must("break 0", 202)
	case "expired(A)":
		must("acquire A for 15", 201)
		time.Sleep(16 * time.Second)
	default:
		t.Fatalf("no such state: %q", column)
	}
	if got, want := thing.state(), strings.TrimSuffix(strings.Replace(column, "infinite", "leased", 1), "(A)"); got != want {
		t.Fatalf("state = %s, want %s", got, want)
	}
}

func checkCell(t *testing.T, thing leased, c cell, before string) {
	t.Helper()
	status, code, id, seconds := thing.try(c.row)
	answer := strconv.Itoa(status)
	state := thing.state()
	switch {
	case code != "":
		answer += " " + code
		if state != before {
			t.Errorf("%s when %s: the state is %s after a refusal, was %s", c.row, c.column, state, before)
		}
	case status == http.StatusAccepted:
		answer += fmt.Sprintf(" %s %d", state, seconds)
	default:
		answer += " " + state
		if name := nameOf(id); state == "leased" && name != "" {
			answer += " " + name
		}
	}
	if answer != c.want {
		t.Errorf("%s when %s = %s, want %s", c.row, c.column, answer, c.want)
	}
	if state == "leased" && code == "" {
		if status, code, _, _ := thing.try("renew " + id); status != 200 {
			t.Errorf("%s when %s: renewing the id it answered = %d %s, want 200", c.row, c.column, status, code)
		}
	}
}

// nameOf returns the name of an id in the tables.
func nameOf(id string) string {
	for _, name := range slices.Sorted(maps.Keys(leaseIDs)) {
		if strings.EqualFold(leaseIDs[name], id) {
			return name
		}
	}
	return ""
}
