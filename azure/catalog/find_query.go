package catalog

import "strings"

// findQuery is an expression as the index of tags is asked for it.
type findQuery struct {
	where     *Where     // what tags must be like, without the container
	container string     // the only one to look in; empty: all of the account
	nowhere   bool       // two different containers were asked for
	lookup    comparison // what the index is asked for
}

// parseFind reads the expression of a search. It must be made of comparisons
// joined by AND, at least one of them of a tag.
func parseFind(s string) (findQuery, error) {
	var q findQuery
	parsed, err := ParseWhere(s)
	if err != nil {
		return q, err
	}
	if len(parsed.any) > 1 {
		return q, badWhere("a search cannot have OR")
	}
	var tags whereAll
	for _, c := range parsed.any[0] {
		switch {
		case c.op == "<>":
			return q, badWhere("a search cannot have <>")
		case c.key != containerKey:
			tags = append(tags, c)
		case c.op != "=":
			return q, badWhere("@container can only be compared with =")
		default:
			q.in(c.value)
		}
	}
	if len(tags) == 0 {
		return q, badWhere("a search needs the name of a tag")
	}
	q.where = &Where{any: []whereAll{tags}}
	q.lookup = tags.best()
	return q, nil
}

// in narrows the search to a container.
func (q *findQuery) in(container string) {
	q.nowhere = q.nowhere || q.container != "" && q.container != container
	q.container = container
}

// best is the comparison that the index leaves the fewest blobs of: the first
// equality, or else the first of all.
func (all whereAll) best() comparison {
	for _, c := range all {
		if c.op == "=" {
			return c
		}
	}
	return all[0]
}

// low is the place before the first of the index that the comparison holds for.
func (c comparison) low() foundAt {
	switch c.op {
	case "=", ">=":
		return foundAt{Value: c.value}
	case ">":
		return foundAt{Value: c.value + "\x00"} // no value is between the two
	}
	return foundAt{}
}

// high is the value up to which it holds.
func (c comparison) high() any {
	if c.op == ">" || c.op == ">=" {
		return bound("")
	}
	return c.value
}

// sql is the query of the index for the comparison.
func (c comparison) sql() string {
	if c.op == "<" {
		return findBelowSQL
	}
	return findSQL
}

// itemColumnCount is how many columns scanItem reads.
var itemColumnCount = 1 + strings.Count(itemColumns, ",")

// findSQL walks the index of tags container by container. CROSS JOIN keeps
// SQLite from walking it in any other order.
var (
	findSQL = `SELECT i.` + strings.ReplaceAll(itemColumns, ", ", ", i.") + `, c.name, t.value
		FROM blob_containers c CROSS JOIN blob_tags t CROSS JOIN blob_items i
		WHERE c.account = ? AND c.name >= ? AND c.name <= ? AND NOT c.deleting
		AND t.container = c.id AND t.key = ? AND (t.value, t.name) > (?, ?) AND t.value <= ?
		AND i.container = c.id AND i.name = t.name AND i.snapshot = 9223372036854775807
		ORDER BY c.name, t.value, t.name`
	findBelowSQL = strings.Replace(findSQL, "t.value <= ?", "t.value < ?", 1)
)
