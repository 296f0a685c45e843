package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// searchItem is a call of the search as the gateway gives it.
func searchItem(arguments string) string {
	return string(items.JSON(map[string]any{"type": "tool_search_call", "id": items.NewID("tsc"), "execution": "client",
		"call_id": items.NewID("call"), "status": "completed", "arguments": json.RawMessage(arguments)}))
}

const (
	orders = `{"type":"namespace","name":"crm","description":"Customers and orders.","tools":[` +
		`{"type":"function","name":"list_orders","description":"Lists orders.","defer_loading":true,"parameters":` +
		`{"type":"object","properties":{"since":{"type":"string","description":"the first day"}}}},` +
		`{"type":"custom","name":"note","description":"Writes a note.","defer_loading":true}]}`
	weather = `{"type":"function","name":"weather","description":"The forecast.","defer_loading":true}`
	shownF  = `{"type":"function","name":"shown"}`
	search  = `{"type":"tool_search"}`
)

// askedWith returns the names of the tools that the gateway was asked with: in capitals those that it hides, which is
// what it does if there is a search.
func askedWith(t *testing.T, body string) string {
	t.Helper()
	type tool struct {
		Type, Name, Execution string
		Deferred              json.RawMessage `json:"defer_loading"`
		Tools                 []tool
	}
	var asked struct{ Tools []tool }
	if err := json.Unmarshal([]byte(body), &asked); err != nil {
		t.Fatal(err)
	}
	var names []string
	var read func(list []tool)
	read = func(list []tool) {
		for _, tool := range list {
			switch {
			case tool.Type == "tool_search":
				names = append(names, tool.Type+"/"+tool.Execution)
			case tool.Type == "namespace":
				read(tool.Tools)
			case string(tool.Deferred) == "true":
				names = append(names, strings.ToUpper(tool.Name))
			default:
				names = append(names, tool.Name)
			}
		}
	}
	read(asked.Tools)
	return strings.Join(names, " ")
}

// TestToolSearch: the model finds a client's tools and those of an MCP server, and calls them.
func TestToolSearch(t *testing.T) {
	f, gateway, server := startTools(t, ToolOptions{Searches: true}, []string{
		answerOf("completed", 10, 5, searchItem(`{"query":"orders since a day","limit":1}`)),
		answerOf("completed", 20, 5, searchItem(`{"query":"say hello"}`)),
		answerOf("completed", 30, 5, callItem("t", "say_it", `{}`)),
		answerOf("completed", 40, 5, callItem("crm", "list_orders", `{}`)),
	}, saying("hello"))
	const tools = `"tools":[` + search + `,` + shownF + `,` + orders + `,` + weather + `,` +
		`{"type":"mcp","server_label":"t","require_approval":"never","server_description":"Says hello.",` +
		`"defer_loading":true}]`
	r := f.ask(`"input":"go",` + tools)
	if r.types() != "mcp_list_tools tool_search_call tool_search_output tool_search_call tool_search_output mcp_call "+
		"function_call" {
		t.Fatalf("%+v", r)
	}
	if len(server.Calls()) != 1 {
		t.Errorf("%d calls", len(server.Calls()))
	}
	for i, asked := range gateway.asked {
		if got := askedWith(t, asked); got != "tool_search/client shown LIST_ORDERS NOTE WEATHER SAY_IT" {
			t.Errorf("round %d is asked with %s", i, got)
		}
	}
	for _, want := range []string{`crm (tools: 2): Customers and orders.`, `weather: The forecast.`,
		`t (tools: 1): Says hello.`} {
		if !strings.Contains(gateway.asked[0], want) {
			t.Errorf("the model does not read %q: %s", want, gateway.asked[0])
		}
	}
	call, output := items.JSON(r.Output[1]), items.JSON(r.Output[2])
	r.Output[1]["id"], r.Output[2]["id"] = "", ""
	const wantCall = `{"arguments":{"limit":1,"query":"orders since a day"},"call_id":null,"execution":"server","id":"",` +
		`"status":"completed","type":"tool_search_call"}`
	const wantOutput = `{"call_id":null,"execution":"server","id":"","status":"completed","tools":[{"description":` +
		`"Customers and orders.","name":"crm","tools":[{"defer_loading":true,"description":"Lists orders.","name":` +
		`"list_orders","parameters":{"properties":{"since":{"description":"the first day","type":"string"}},"type":` +
		`"object"},"type":"function"}],"type":"namespace"}],"type":"tool_search_output"}`
	if got := string(items.JSON(r.Output[1])); got != wantCall {
		t.Errorf("%s", got)
	}
	if got := string(items.JSON(r.Output[2])); got != wantOutput {
		t.Errorf("%s", got)
	}
	for _, item := range []json.RawMessage{call, output} {
		if id := items.Of(item).ID; !strings.Contains(gateway.last(), id) {
			t.Errorf("the model is not asked with %s", id)
		}
	}
	// The chain goes on with what has been found.
	gateway.answers = []string{answerOf("completed", 50, 5, textItem("done"))}
	f.ask(`"input":"and?","previous_response_id":"` + r.ID + `",` + tools)
	if asked := gateway.last(); strings.Count(asked, `"tool_search_output"`) != 2 ||
		strings.Count(asked, `"tool_search_call"`) != 2 {
		t.Errorf("%s", asked)
	}
	if got := series(t, f.s)["tool_calls_total{outcome=completed,server=(tool search)}"]; got != 2 {
		t.Errorf("%v searches are counted", got)
	}
}

