package jsonedit

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "unexpected end",
		"{\n\"a\": 1,\n}":    "line 3",
		"[]":                 "is no JSON object",
		"{} {}":              "after top-level value",
		"{\"a\": 1} // note": "invalid character '/'",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %q", text, err, want)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, "{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"a\": 1\n      }\n    ]\n  }\n}"},
		{"{\n\t\"x\": [1]\n}\n", "{\n\t\"x\": [1],\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"a\": 1\n\t\t\t}\n\t\t]\n\t}\n}\n"},
		{`{"x":1}`, `{"x":1, "hooks": {"Pre":[{"a":1}]}}`},
		{`{"x":1, "hooks": {"Pre": [ 2, 3 ]}}`, `{"x":1, "hooks": {"Pre": [ 2, 3, {"a":1} ]}}`},
		{"{\r\n  \"hooks\": {\r\n    \"Pre\": [\r\n      2\r\n    ]\r\n  }\r\n}", "{\r\n  \"hooks\": {\r\n    \"Pre\": [\r\n      2,\r\n      {\r\n        \"a\": 1\r\n      }\r\n    ]\r\n  }\r\n}"},
		{"{\n    \"hooks\": {}\n}", "{\n    \"hooks\": {\n        \"Pre\": [\n            {\n                \"a\": 1\n            }\n        ]\n    }\n}"},
		{`{"hooks":{"Pre":1},"hooks":{"Pre":[]}}`, `{"hooks":{"Pre":1},"hooks":{"Pre":[{"a":1}]}}`},
	} {
		d, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Append([]string{"hooks", "Pre"}, json.RawMessage(`{"a":1}`), &Trace{}); err != nil || string(d.Bytes()) != c.want {
			t.Errorf("Append to %q = %q, %v, want %q", c.text, d.Bytes(), err, c.want)
		}
	}
}

// A shape that does not fit is refused and changes nothing.
func TestAddRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"hooks":[]}`:             `"hooks" is no object`,
		`{"hooks":{"Pre":{}}}`:     `"hooks"."Pre" is no array`,
		`{"hooks":{"Pre":"text"}}`: `"hooks"."Pre" is no array`,
		`{"hooks":null}`:           `"hooks" is no object`,
	} {
		d, _ := Parse([]byte(text))
		if err := d.Append([]string{"hooks", "Pre"}, json.RawMessage(`1`), &Trace{}); err == nil || err.Error() != want || string(d.Bytes()) != text {
			t.Errorf("Append to %s = %s, %v, want %q", text, d.Bytes(), err, want)
		}
	}
	d, _ := Parse([]byte(`{"a":1}`))
	if err := d.Set(nil, "a", json.RawMessage(`2`), &Trace{}); err == nil {
		t.Errorf("Set over a member = %s, want an error", d.Bytes())
	}
	if err := d.Set([]string{"a"}, "b", json.RawMessage(`2`), &Trace{}); err == nil {
		t.Errorf("Set below a number = %s, want an error", d.Bytes())
	}
	if d.Unset([]string{"x"}, "a", nil) || d.Unset(nil, "x", nil) || d.Unset(nil, "a", json.RawMessage(`2`)) {
		t.Error("Unset of what is not there = true, want false")
	}
}

// text draws a JSON object with any spaces.
func text(t *rapid.T) string {
	var value func(depth int) string
	space := rapid.StringMatching(`[ \t\n]{0,3}|\r\n  `)
	key := rapid.SampledFrom([]string{`"hooks"`, `"Pre"`, `"Post"`, `"a"`, `"é\n"`, `"{"`, `"]\\"`})
	list := func(depth int, open, end string, one func() string) string {
		var b strings.Builder
		b.WriteString(open + space.Draw(t, "space"))
		for i := range rapid.IntRange(0, 3).Draw(t, "n") {
			if i > 0 {
				b.WriteString("," + space.Draw(t, "space"))
			}
			b.WriteString(one() + space.Draw(t, "space"))
		}
		return b.String() + end
	}
	object := func(depth int) string {
		return list(depth, "{", "}", func() string {
			return key.Draw(t, "key") + space.Draw(t, "space") + ":" + space.Draw(t, "space") + value(depth-1)
		})
	}
	value = func(depth int) string {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case depth > 0 && kind < 2:
			return object(depth)
		case depth > 0 && kind < 4:
			return list(depth, "[", "]", func() string { return value(depth - 1) })
		}
		return rapid.SampledFrom([]string{`1`, `-2.5e3`, `true`, `null`, `""`, `"a \" ] } ,"`, `"\u00e9"`}).Draw(t, "scalar")
	}
	return space.Draw(t, "space") + object(3) + space.Draw(t, "space")
}

// What is added and removed again leaves every byte as it was, whatever the text.
func TestAddAndRemoveIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := text(t)
		d, err := Parse([]byte(before))
		if err != nil {
			t.Fatalf("Parse(%q) = %v", before, err)
		}
		paths := [][]string{{"hooks", "Pre"}, {"hooks", "Post"}, {"hooks", "Pre"}, {"é\n"}}
		own := json.RawMessage(`{"command":"own","list":[1,{"x":[]}]}`)
		var trace Trace
		added := 0
		for _, path := range paths {
			was := string(d.Bytes())
			if err := d.Append(path, own, &trace); err == nil {
				added++
			} else if string(d.Bytes()) != was {
				t.Fatalf("Append(%q) = %v, but changed %q to %q", path, err, was, d.Bytes())
			}
			if !json.Valid(d.Bytes()) {
				t.Fatalf("Append(%q) to %q = %q, which is no JSON", path, was, d.Bytes())
			}
		}
		set := d.Set(nil, "own", own, &trace) == nil
		for _, path := range paths {
			added -= d.RemoveElements(path, func(e json.RawMessage) bool { return Same(e, own) })
		}
		if d.Unset(nil, "own", own) != set || added != 0 {
			t.Fatalf("%d added values were not found in %q", added, d.Bytes())
		}
		d.Tidy(trace)
		if got := string(d.Bytes()); got != before {
			t.Fatalf("added and removed: %q, want %q", got, before)
		}
	})
}

func TestReplaceElement(t *testing.T) {
	d, _ := Parse([]byte(`{"a": [1, {"b":2} ]}`))
	d.ReplaceElement([]string{"a"}, 1, json.RawMessage(`3`))
	if got := d.Elements("a"); len(got) != 2 || string(got[1]) != "3" || string(d.Value("a")) != "[1, 3 ]" || d.Empty() {
		t.Errorf("ReplaceElement = %s, want 3 in the place of the second", d.Bytes())
	}
	if d.Value("a", "b") != nil || d.Elements("x") != nil {
		t.Error("values below an array and of a missing key, want none")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":"\"]"}],"a":null}`, "{\"hooks\":\t{\n}}", `{"a":tru`, `[1]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse([]byte(s))
		if err != nil {
			return
		}
		var trace Trace
		if d.Append([]string{"hooks", "Pre"}, json.RawMessage(`"own-7f3"`), &trace) != nil {
			return
		}
		if !json.Valid(d.Bytes()) {
			t.Fatalf("Append to %q = %q, which is no JSON", s, d.Bytes())
		}
		n := d.RemoveElements([]string{"hooks", "Pre"}, func(e json.RawMessage) bool { return string(e) == `"own-7f3"` })
		if d.Tidy(trace); n == 1 && string(d.Bytes()) != s {
			t.Fatalf("added and removed: %q, want %q", d.Bytes(), s)
		}
	})
}
