package storetest

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long the checker may think about one resource.
const patience = time.Minute

// CheckHistory expects a recorded history to be linearizable: some order of
// the calls, in which each takes effect at one moment between its begin and
// its end, explains all answers. So no two leases overlap, tokens strictly
// grow, no acknowledged grant or release is lost, and nothing ended comes back.
//
// A call that ended in ErrUnknown may have happened, may happen later, or
// never. A call that ended in ErrUnavailable must not have happened: that is
// what the error says.
func CheckHistory(t testing.TB, rec *Recording) {
	t.Helper()
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
}

// Check is CheckHistory for those who want to see it fail.
func (r *Recording) Check() error {
	byResource := map[string][]porcupine.Operation{}
	for _, c := range r.calls {
		if c.result == unexpected {
			return fmt.Errorf("%s of %q by %q = %v, which no store may answer here", c.kind, c.resource, c.holder, c.err)
		}
		if c.result != nothing {
			byResource[c.resource] = append(byResource[c.resource], porcupine.Operation{Input: c, Call: c.begin, Return: c.end})
		}
	}
	for resource, calls := range byResource {
		if err := checkCalls(resource, calls); err != nil {
			return err
		}
	}
	return nil
}

func checkCalls(resource string, calls []porcupine.Operation) error {
	verdict, info := porcupine.CheckOperationsVerbose(model.ToModel(), calls, patience)
	switch verdict {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("the history of %q, %d calls, is too tangled to decide in %v; record a shorter one", resource, len(calls), patience)
	}
	return fmt.Errorf("the history of %q, %d calls, is not linearizable\n%s", resource, len(calls), explain(calls, info))
}

// explain shows where the longest attempt to order the calls got stuck.
func explain(calls []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, attempts := range info.PartialLinearizationsOperations() {
		for _, attempt := range attempts {
			if len(attempt) > len(longest) {
				longest = attempt
			}
		}
	}
	placed := map[int64]bool{}
	for _, c := range longest {
		placed[c.Call] = true
	}
	var left []porcupine.Operation
	for _, c := range calls {
		if !placed[c.Call] {
			left = append(left, c)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	b.WriteString("the last calls that can be put in order:\n")
	writeCalls(&b, longest[max(0, len(longest)-8):])
	b.WriteString("none of these can be next:\n")
	writeCalls(&b, left[:min(8, len(left))])
	return b.String()
}

func writeCalls(b *strings.Builder, calls []porcupine.Operation) {
	for _, o := range calls {
		fmt.Fprintf(b, "\t%v\n", o.Input.(call))
	}
}

// String shows a hash of the id, which tells two apart and gives none away.
func (c call) String() string {
	end := fmt.Sprint(c.end)
	if c.end == math.MaxInt64 {
		end = "?"
	}
	return fmt.Sprintf("%4d–%-4s %-8s id #%04x holder %q: %s, locked %v by %q with token %d",
		c.begin, end, c.kind, maphash.Comparable(seed, c.id)&0xffff, c.holder, c.result, c.locked, c.owner, c.token)
}
