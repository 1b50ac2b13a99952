package wire

import "github.com/leasehold/leasehold"

// Claim is one part of what a lease covers.
type Claim struct {
	Namespace string `json:"namespace,omitempty" doc:"Left out: the pattern is the name of a resource."`
	Pattern   string `json:"pattern" doc:"A path; * stands for any characters of a segment, a segment ** for any number of segments. As the name of a resource: plain characters."`
	Mode      string `json:"mode,omitempty" enum:"exclusive,shared" doc:"Default: exclusive. Answers always have it."`
}

// Path is a claim in the namespace of its request.
type Path struct {
	Pattern string `json:"pattern"`
	Mode    string `json:"mode,omitempty" enum:"exclusive,shared" doc:"Default: exclusive."`
}

// Note is what an earlier holder left.
type Note struct {
	From string `json:"from" doc:"The holder."`
	Text string `json:"text"`
}

// Overlap is where two claims meet.
type Overlap struct {
	Requested Claim  `json:"requested"`
	Held      Claim  `json:"held"`
	Part      string `json:"part" doc:"A pattern that fits into both. There may be more than one."`
}

// Wait says that a holder waits for a claim that another has, or has reserved.
type Wait struct {
	Holder string `json:"holder"`
	Claim  Claim  `json:"claim" doc:"As the holder requested it."`
	HeldBy string `json:"held_by"`
}

// hasClaims reports whether the request is for something else than one resource
// exclusively, or may be.
func (w AcquireRequest) hasClaims() bool {
	return w.Resources != nil || w.Paths != nil || w.Claims != nil || w.Mode != "" || w.Namespace != ""
}

// claims returns what a request for several resources claims. Name is the resource
// of the request, which stays one if the mode is exclusive.
func (w AcquireRequest) claims(name string) (string, []leasehold.Claim, error) {
	if err := w.checkForms(name); err != nil {
		return "", nil, err
	}
	if len(w.Claims) > 0 {
		claims, err := toClaims(w.Claims)
		return "", claims, err
	}
	mode, err := leasehold.ParseMode(w.Mode)
	if err != nil || name != "" && mode == leasehold.Exclusive {
		return name, nil, err
	}
	if name != "" {
		return "", []leasehold.Claim{{Pattern: name, Mode: mode}}, nil
	}
	claims := make([]leasehold.Claim, 0, len(w.Resources)+len(w.Paths))
	for _, r := range w.Resources {
		claims = append(claims, leasehold.Claim{Pattern: r, Mode: mode})
	}
	for _, p := range w.Paths {
		if mode, err = leasehold.ParseMode(p.Mode); err != nil {
			return "", nil, err
		}
		claims = append(claims, leasehold.Claim{Namespace: w.Namespace, Pattern: p.Pattern, Mode: mode})
	}
	return "", claims, nil
}

// checkForms refuses fields that exclude each other, and those that would mean
// nothing.
func (w AcquireRequest) checkForms(name string) error {
	names, paths := len(w.Resources) > 0, len(w.Paths) > 0
	switch {
	case len(w.Claims) > 0 && (name != "" || names || paths || w.Mode != "" || w.Namespace != ""):
		return leasehold.Invalid("claims", "is sent together with resource, resources, paths, namespace or mode; it stands for all of them")
	case name != "" && names:
		return leasehold.Invalid("resources", "is sent together with resource; send one of them")
	case name != "" && paths:
		return leasehold.Invalid("paths", "is sent together with resource; send resources with them")
	case paths && w.Namespace == "":
		return leasehold.Invalid("namespace", "is missing; want that of the paths")
	case !paths && w.Namespace != "":
		return leasehold.Invalid("namespace", "is sent without paths; a resource has none")
	case w.Mode != "" && paths && !names:
		return leasehold.Invalid("mode", "is sent with paths alone; each of them has its own")
	}
	return nil
}

func fromClaims(claims []leasehold.Claim) []Claim {
	if len(claims) == 0 {
		return nil
	}
	return convert(claims, fromClaim)
}

func fromClaim(c leasehold.Claim) Claim {
	return Claim{Namespace: c.Namespace, Pattern: c.Pattern, Mode: c.Mode.String()}
}

func toClaims(claims []Claim) ([]leasehold.Claim, error) { return convertBack(claims, Claim.claim) }

func (w Claim) claim() (leasehold.Claim, error) {
	mode, err := leasehold.ParseMode(w.Mode)
	return leasehold.Claim{Namespace: w.Namespace, Pattern: w.Pattern, Mode: mode}, err
}

func fromNotes(notes []leasehold.Note) []Note {
	if len(notes) == 0 {
		return nil
	}
	return convert(notes, func(n leasehold.Note) Note { return Note(n) })
}

func fromOverlap(o *leasehold.Overlap) *Overlap {
	if o == nil {
		return nil
	}
	return &Overlap{Requested: fromClaim(o.Requested), Held: fromClaim(o.Held), Part: o.Part}
}

// toOverlap is the inverse of fromOverlap. What cannot be read, from a newer
// server, is left out: the error stands without it.
func (w *Overlap) toOverlap() *leasehold.Overlap {
	if w == nil {
		return nil
	}
	requested, err := w.Requested.claim()
	held, err2 := w.Held.claim()
	if err != nil || err2 != nil {
		return nil
	}
	return &leasehold.Overlap{Requested: requested, Held: held, Part: w.Part}
}

func fromCycle(cycle []leasehold.WaitEdge) []Wait {
	if len(cycle) == 0 {
		return nil
	}
	return convert(cycle, func(e leasehold.WaitEdge) Wait {
		return Wait{Holder: e.Holder, Claim: fromClaim(e.Claim), HeldBy: e.HeldBy}
	})
}

// toCycle is the inverse of fromCycle, as toOverlap is.
func toCycle(cycle []Wait) []leasehold.WaitEdge {
	edges, _ := convertBack(cycle, func(w Wait) (leasehold.WaitEdge, error) {
		claim, err := w.Claim.claim()
		return leasehold.WaitEdge{Holder: w.Holder, Claim: claim, HeldBy: w.HeldBy}, err
	})
	return edges
}
