package sign

import "strings"

// The versions that added lines to what is signed.
const (
	withSnapshot = "2018-11-09" // sr and the snapshot
	withScope    = "2020-12-06" // ses, the encryption scope
)

// layout lists the lines of the text that was signed, in its order: parameters
// of the SAS, and the words that line knows.
func (s *SAS) layout() string {
	version := s.values["sv"]
	switch {
	case s.account() && version >= withScope:
		return "account sp ss srt st se sip spr sv ses empty"
	case s.account():
		return "account sp ss srt st se sip spr sv empty"
	case version >= withScope:
		return "sp st se resource si sip spr sv sr snapshot ses rscc rscd rsce rscl rsct"
	case version >= withSnapshot:
		return "sp st se resource si sip spr sv sr snapshot rscc rscd rsce rscl rsct"
	}
	return "sp st se resource si sip spr sv rscc rscd rsce rscl rsct"
}

// text is what must have been signed to grant access to the target.
func (s *SAS) text(account string, target Target) string {
	var lines []string
	for word := range strings.FieldsSeq(s.layout()) {
		lines = append(lines, s.line(word, account, target))
	}
	return strings.Join(lines, "\n")
}

func (s *SAS) line(word, account string, target Target) string {
	switch word {
	case "account":
		return account
	case "resource":
		return s.resource(account, target)
	case "snapshot":
		return s.snapshot(target)
	case "empty":
		return ""
	}
	return s.values[word]
}

// resource is the container for a container's SAS, whatever blob of it the
// request is about.
func (s *SAS) resource(account string, target Target) string {
	container := "/blob/" + account + "/" + target.Container
	if s.values["sr"] == "c" {
		return container
	}
	return container + "/" + target.Blob
}

// snapshot is signed only where the grant is for that snapshot alone; the grant
// for a blob opens all its snapshots.
func (s *SAS) snapshot(target Target) string {
	if s.values["sr"] != "bs" {
		return ""
	}
	return target.Snapshot
}
