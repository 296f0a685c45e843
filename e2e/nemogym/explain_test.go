//go:build e2e

package nemogym

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// explained is a difference between NeMo Gym and the gateway that is meant to be.
type explained struct {
	name, reason string
	// where matches the path of the difference, without its turn and with * for the number of each element.
	where string
	// in reports whether it may be met in a vector. nil: in any.
	in func(v *vector) bool
	// ok reports whether the values differ as the reason says. nil: whatever they are.
	ok func(v *vector, d difference) bool
}

// only returns a check for the vectors with these names.
func only(names ...string) func(v *vector) bool {
	return func(v *vector) bool { return slices.Contains(names, v.String()) }
}

func theirsMissing(_ *vector, d difference) bool { return isMissing(d.theirs) }

func oursMissing(_ *vector, d difference) bool { return isMissing(d.ours) }

// isNothing reports whether a value is missing, null or empty.
func isNothing(v any) bool {
	list, isList := v.([]any)
	return isMissing(v) || isList && len(list) == 0
}

// isReasoning reports whether a difference is about where the text of a reasoning item stands, or its status.
func isReasoning(v *vector, d difference) bool {
	theirs, isItem := d.theirItem.(map[string]any)
	ours, alsoItem := d.ourItem.(map[string]any)
	if !isItem || !alsoItem || theirs["type"] != "reasoning" || ours["type"] != "reasoning" {
		return false
	}
	return said([]any{theirs}) == said([]any{ours})
}

// sayings are the texts of output items: of all reasoning, of all messages, and of all calls.
type sayings struct{ reasoning, text, calls string }

func said(output any) sayings {
	var s sayings
	for _, o := range elements(output) {
		item, _ := o.(map[string]any)
		switch item["type"] {
		case "reasoning":
			s.reasoning += joined(item["summary"]) + joined(item["content"])
		case "message":
			s.text += joined(item["content"])
		case "function_call":
			s.calls += fmt.Sprintln(item["call_id"], item["name"], item["arguments"])
		}
	}
	return s
}

func joined(parts any) string {
	texts, _ := textsOf(parts)
	return strings.Join(texts, "")
}

// sameSaid reports whether two lists of items say the same in another order.
func sameSaid(_ *vector, d difference) bool {
	return len(elements(d.theirs)) > 0 && len(elements(d.ours)) > 0 && said(d.theirs) == said(d.ours)
}

func bothTexts(_ *vector, d difference) bool {
	a, _ := d.theirs.(string)
	b, _ := d.ours.(string)
	return a != "" && b != ""
}

// sameText reports whether ours is the text of their parts, one after the other or with line breaks between them.
func sameText(_ *vector, d difference) bool {
	texts, ok := textsOf(d.theirs)
	return ok && (d.ours == strings.Join(texts, "") || d.ours == strings.Join(texts, "\n"))
}

// textsOf returns the texts of parts that are not empty. It reports false if there is another part, or none.
func textsOf(content any) ([]string, bool) {
	var all []string
	for _, p := range elements(content) {
		part, _ := p.(map[string]any)
		text, ok := part["text"].(string)
		if !ok {
			return nil, false
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all, len(elements(content)) > 0
}

var (
	numbers = regexp.MustCompile(`\[\d+\]`)
	inTurn  = regexp.MustCompile(`^turns\[\d+\]\.?`)
)

// explain returns the name of the row that explains a difference, or an empty string.
func explain(v *vector, d difference) string {
	path := numbers.ReplaceAllString(inTurn.ReplaceAllString(d.path, ""), "[*]")
	for i := range differences {
		e := &differences[i]
		where := regexp.MustCompile("^(?:" + e.where + ")$")
		if where.MatchString(path) && (e.in == nil || e.in(v)) && (e.ok == nil || e.ok(v, d)) {
			return e.name
		}
	}
	return ""
}
