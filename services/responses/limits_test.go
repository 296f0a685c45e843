package responses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// A model that calls tools although it must not ends the response.
func TestToolRoundsEnd(t *testing.T) {
	for members, limit := range map[string]struct{ rounds, calls int }{
		``:                     {3, 2},
		`"max_tool_calls":0,`:  {1, 0},
		`"max_tool_calls":1,`:  {2, 1},
		`"max_tool_calls":10,`: {3, 2},
	} {
		f, gateway, server := startTools(t, ToolOptions{Rounds: 3},
			[]string{answerOf("completed", 10, 5, callItem("t", "say_it", `{}`))}, saying("hello"))
		r := f.ask(`"input":"go",` + members + never)
		if r.Status != items.Completed || len(server.Calls()) != limit.calls || len(gateway.asked) != limit.rounds ||
			!strings.Contains(gateway.last(), `"tool_choice":"none"`) {
			t.Errorf("%s %+v: %d calls, %d rounds", members, r, len(server.Calls()), len(gateway.asked))
		}
	}
}

func TestToolsAndCompaction(t *testing.T) {
	f, gateway, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`)),
		answerOf("completed", 10, 5, textItem("a summary")),
	}, saying("hello"))
	const always = `"tools":[{"type":"mcp","server_label":"t"}]`
	asks := f.ask(`"input":"go",` + always)
	r := f.ask(`"previous_response_id":"` + asks.ID + `","input":[{"type":"compaction_trigger"}],` + never)
	if r.types() != "compaction" || strings.Contains(gateway.last(), "say_it") {
		t.Errorf("%+v %s", r, gateway.last())
	}
	approval := `{"type":"mcp_approval_response","approve":true,"approval_request_id":"` + asks.Output[1]["id"].(string) + `"}`
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m","input":[`+approval+`,{"type":"compaction_trigger"}],`+
		always+`}`)
	if len(server.Calls()) != 0 {
		t.Errorf("%+v", server.Calls())
	}
}

// A conversation that its tools have made too long is refused as one that was too long from the beginning.
func TestToolsFillTheContext(t *testing.T) {
	server := toolservers.Plain(t, saying("hello"))
	first := &script{answers: []string{answerOf("completed", 10, 5, callItem("t", "say_it", `{}`))}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}}),
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(server.Calls()) == 0 {
				first.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`)
		}))
	f.wants(400, "context_length_exceeded", "POST", "/v1/responses", `{"model":"m","input":"go",`+never+`}`)
}

// TestFileAllowsTools: no request can call a tool that the operator's list does not have.
func TestFileAllowsTools(t *testing.T) {
	server := toolservers.Plain(t, saying("hello"), failing())
	gateway := &script{answers: []string{answerOf("completed", 10, 5, callItem("t", "fail", `{}`)),
		answerOf("completed", 20, 5, textItem("done"))}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable(),
		AllowedTools: []string{"say.it"}}}}), gateway)
	r := f.ask(`"input":"go","tools":[{"type":"mcp","server_label":"t","require_approval":"never",` +
		`"allowed_tools":["fail","say.it"]}]`)
	list, _ := r.Output[0]["tools"].([]any)
	if len(list) != 1 || r.types() != "mcp_list_tools mcp_call message" || r.Output[1]["status"] != items.Failed ||
		len(server.Calls()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestToolLimits(t *testing.T) {
	f, gateway, server := startTools(t, ToolOptions{Rounds: 3}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`), callItem("t", "say_it", `{}`)),
	}, saying("hello"))
	r := f.ask(`"input":"go","max_tool_calls":1,` + never)
	if len(server.Calls()) != 1 || !strings.Contains(gateway.last(), `"tool_choice":"none"`) {
		t.Errorf("%+v %s", r, gateway.last())
	}
	r = f.ask(`"input":"go","max_output_tokens":20,` + never)
	if r.Status != "incomplete" {
		t.Errorf("%+v", r)
	}
}

// TestToolsRunOnce: a request whose model fails after a call has run is not answered so that its client repeats it.
func TestToolsRunOnce(t *testing.T) {
	failed := strings.Replace(answerOf("failed", 10, 5), `"status":"failed"`, `"status":"failed","error":`+
		`{"code":"server_error","message":"It broke."}`, 1)
	f, _, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`)), failed}, saying("hello"))
	r := f.ask(`"input":"go",` + never)
	if r.Status != items.Failed || r.types() != "mcp_list_tools mcp_call" || len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
	if status, body := f.do("GET", "/v1/responses/"+r.ID, ""); status != 200 || !strings.Contains(body, "mcp_call") {
		t.Errorf("%d %s", status, body)
	}
}
