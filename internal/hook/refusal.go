package hook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/leasehold/leasehold"
)

// maxShown keeps the text of an edit of many files readable.
const maxShown = 5

// refusal is what the agent reads: what is held, by whom, for how long, and what to do
// instead of trying again.
func (s *session) refusal(conflicts []conflict, files int) string {
	var b strings.Builder
	given := conflictFiles(conflicts)
	if len(given) == 1 && files == 1 {
		b.WriteString("Another agent is working on this file, so the edit was not made.\n")
	} else {
		fmt.Fprintf(&b, "Other agents are working on %d of the %d files of this edit, so none of it was made.\n", len(given), files)
	}
	for i, name := range given[:min(len(given), maxShown)] {
		first := conflicts[slices.IndexFunc(conflicts, func(c conflict) bool { return c.file.given == name })]
		fmt.Fprintf(&b, "- %s: %s\n", given[i], s.describe(first.Error))
	}
	if more := len(given) - maxShown; more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	b.WriteString("What to do:\n")
	if len(given) < files {
		fmt.Fprintf(&b, "- Make the edit without %s: the other files are free.\n", list(given))
	}
	b.WriteString("- Go on with work that needs other files, and come back to this one later.\n")
	if wait := s.waitCommand(conflicts[0].Error); wait != "" {
		fmt.Fprintf(&b, "- If nothing else is left, wait until it is free, then read the file again before you edit it: %s\n", wait)
	}
	if wide := wider(conflicts); wide != "" {
		fmt.Fprintf(&b, "- The other one claims all of %s. Its holder can release that and claim less.\n", wide)
	}
	b.WriteString("Do not change the file in another way: the other agent's work would be lost.")
	return b.String()
}

// conflictFiles returns the files as the tool names them.
func conflictFiles(conflicts []conflict) (given []string) {
	for _, c := range conflicts {
		if !slices.Contains(given, c.file.given) {
			given = append(given, c.file.given)
		}
	}
	return given
}

func list(names []string) string {
	if len(names) > maxShown {
		return strings.Join(names[:maxShown], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// describe says who holds it, what for, and until when.
func (s *session) describe(e *leasehold.Error) string {
	if e.Reserved != "" {
		return fmt.Sprintf("kept free for %s, which came first and waits for more", s.whose(e.Reserved))
	}
	l := e.Current
	if l == nil {
		return "held by another"
	}
	how := "held by "
	if e.Reason == leasehold.ReasonBreaking {
		how = "being taken from "
	}
	text := how + s.whose(l.Holder) + about(l.Metadata)
	if e.Overlap != nil && e.Overlap.Held.Mode == leasehold.Shared {
		text += ", shared"
	}
	if l.Remaining == leasehold.Infinite {
		return text + ", without an end"
	}
	return text + ", free in " + left(l.Remaining) + " unless its holder goes on"
}

// whose names a holder, and says if it belongs to the same session.
func (s *session) whose(holder string) string {
	own, _, _ := strings.Cut(s.holder, "/")
	other, _, _ := strings.Cut(holder, "/")
	switch {
	case holder == s.holder:
		return holder + " (yourself)"
	case own == other && holder == other:
		return holder + " (the main agent of your session)"
	case own == other:
		return holder + " (another sub-agent of your session)"
	}
	return holder
}

// shownMetadata are the pairs to show, in this order.
var shownMetadata = []string{"task", "purpose", "branch", "host"}

// about writes what is known of the lease's purpose. Others wrote it, so it is quoted, and
// short.
func about(metadata map[string]string) string {
	var parts []string
	for _, key := range shownMetadata {
		if value := metadata[key]; value != "" {
			parts = append(parts, key+" "+strconv.Quote(short(value)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func short(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

// left writes a duration for people: 9m 40s, 12s.
func left(d time.Duration) string {
	d = max(d.Round(time.Second), time.Second)
	text := d.String() // 1h2m3s
	text = strings.NewReplacer("h", "h ", "m", "m ").Replace(text)
	return strings.TrimSpace(text)
}

// waitCommand returns the command that waits until the lease in the way has ended.
func (s *session) waitCommand(e *leasehold.Error) string {
	if e.Current == nil || e.Reserved != "" {
		return ""
	}
	command := "leasehold wait " + quote(e.Current.Resource)
	if e.Current.Token != 0 {
		command += fmt.Sprintf(" --lease-token %d", e.Current.Token)
	}
	if s.Store != "" {
		command += " --store " + quote(s.Store)
	}
	return command + " --timeout 10m"
}

// quote writes a word for the shell.
func quote(word string) string {
	plain := func(c rune) bool {
		return c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune("_-./:@", c)
	}
	if !strings.ContainsFunc(word, func(c rune) bool { return !plain(c) }) && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// wider returns the claim of another holder that covers more than the file.
func wider(conflicts []conflict) string {
	for _, c := range conflicts {
		if c.Overlap != nil && strings.Contains(c.Overlap.Held.Pattern, "*") && c.Overlap.Held.Pattern != c.claim.Pattern {
			return c.Overlap.Held.Pattern
		}
	}
	return ""
}
