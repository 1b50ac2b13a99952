package powers_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/internal/powers"
)

// mayLack is what each kind of store is allowed to lack. What is beyond it is argued
// for in docs/design.md.
var mayLack = func() map[string][]powers.Power {
	engine := []powers.Power{powers.Sets, powers.Notes, powers.Deadlocks, powers.Waits, powers.ForceChildren} // only the embedded engine has them
	queue := slices.Concat(engine, []powers.Power{powers.KeptPlaces, powers.Priorities, powers.ShownQueue})
	etcd := slices.Concat(queue, []powers.Power{powers.Memory, powers.ExpiryRecords, powers.ForceRelease})
	redis := slices.Concat(queue, []powers.Power{powers.Memory, powers.Watching, powers.ForceRelease})
	cosmos := slices.Concat(redis, []powers.Power{powers.History, powers.Settings})
	azblob := slices.Concat(cosmos, []powers.Power{powers.Finding, powers.Transfer, powers.MaxRenewals, powers.UniqueIDs})
	return map[string][]powers.Power{
		powers.KindSQLiteShared: slices.Concat(queue, []powers.Power{powers.Waiting}),
		powers.KindServer:       {powers.HealthNames, powers.CancelRecords},
		powers.KindPostgres:     queue, powers.KindSurreal: queue, powers.KindEtcd: etcd,
		powers.KindRedis: redis, powers.KindCosmos: cosmos, powers.KindAzblob: azblob,
	}
}()

func TestStoresLackNoMoreThanTheyMay(t *testing.T) {
	for _, kind := range powers.Kinds() {
		for _, p := range powers.Lacks[powers.Power](kind) {
			if !slices.Contains(mayLack[kind], p) {
				t.Errorf("%s lacks %s, which it may not", kind, p)
			}
		}
	}
}

// The suite knows the same powers.
func TestPowersAreTheSuites(t *testing.T) {
	source, err := os.ReadFile("../../storetest/capability.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []powers.Power
	for _, found := range regexp.MustCompile(`(?m)^\t\w+ +Capability = "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, found[1])
	}
	got := powers.All()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All() differs from package storetest (-storetest +powers):\n%s", diff)
	}
}

// The table in the document is the table in the code.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/choosing-a-store.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## What a store lacks\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("docs/choosing-a-store.md has no section What a store lacks")
	}
	var rows [][]string
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|-") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.Trim(cells[i], " `")
			}
			rows = append(rows, cells)
		}
	}
	want := [][]string{append([]string{"power", "means"}, powers.Kinds()...)}
	for i, p := range powers.All() {
		means := ""
		if i+1 < len(rows) && len(rows[i+1]) > 1 {
			means = rows[i+1][1] // free text
		}
		row := []string{p, means}
		for _, kind := range powers.Kinds() {
			mark := "no"
			if powers.Has(kind, p) {
				mark = "yes"
			}
			row = append(row, mark)
		}
		want = append(want, row)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("the table in docs/choosing-a-store.md differs from the code (-code +document):\n%s", diff)
	}
}

func TestHas(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		power powers.Power
		want  bool
	}{
		{powers.KindRedis, powers.Waiting, true},
		{powers.KindRedis, powers.Watching, false},
		{powers.KindAzblob, powers.ExpiryRecords, false},   // there is no history
		{powers.KindSQLiteShared, powers.WaitTimes, false}, // nobody waits
		{powers.KindEtcd, powers.Watching, true},
		{powers.KindServer, powers.Sets, true},
		{powers.KindPostgres, powers.Deadlocks, false},
		{"nothing", powers.Waiting, false},
	} {
		if got := powers.Has(tt.kind, tt.power); got != tt.want {
			t.Errorf("Has(%q, %q) = %v, want %v", tt.kind, tt.power, got, tt.want)
		}
	}
}
