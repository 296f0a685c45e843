package responses

import (
	"strings"
	"testing"
)

// TestDeclaredTools: tools that stand in the input of a chain stay declared, also when the conversation is compacted.
func TestDeclaredTools(t *testing.T) {
	f := start(t, Options{})
	const (
		added = `{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"early"}]}`
		found = `{"type":"tool_search_output","call_id":"c","execution":"client","tools":[{"type":"function","name":"late"}]}`
		user  = `{"type":"message","role":"user","content":"Hi"}`
	)
	one := f.create(`"input":[` + added + `,` + user + `]`)
	<-f.asked
	if _, items := f.do("GET", "/v1/responses/"+one+"/input_items", ""); !strings.Contains(items, `"id":"at_`) ||
		strings.Contains(items, `"status":"completed","tools"`) {
		t.Errorf("the stored items: %s", items)
	}
	two := f.create(`"previous_response_id":"` + one + `","input":[{"type":"tool_search_call","call_id":"c",` +
		`"execution":"client","arguments":{}},` + found + `]`)
	if asked := <-f.asked; !strings.Contains(asked, `"early"`) || !strings.Contains(asked, `"late"`) ||
		!strings.Contains(asked, `"tso_`) || !strings.Contains(asked, `"tsc_`) {
		t.Errorf("a chain: %s", asked)
	}
	three := f.create(`"previous_response_id":"` + two + `","input":[{"type":"compaction_trigger"}]`)
	if asked := <-f.asked; !strings.Contains(asked, `"tool_choice":"none"`) {
		t.Errorf("a summary: %s", asked)
	}
	for _, next := range []string{three, f.create(`"previous_response_id":"` + three + `","input":[` + added + `]`)} {
		f.create(`"previous_response_id":"` + next + `","input":[` + user + `]`)
	}
	for range 3 {
		asked := <-f.asked
		early, late, summary := strings.Index(asked, `"early"`), strings.Index(asked, `"late"`), strings.Index(asked, "Hello.")
		if early < 0 || late < early || summary < late || strings.Contains(asked, "tool_search_call") ||
			strings.Contains(asked, `"call_id"`) {
			t.Errorf("a compacted chain: %s", asked)
		}
	}
}
