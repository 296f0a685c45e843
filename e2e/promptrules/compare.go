package promptrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// explain returns the places in [rules] of the rules by which b, a front end's answer, differs from a, and whether they
// explain all of it.
func explain(c *testCase, a, b answer, frontEnd string) (used []int, ok bool) {
	switch {
	case a.refusal != "" && b.refusal != "":
		return nil, true
	case a.refusal != "" || b.refusal != "":
		i := slices.IndexFunc(rules, func(r rule) bool { return r.refuses(c, a.refusal+b.refusal) })
		return []int{i}, i >= 0
	case slices.Equal(a.ids, b.ids):
		return nil, true
	}
	for _, name := range []string{"", frontEnd} {
		if !equalBut(c, a, b, -1, name) {
			continue
		}
		for i := range rules {
			if rules[i].alike != nil && !equalBut(c, a, b, i, name) {
				used = append(used, i)
			}
		}
		return used, len(used) > 0
	}
	return nil, false
}

// refuses reports whether the message of a refusal is about the rule.
func (r *rule) refuses(c *testCase, message string) bool {
	return r.refusable != "" && strings.HasPrefix(c.name, r.refusable) &&
		slices.ContainsFunc(r.refusals, func(part string) bool { return strings.Contains(message, part) })
}

// equalBut reports whether two prompts are equal without what all rules but one are about. Of the rules for one front
// end it uses those of this name.
func equalBut(c *testCase, a, b answer, but int, frontEnd string) bool {
	x, errX := read(a.ids)
	y, errY := read(b.ids)
	if errX != nil || errY != nil {
		return false
	}
	for i := range rules {
		if i != but && rules[i].alike != nil && (rules[i].only == "" || rules[i].only == frontEnd) {
			x, y = rules[i].alike(c, x), rules[i].alike(c, y)
		}
	}
	return slices.EqualFunc(x, y, func(m, n message) bool { return m.equal(&n) })
}

// show returns the two prompts from the message on in which they differ.
func show(a, b answer) string {
	var out strings.Builder
	x, _ := read(a.ids)
	y, _ := read(b.ids)
	same := 0
	for same < min(len(x), len(y)) && x[same].equal(&y[same]) {
		same++
	}
	for _, each := range []struct {
		refusal string
		rest    []message
	}{{a.refusal, x[min(same, len(x)):]}, {b.refusal, y[min(same, len(y)):]}} {
		fmt.Fprintf(&out, "  -- %s\n", each.refusal)
		for _, m := range each.rest {
			fmt.Fprintf(&out, "  %s: %q\n", m.header(), o200k.Tokenizer().DecodeString(m.content))
		}
	}
	return out.String()
}
