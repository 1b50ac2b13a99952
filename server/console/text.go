package console

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// leftText writes how many seconds are left, as the script does while they run down.
// Less than zero is for ever.
func leftText(seconds float64) string {
	if seconds < 0 {
		return "no end"
	}
	return spanText(seconds)
}

// spanText writes a length of time for people, in two units at most.
func spanText(seconds float64) string {
	s := int64(math.Ceil(seconds))
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d %02d h", s/86400, s/3600%24)
}

// preciseText keeps short times apart.
func preciseText(d time.Duration) string {
	switch {
	case d > 0 && d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return spanText(d.Seconds())
}

// detailTexts writes the details of a record, lengths of time and claims in words.
func detailTexts(details map[string]string) []string {
	texts := sortedPairs(details)
	for i, text := range texts {
		key, value, _ := strings.Cut(text, "=")
		if claims := readClaims(key, value); claims != nil {
			texts[i] = strings.Join(claimTexts(claims), ", ")
			continue
		}
		words := map[string]string{machine.DetailEndsIn: "for %s", machine.DetailEndedAgo: "ended %s before", "waited_ms": "waited %s"}[key]
		ms, err := strconv.ParseInt(value, 10, 64)
		switch {
		case words == "" || err != nil:
		case ms < 0:
			texts[i] = leftText(-1)
		default:
			texts[i] = fmt.Sprintf(words, preciseText(time.Duration(ms)*time.Millisecond))
		}
	}
	return texts
}

// readClaims reads what a lease on several resources covers; nil if the detail is another.
func readClaims(key, value string) (claims []leasehold.Claim) {
	if key != "claims" || json.Unmarshal([]byte(value), &claims) != nil {
		return nil
	}
	return claims
}

// sinceText is the time of the same day as now, or another day.
func sinceText(t, now time.Time) string {
	if t.IsZero() || t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return clockText(t)
	}
	return t.UTC().Format(time.DateOnly)
}

func clockText(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("15:04:05")
}

func dayText(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