// TestToolSearchDecided: which requests are searched for, and by whom.
func TestToolSearchDecided(t *testing.T) {
	const mcp = `{"type":"mcp","server_label":"t","require_approval":"never","defer_loading":true}`
	client := `{"type":"tool_search","execution":"client"}`
	for _, tt := range []struct {
		searches    bool
		tools, rest string
		want        string
	}{
		{false, search + `,` + weather, ``, `WEATHER`},
		{false, search + `,` + weather + `,` + mcp, ``, `WEATHER say_it`},
		{true, search + `,` + weather, ``, `tool_search/client WEATHER`},
		{true, weather + `,` + search, ``, `WEATHER tool_search/client`},
		{true, `{"type":"tool_search","execution":"server"},` + search + `,` + weather, ``, `tool_search/client WEATHER`},
		{true, weather, ``, `WEATHER tool_search/client`},
		{true, orders, ``, `LIST_ORDERS NOTE tool_search/client`},
		{true, mcp, ``, `SAY_IT tool_search/client`},
		{true, search + `,` + shownF, ``, `shown`},
		{true, weather + `,{"type":"function","name":"tool_search"}`, ``, `WEATHER tool_search`},
		{true, client + `,` + search + `,` + weather + `,` + mcp, ``, `tool_search/client WEATHER say_it`},
		{true, search + `,` + client + `,` + weather, ``, `tool_search/client WEATHER`},
		{true, search + `,` + weather, `,"tool_choice":"none"`, `tool_search/client WEATHER`},
		{true, search + `,` + mcp, `,"tool_choice":{"type":"mcp","server_label":"t"}`, `tool_search/client SAY_IT`},
		{true, `{"type":"tool_search","execution":"nobody"},` + weather, ``,
			`tool_search/nobody WEATHER tool_search/client`},
		{true, `{"type":"function","name":"f","defer_loading":"yes"}`, ``, `f`},
		{true, search, `,"input":[{"type":"additional_tools","role":"developer","tools":[` + weather + `]},` +
			`{"role":"user","content":"go"}]`, `tool_search/client`},
	} {
		f, gateway, _ := startTools(t, ToolOptions{Searches: tt.searches}, []string{
			answerOf("completed", 10, 5, textItem("done"))}, saying("hello"))
		if !strings.Contains(tt.rest, `"input"`) {
			tt.rest += `,"input":"go"`
		}
		if status, body := f.do("POST", "/v1/responses", `{"model":"m","tools":[`+tt.tools+`]`+tt.rest+`}`); status != 200 {
			t.Errorf("%s%s: %d %s", tt.tools, tt.rest, status, body)
			continue
		}
		if got := askedWith(t, gateway.last()); got != tt.want {
			t.Errorf("%t %s%s: asked with %s, want %s", tt.searches, tt.tools, tt.rest, got, tt.want)
		}
	}
}

