package responses

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// A client that sends its whole conversation again, sends its answers again too: as items, as with openai-agents'
// to_input_list, or as references to them, as Vercel's AI SDK.
func TestToolApprovalSentAgain(t *testing.T) {
	t.Run("items", func(t *testing.T) { sendAgain(t, func(item map[string]any) map[string]any { return item }) })
	t.Run("references", func(t *testing.T) {
		sendAgain(t, func(item map[string]any) map[string]any {
			return map[string]any{"type": items.TypeReference, "id": item["id"]}
		})
	})
}

func sendAgain(t *testing.T, form func(map[string]any) map[string]any) {
	f, gateway, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"))
	const always = `"tools":[{"type":"mcp","server_label":"t"}]`
	conversation := []any{map[string]any{"role": "user", "content": "go"}}
	ask := func(types string) toolResponse {
		t.Helper()
		r := f.ask(`"input":` + string(items.JSON(conversation)) + `,` + always)
		if r.types() != types {
			t.Fatalf("%+v", r)
		}
		for _, item := range r.Output {
			conversation = append(conversation, form(item))
		}
		return r
	}
	asks := ask("mcp_list_tools mcp_approval_request")
	conversation = append(conversation, map[string]any{"type": "mcp_approval_response", "approve": true,
		"approval_request_id": asks.Output[1]["id"]})
	ask("mcp_call message")
	conversation = append(conversation, map[string]any{"role": "user", "content": "and?"})
	last := ask("message")
	if len(server.Calls()) != 1 || strings.Count(gateway.last(), `"output":"hello"`) != 1 {
		t.Errorf("%+v %s", server.Calls(), gateway.last())
	}
	_, listed := f.do("GET", "/v1/responses/"+last.ID+"/input_items?order=asc", "")
	var list struct {
		Data []struct {
			Type     string
			Question string `json:"approval_request_id"`
		}
	}
	if err := json.Unmarshal([]byte(listed), &list); err != nil || len(list.Data) != 7 ||
		list.Data[3].Type != items.TypeApprovalResponse || list.Data[3].Question != asks.Output[1]["id"] ||
		strings.Contains(listed, items.HiddenPrefix) {
		t.Errorf("%s", listed)
	}
}

// The operator's word on approvals is what a client is told of.
func TestToolApprovalOfTheOperator(t *testing.T) {
	server := toolservers.Plain(t, saying("hello"))
	for _, c := range []struct{ file, request, echo, types string }{
		{"", "", "always", "mcp_list_tools mcp_approval_request"},
		{"never", "", "never", "mcp_list_tools mcp_call message"},
		{"never", "always", "always", "mcp_list_tools mcp_approval_request"},
		{"always", "never", "always", "mcp_list_tools mcp_approval_request"},
		{"always", "", "always", "mcp_list_tools mcp_approval_request"},
	} {
		f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable(),
			RequireApproval: c.file}}}), &script{answers: []string{
			answerOf("completed", 10, 5, callItem("t", "say_it", `{}`)), answerOf("completed", 25, 5, textItem("done"))}})
		asked := "null"
		if c.request != "" {
			asked = `"` + c.request + `"`
		}
		r := f.ask(`"input":"go","tools":[{"type":"mcp","server_label":"t","require_approval":` + asked + `}]`)
		if r.types() != c.types || r.Tools[0]["require_approval"] != c.echo {
			t.Errorf("%+v: %s %v", c, r.types(), r.Tools)
		}
	}
}

func TestToolApproval(t *testing.T) {
	f, gateway, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"))
	const always = `"tools":[{"type":"mcp","server_label":"t"}]`
	r := f.ask(`"input":"go",` + always)
	if r.types() != "mcp_list_tools mcp_approval_request" || len(server.Calls()) != 0 {
		t.Fatalf("%+v", r)
	}
	id := r.Output[1]["id"].(string)
	answer := func(approve bool) string {
		return fmt.Sprintf(`"previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%t,`+
			`"reason":"not now"}],%s`, r.ID, id, approve, always)
	}
	denied := f.ask(answer(false))
	if denied.types() != "message" || len(server.Calls()) != 0 || !strings.Contains(gateway.last(), "not now") {
		t.Errorf("%+v %s", denied, gateway.last())
	}
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m",`+answer(true)+`}`)
	r = f.ask(`"input":"go",` + always)
	id = r.Output[1]["id"].(string)
	approved := f.ask(answer(true))
	if approved.types() != "mcp_call message" || approved.Output[0]["approval_request_id"] != id ||
		approved.Output[0]["output"] != "hello" || len(server.Calls()) != 1 {
		t.Errorf("%+v", approved)
	}
	if !strings.Contains(gateway.last(), `"output":"hello"`) {
		t.Error(gateway.last())
	}
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m",`+answer(true)+`}`)
	if len(server.Calls()) != 1 {
		t.Error("an approval was used twice")
	}
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m","input":[{"type":"mcp_approval_response",`+
		`"approval_request_id":"mcpr_0","approve":true}],`+always+`}`)
}
