package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

const (
	execAndWait = `{"type":"namespace","name":"functions","description":"Tools of the agent","tools":[` +
		`{"type":"custom","name":"exec"},{"type":"function","name":"wait","parameters":{"type":"object"}}]}`
	searchTool  = `{"type":"tool_search","execution":"client","description":"Finds.","parameters":{"type":"object"}}`
	userSays    = `{"role":"user","content":"q"},`
	searchCall  = `{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{ "query": "x" }},`
	functionF   = `{"type":"function","name":"f"}`
	deferredF   = `{"type":"function","name":"f","defer_loading":true}`
	functionInN = `{"type":"namespace","name":"n","description":"N.","tools":[{"type":"function","name":"f"}]}`
)

func additional(tools string) string {
	return `{"type":"additional_tools","role":"developer","tools":[` + tools + `]},`
}

func found(tools string) string {
	return `{"type":"tool_search_output","call_id":"c","execution":"client","tools":[` + tools + `]},`
}

// TestDeclarations: tools that stand in the input are declared where they stand, and those that it begins with in
// front.
func TestDeclarations(t *testing.T) {
	const asked = "user: q\n"
	called := "assistant|commentary to=functions.tool_search|<|constrain|>json: {\"query\":\"x\"}\n" +
		"tool:functions.tool_search to=assistant|commentary: "
	for _, tt := range []struct{ name, tools, input, rest, want, calls string }{
		{"first", ``, additional(execAndWait) + userSays, ``,
			"developer: { functions=functions[ exec() wait() ]}\n" + asked, "exec wait"},
		{"between instructions", functionF, `{"role":"developer","content":"a"},` + additional(execAndWait) +
			`{"role":"developer","content":"b"},` + userSays, ``,
			"developer: {a⏎⏎b functions=functions[ f exec() wait() ]}\n" + asked, "f exec wait"},
		{"later", ``, userSays + additional(execAndWait) + `{"role":"assistant","content":"a"},` + userSays, ``,
			asked + "developer: { functions=functions[ exec() wait() ]}\nassistant|final: a\n" + asked, "exec wait"},
		{"last", functionF, userSays + additional(execAndWait), ``,
			"developer: { functions=functions[ f ]}\n" + asked + "developer: { functions=functions[ exec() wait() ]}\n",
			"f exec wait"},
		{"twice the same", functionF, userSays + additional(functionF) + additional(execAndWait) +
			additional(execAndWait), ``,
			"developer: { functions=functions[ f ]}\n" + asked + "developer: { functions=functions[ exec() wait() ]}\n",
			"f exec wait"},
		{"the last one wins", functionF, userSays + additional(`{"type":"custom","name":"f"}`), ``,
			"developer: { functions=functions[ f ]}\n" + asked + "developer: { functions=functions[ f() ]}\n", "f/custom"},
		{"the last one wins in front", functionF + `,{"type":"function","name":"g"}`,
			additional(`{"type":"custom","name":"f"}`) + userSays, ``,
			"developer: { functions=functions[ g f() ]}\n" + asked, "g f/custom"},
		{"a name that is taken", functionF, userSays + additional(functionInN), ``,
			"developer: { functions=functions[ f ]}\n" + asked + "developer: { functions=functions[ n__f ]}\n", "f n.f"},
		{"a plain name that is taken", functionInN, userSays + additional(functionF) +
			`{"type":"function_call","call_id":"d","name":"f","arguments":"{}"}`, ``,
			"developer: { functions=functions[ f ]}\n" + asked + "developer: { functions=functions[ f_2 ]}\n" +
				"assistant|commentary to=functions.f_2|<|constrain|>json: {}\n", "n.f f"},
		{"none", functionF, userSays + additional(execAndWait), `,"tool_choice":"none"`, asked, ""},
		{"allowed", functionF, userSays + additional(execAndWait),
			`,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"exec"}]}`,
			asked + "developer: { functions=functions[ exec() ]}\n", "exec/custom"},
		{"hosted ones are not shown", ``, additional(`{"type":"web_search"},{"type":"mcp"}`) + userSays, ``, asked, ""},
		{"turns may be left out", functionF, userSays + additional(execAndWait), `,"truncation":"auto"`,
			"developer: { functions=functions[ f exec() wait() ]}\n" + asked, "f exec wait"},
		{"a search", searchTool, userSays + searchCall + found(functionInN), ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked + called +
				"1 tool was found. It can be called from now on.\ndeveloper: { functions=functions[ f ]}\n",
			"tool_search/search n.f"},
		{"a search for nothing", searchTool, userSays + searchCall + found(``), ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked + called + "No tools were found.\n",
			"tool_search/search"},
		{"found again", searchTool, userSays + searchCall + found(deferredF+`,{"type":"function","name":"g"}`) +
			strings.ReplaceAll(searchCall+found(deferredF), `"c"`, `"d"`), ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked + called +
				"2 tools were found. They can be called from now on.\ndeveloper: { functions=functions[ f g ]}\n" + called +
				"1 tool was found. It can be called from now on.\n", "tool_search/search f g"},
		{"deferred", searchTool + `,` + deferredF, userSays, ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked, "tool_search/search"},
		{"deferred and found", searchTool + `,` + deferredF, userSays + searchCall + found(deferredF), ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked + called +
				"1 tool was found. It can be called from now on.\ndeveloper: { functions=functions[ f ]}\n",
			"tool_search/search f"},
		{"deferred without a search", `{"type":"tool_search"},` + deferredF, userSays, ``,
			"developer: { functions=functions[ f ]}\n" + asked, "f"},
		{"deferred and chosen", searchTool + `,` + deferredF, userSays, `,"tool_choice":{"type":"function","name":"f"}`,
			"developer: { functions=functions[ tool_search() f ]}\n" + asked, "tool_search/search f"},
		{"deferred later", ``, additional(searchTool) + userSays + additional(deferredF), ``,
			"developer: { functions=functions[ tool_search() ]}\n" + asked, "tool_search/search"},
		{"the search was OpenAI's", ``, userSays + strings.ReplaceAll(searchCall+found(functionF), `"c"`, `null`), ``,
			asked + called + "1 tool was found. It can be called from now on.\ndeveloper: { functions=functions[ f ]}\n", "f"},
		{"two searches of a server", ``, userSays + strings.ReplaceAll(searchCall+found(functionF)+searchCall+found(``),
			`"c"`, `null`), ``,
			asked + called + "1 tool was found. It can be called from now on.\ndeveloper: { functions=functions[ f ]}\n" +
				called + "No tools were found.\n", "f"},
		{"the call is gone", ``, found(functionF) + userSays, ``, "developer: { functions=functions[ f ]}\n" + asked, "f"},
		{"a built-in tool", ``, userSays + additional(`{"type":"builtin","name":"python"}`), ``, asked, "python/custom"},
	} {
		body := `{"model":"gpt-oss-120b","tools":[` + tt.tools + `],"input":[` + strings.TrimSuffix(tt.input, ",") + `]` +
			tt.rest + `}`
		r, err := read(Responses, body)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := strings.TrimPrefix(dump(&r.Conversation), systemLine); got != tt.want && r.builtIns.shown == nil {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if got := callable(r.tools, strings.Contains(tt.calls, "/")); got != tt.calls {
			t.Errorf("%s: can call %q, want %q", tt.name, got, tt.calls)
		}
		if r.Continues() == strings.Contains(tt.rest, "truncation") {
			t.Errorf("%s: continues %t", tt.name, r.Continues())
		}
		m := contract.DefaultModel("gpt-oss-120b")
		m.Server = contract.Chat
		opened, _ := openai.Open([]byte(body))
		spoken, err := ResponsesChat(opened, &m, testEnv)
		if err != nil {
			t.Errorf("%s: before a server that takes conversations: %v", tt.name, err)
		} else if got := callable(spoken.tools, strings.Contains(tt.calls, "/")); sorted(got) != sorted(tt.calls) ||
			len(spoken.spoken.tools) != len(strings.Fields(got)) {
			t.Errorf("%s: before a server that takes conversations can call %q, want %q", tt.name, got, tt.calls)
		}
	}
}

// callable returns the tools that can be called: NAMESPACE.NAME, and which kind of tool each is.
func callable(set toolset, kinds bool) string {
	var names []string
	for i := range set {
		name := strings.TrimPrefix(set[i].namespace+"."+set[i].name, ".")
		switch {
		case !kinds:
		case set[i].search:
			name += "/search"
		case set[i].custom:
			name += "/custom"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func sorted(words string) string {
	list := strings.Fields(words)
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return strings.Join(list, " ")
}

// TestDeclarationsKeepThePrompt: what a conversation has become before is what it becomes with more of it behind.
func TestDeclarationsKeepThePrompt(t *testing.T) {
	items := []string{`{"role":"developer","content":"a"},`, additional(searchTool + `,` + deferredF), userSays,
		searchCall, found(deferredF + `,` + functionInN),
		`{"type":"function_call","call_id":"e","name":"f","namespace":"n","arguments":"{}"},`,
		`{"type":"function_call_output","call_id":"e","output":"r"},`,
		additional(functionInN + `,{"type":"custom","name":"f"}`), `{"role":"assistant","content":"a"},`, userSays, additional(execAndWait), userSays}
	last := ""
	for n := 3; n <= len(items); n++ {
		r, err := read(Responses, `{"model":"gpt-oss-120b","tools":[{"type":"function","name":"g"}],"input":[`+
			strings.TrimSuffix(strings.Join(items[:n], ""), ",")+`]}`)
		if err != nil {
			t.Fatalf("%d items: %v", n, err)
		}
		got := dump(&r.Conversation)
		if !strings.HasPrefix(got, last) {
			t.Errorf("%d items:\n%s\nbegins otherwise than\n%s", n, got, last)
		}
		last = got
	}
}

// TestBadDeclarations: what is wrong with tools in the input is said with its place.
func TestBadDeclarations(t *testing.T) {
	large := `{"type":"function","name":"g","description":"` + strings.Repeat("x", openai.MaxTools/2) + `"}`
	for _, tt := range []struct{ input, param string }{
		{`{"type":"additional_tools","role":"developer"},`, "input[0].tools"},
		{`{"type":"additional_tools","role":"developer","tools":{}},`, "input[0].tools"},
		{userSays + additional(`{"type":"function"}`), "input[1].tools[0].name"},
		{userSays + additional(`{"name":"f"}`), "input[1].tools[0].type"},
		{userSays + additional(`{"type":"function","name":"f","defer_loading":1}`),
			"input[1].tools[0].defer_loading"},
		{userSays + additional(`{"type":"tool_search","execution":"client","parameters":[]}`),
			"input[1].tools[0].parameters"},
		{userSays + additional(`{"type":"namespace","name":"n"}`), "input[1].tools[0].tools"},
		{`{"type":"tool_search_call","call_id":7,"arguments":{}},`, "input[0].call_id"},
		{`{"type":"tool_search_call","call_id":"c","arguments":7},`, "input[0].arguments"},
		{`{"type":"tool_search_output","call_id":7,"tools":[]},`, "input[0].call_id"},
		{`{"type":"tool_search_output","tools":7},`, "input[0].tools"},
		{userSays + additional(large) + found(strings.Replace(large, `"g"`, `"h"`, 1)), "input[2].tools"},
	} {
		_, err := read(Responses, `{"model":"gpt-oss-120b","input":[`+strings.TrimSuffix(tt.input, ",")+`]}`)
		if err == nil || err.Status != 400 || err.Param != tt.param {
			t.Errorf("%.200s: %+v, want an error at %s", tt.input, err, tt.param)
		}
	}
	// What is declared already takes no room.
	third := additional(strings.Replace(large, strings.Repeat("x", openai.MaxTools/6), "", 1))
	if _, err := read(Responses, `{"model":"gpt-oss-120b","input":[`+userSays+strings.Repeat(third, 5)+
		strings.TrimSuffix(userSays, ",")+`]}`); err != nil {
		t.Error(err)
	}
}

// TestManyDeclarations: as many items with tools as a request may have, and as many tools, are read in time that grows
// with the request.
func TestManyDeclarations(t *testing.T) {
	var items, tools strings.Builder
	for i := range 10_000 {
		items.WriteString(additional(fmt.Sprintf(`{"type":"function","name":"f%d"}`, i)))
	}
	for i := range 20_000 {
		fmt.Fprintf(&tools, `{"type":"custom","name":"g%d"},`, i)
	}
	for _, input := range []string{items.String(), userSays + items.String(),
		userSays + additional(strings.TrimSuffix(tools.String(), ","))} {
		r, err := read(Responses, `{"model":"gpt-oss-120b","input":[`+strings.TrimSuffix(input, ",")+`]}`)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.tools); n != 10_000 && n != 20_000 {
			t.Errorf("%d tools", n)
		}
	}
}

// TestConstrainedDeclarations: a tool that stands in the input is enforced as the request's own are.
func TestConstrainedDeclarations(t *testing.T) {
	strict := `{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{}}}`
	for _, tt := range []struct{ tools, input, rest, want string }{
		{``, userSays + additional(strict), ``, "functions.f"},
		{functionF, userSays + additional(strict), ``, "functions.f"},
		{functionF, userSays + additional(execAndWait), `,"tool_choice":"required"`,
			"functions.f functions.exec functions.wait"},
		{functionF, userSays + additional(execAndWait), `,"tool_choice":{"type":"custom","name":"exec"}`, "functions.exec"},
		{functionF, userSays + additional(execAndWait), ``, ""},
		{searchTool, userSays, `,"tool_choice":"required"`, "functions.tool_search"},
		{searchTool, userSays, `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"tool_search"}]}`,
			"functions.tool_search"},
	} {
		r, err := read(Responses, `{"model":"gpt-oss-120b","tools":[`+tt.tools+`],"input":[`+
			strings.TrimSuffix(tt.input, ",")+`]`+tt.rest+`}`)
		if err != nil {
			t.Errorf("%s: %v", tt.input, err)
			continue
		}
		var calls []string
		for i := range r.Constraint.Calls {
			calls = append(calls, r.Constraint.Calls[i].Recipient)
		}
		if got := strings.Join(calls, " "); got != tt.want {
			t.Errorf("%s%s: calls of %q, want %q", tt.input, tt.rest, got, tt.want)
		}
	}
}
