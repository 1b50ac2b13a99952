package tagquery

// Search is the query of a search, as an index of tags answers it: the blobs
// that have the tag Key with a value from From to before Before, as far as Where
// matches them.
type Search struct {
	Where     *Expression // without the container
	Container string      // the only one to look in; empty: all of the account
	Nowhere   bool        // two different containers were named

	Key    string
	From   string
	Before *string // nil: no bound
}

// ParseSearch reads the expression of a search. It must be made of comparisons
// joined by AND, at least one of them of a tag.
func ParseSearch(s string) (Search, error) {
	var q Search
	parsed, err := Parse(s)
	if err != nil {
		return q, err
	}
	if len(parsed.any) > 1 {
		return q, invalid("a search cannot have OR")
	}
	var tags conjunction
	for _, c := range parsed.any[0] {
		switch {
		case c.op == "<>":
			return q, invalid("a search cannot have <>")
		case c.key != containerKey:
			tags = append(tags, c)
		case c.op != "=":
			return q, invalid("@container can only be compared with =")
		default:
			q.In(c.value)
		}
	}
	if len(tags) == 0 {
		return q, invalid("a search needs the name of a tag")
	}
	q.Where = &Expression{any: []conjunction{tags}}
	q.lookUp(tags.narrowest())
	return q, nil
}

// In narrows the search to a container.
func (q *Search) In(container string) {
	q.Nowhere = q.Nowhere || q.Container != "" && q.Container != container
	q.Container = container
}

// narrowest is the comparison that holds for the fewest blobs, as far as one can
// know: the first equality, or else the first of all.
func (all conjunction) narrowest() comparison {
	for _, c := range all {
		if c.op == "=" {
			return c
		}
	}
	return all[0]
}

// lookUp makes the index be asked for a comparison. Between a value and the same
// with a zero byte after it there is no other.
func (q *Search) lookUp(c comparison) {
	above := c.value + "\x00"
	q.Key = c.key
	switch c.op {
	case "=":
		q.From, q.Before = c.value, &above
	case ">=":
		q.From = c.value
	case ">":
		q.From = above
	case "<":
		q.Before = &c.value
	case "<=":
		q.Before = &above
	}
}