// TestToolSearchStream: the events of a search.
func TestToolSearchStream(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{Searches: true}, []string{
		answerOf("completed", 10, 5, searchItem(`{"query":"forecast"}`), searchItem(`{"query":"zebra"}`)),
		answerOf("completed", 25, 5, textItem("done")),
	})
	_, body := f.do("POST", "/v1/responses", `{"model":"m","stream":true,"input":"go","tools":[`+search+`,`+weather+`]}`)
	events, err := readEvents(strings.NewReader(body))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var got []string
	for i, e := range events {
		var fields struct {
			Sequence int `json:"sequence_number"`
			Item     struct {
				Type, Status string
				Tools        []struct{ Name string }
			}
		}
		if err := json.Unmarshal(e.Data, &fields); err != nil || fields.Sequence != i {
			t.Errorf("event %d: %s", i, e.Data)
		}
		if fields.Item.Type != "" {
			got = append(got, fmt.Sprint(strings.TrimPrefix(e.Kind, "response.output_item."), " ", fields.Item.Type, " ",
				fields.Item.Status, " ", fields.Item.Tools))
		}
	}
	want := []string{
		"added tool_search_call in_progress []", "done tool_search_call completed []",
		"added tool_search_output completed [{weather}]", "done tool_search_output completed [{weather}]",
		"added tool_search_call in_progress []", "done tool_search_call completed []",
		"added tool_search_output completed []", "done tool_search_output completed []",
		"added message completed []", "done message completed []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestToolSearchLimits: how often, and how much, may be found.
func TestToolSearchLimits(t *testing.T) {
	const tools = `"tools":[` + search + `,` + weather + `]`
	forever := answerOf("completed", 10, 5, searchItem(`{"query":"forecast"}`))
	for _, tt := range []struct {
		name, rest string
		o          ToolOptions
		asked      int
		last       string
	}{
		{"rounds", ``, ToolOptions{Rounds: 4}, 4, `"tool_choice":"none"`},
		{"the client's limit", `,"max_tool_calls":2`, ToolOptions{}, 3, `"tool_choice":"none"`},
		{"required", `,"tool_choice":"required"`, ToolOptions{Rounds: 4}, 4, `"tool_choice":"none"`},
	} {
		tt.o.Searches = true
		f, gateway, _ := startTools(t, tt.o, []string{forever})
		r := f.ask(`"input":"go",` + tools + tt.rest)
		if len(gateway.asked) != tt.asked || !strings.Contains(gateway.last(), tt.last) || r.Status != "completed" {
			t.Errorf("%s: asked %d times, at last with %s", tt.name, len(gateway.asked), gateway.last())
		}
		if tt.name == "required" && !strings.Contains(gateway.asked[2], `"tool_choice":"required"`) {
			t.Errorf("a search is no call that was required: %s", gateway.asked[2])
		}
	}

	// Large tools, found one by one: the gateway is never asked with more than it takes.
	var large []string
	for i := range 3 {
		large = append(large, fmt.Sprintf(`{"type":"function","name":"f%d","description":"forecast %s","defer_loading":true}`,
			i, strings.Repeat("x", openai.MaxTools/5)))
	}
	f, gateway, _ := startTools(t, ToolOptions{Searches: true, Rounds: 5}, []string{forever})
	r := f.ask(`"input":"go","tools":[` + search + `,` + strings.Join(large, ",") + `]`)
	found := 0
	for _, item := range r.Output {
		tools, _ := item["tools"].([]any)
		found += len(tools)
	}
	if found != 1 || r.Status != "completed" { // the second would be too much
		t.Errorf("%d tools were found, %s", found, r.Status)
	}
	if _, failure := openai.Open([]byte(gateway.last())); failure != nil {
		t.Error(failure)
	} else if body, _ := openai.Open([]byte(gateway.last())); body != nil {
		if _, failure := openai.DecodeResponsesRequest(body); failure != nil {
			t.Error(failure)
		}
	}
}

// TestToolSearchCut: a search whose answer was cut, and one that takes too long, find nothing.
func TestToolSearchCut(t *testing.T) {
	for _, tt := range []struct {
		o      ToolOptions
		status string
	}{{ToolOptions{}, "incomplete"}, {ToolOptions{CallTime: 1}, "completed"}} {
		tt.o.Searches = true
		f, gateway, _ := startTools(t, tt.o, []string{answerOf(tt.status, 10, 5, searchItem(`"{\"query\":\"fore"`)),
			answerOf("completed", 25, 5, textItem("done"))})
		r := f.ask(`"input":"go","tools":[` + search + `,` + weather + `]`)
		if !strings.HasPrefix(r.types(), "tool_search_call tool_search_output") {
			t.Fatalf("%+v", r)
		}
		call, output := r.Output[0], r.Output[1]
		if call["status"] != "incomplete" || output["status"] != "incomplete" || len(output["tools"].([]any)) != 0 ||
			call["arguments"] != `{"query":"fore` {
			t.Errorf("%v %v", call, output)
		}
		if tt.status == "completed" && !strings.Contains(gateway.last(), `"tool_search_output"`) {
			t.Errorf("%s", gateway.last())
		}
	}
}

// TestToolSearchWays: in the background, by a connection and with the items sent back by the client.
func TestToolSearchWays(t *testing.T) {
	answers := func() []string {
		return []string{answerOf("completed", 10, 5, searchItem(`{"query":"forecast"}`)),
			answerOf("completed", 25, 5, textItem("done"))}
	}
	const tools = `"tools":[` + weather + `]`
	f, _, _ := startTools(t, ToolOptions{Searches: true}, answers())
	_, body := f.do("POST", "/v1/responses", `{"model":"m","background":true,"stream":true,"input":"go",`+tools+`}`)
	if !strings.Contains(body, `"tool_search_output"`) || !strings.Contains(body, "response.completed") {
		t.Errorf("%s", body)
	}

	gateway := &script{answers: answers()}
	f = startAt(t, Options{Settings: Settings{WebSocket: true, Tools: ToolOptions{Searches: true}}}, gateway)
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,"generate":false,` + tools)
	warm := w.toolResponse()
	if got := askedWith(t, gateway.counted); got != "WEATHER tool_search/client" {
		t.Errorf("a response without an answer is counted with %s", got)
	}
	w.ask(`"store":false,"input":"go","previous_response_id":"` + warm.ID + `",` + tools)
	one := w.toolResponse()
	if one.types() != "tool_search_call tool_search_output message" {
		t.Errorf("%+v", one)
	}
	w.ask(`"store":false,"input":"and?","previous_response_id":"` + one.ID + `",` + tools)
	if w.toolResponse(); strings.Count(gateway.last(), `"tool_search_output"`) != 1 {
		t.Errorf("%s", gateway.last())
	}

	history := string(items.JSON(one.Output[:2]))
	f.ask(`"store":false,"input":[{"role":"user","content":"go"},` + strings.Trim(history, "[]") + `],` + tools)
	if asked := gateway.last(); strings.Count(asked, `"tool_search_output"`) != 1 ||
		!strings.Contains(asked, `"call_id":null`) {
		t.Errorf("%s", asked)
	}
	f.do("POST", "/v1/responses/input_tokens", `{"model":"m","input":"go",`+tools+`}`)
	if got := askedWith(t, gateway.counted); got != "WEATHER tool_search/client" {
		t.Errorf("counted with %s", got)
	}
}

// TestManyTools: as many tools as a request can have, and more, cost a bounded time.
func TestManyTools(t *testing.T) {
	tools := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"type":"custom","name":"f%d","defer_loading":true}`, i)
		}
		return `"tools":[` + search + b.String() + `]`
	}
	f, gateway, _ := startTools(t, ToolOptions{Searches: true}, []string{
		answerOf("completed", 10, 5, searchItem(`{"query":"f29999 `+strings.Repeat("zebra ", 100_000)+`","limit":1e9}`)),
		answerOf("completed", 25, 5, textItem("done"))})
	r := f.ask(`"input":"go",` + tools(30_000))
	if r.types() != "tool_search_call tool_search_output message" || len(gateway.asked[0]) > openai.MaxTools {
		t.Fatalf("%s", r.types())
	}
	if found := r.Output[1]["tools"].([]any); len(found) != 1 || found[0].(map[string]any)["name"] != "f29999" {
		t.Errorf("%v", found)
	}
	if got := strings.Count(gateway.asked[0], `\n- `); got > 700 || !strings.Contains(gateway.asked[0], ` more"`) {
		t.Errorf("the model reads %d lines of tools", got)
	}
	for n, want := range map[int]string{50_000: "max_values_exceeded", 100_000: "request_too_large"} {
		_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go",`+tools(n)+`}`)
		if !strings.Contains(body, want) {
			t.Errorf("%d tools: %s", n, body)
		}
	}
	large := `{"type":"function","name":"f","defer_loading":true,"description":"` +
		strings.Repeat("x", openai.MaxTools) + `"}`
	f.ask(`"input":"go","tools":[` + search + `,` + large + `]`) // the gateway refuses these
	if strings.Contains(gateway.last(), "tool_search") {
		t.Error("tools that are too large are searched")
	}
}
