package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
)

// script answers the requests of a gateway, one after the other. It repeats the last answer.
type script struct {
	mu      sync.Mutex
	answers []string
	asked   []string
	// counted is the newest request for a count of tokens.
	counted string
}

// ServeHTTP implements [http.Handler].
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/input_tokens") {
		s.counted = string(body)
		fmt.Fprint(w, `{"object":"response.input_tokens","input_tokens":7}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, string(body))
	w.Header().Set("content-type", "text/event-stream")
	fmt.Fprint(w, s.answers[0])
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
}

// last returns the newest request.
func (s *script) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

// answer returns an answer with items.
func answerOf(status string, input, output int, items ...string) string {
	var b strings.Builder
	n := 0
	add := func(kind, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
		n++
	}
	object := func(status, more string) string {
		return `"response":{"id":"resp_g","object":"response","status":"` + status + `","model":"m","tools":[],"output":[]` + more + `}`
	}
	add("response.created", object("in_progress", ""))
	add("response.in_progress", object("in_progress", ""))
	for i, item := range items {
		add("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
		add("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	add("response."+status, object(status, fmt.Sprintf(`,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":1,`+
		`"cache_write_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":%d}`,
		input, output, input+output)))
	return b.String()
}

func callItem(namespace, name, arguments string) string {
	return string(mustMarshal(map[string]string{"type": "function_call", "id": newID("fc"), "call_id": newID("call"),
		"status": "completed", "namespace": namespace, "name": name, "arguments": arguments}))
}

func textItem(text string) string {
	return string(mustMarshal(map[string]any{"type": "message", "id": newID("msg"), "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}}}))
}

// tools starts a service whose gateway answers by a script, with a server of tools called "t".
func startTools(t *testing.T, o ToolOptions, answers []string, tools ...toolservers.Tool) (*fixture, *script, *toolservers.Server) {
	t.Helper()
	server := toolservers.Plain(t, tools...)
	o.Servers = append(o.Servers, ToolServer{Label: "t", URL: server.Streamable(), Headers: http.Header{"X-Secret": {"s3cret"}}})
	gateway := &script{answers: answers}
	f := startAt(t, Options{Tools: o}, gateway)
	return f, gateway, server
}

// startAt is start before another gateway.
func startAt(t *testing.T, o Options, gateway http.Handler) *fixture {
	t.Helper()
	server := httptest.NewServer(gateway)
	t.Cleanup(server.Close)
	f := start(t, o)
	f.s.Gateway = server.URL
	return f
}

func saying(text string) toolservers.Tool {
	return toolservers.Tool{Name: "say.it", Description: "Says it.", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}}
}

func failing() toolservers.Tool {
	return toolservers.Tool{Name: "fail", Description: "Fails.", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, errors.New("it is broken")
	}}
}

type toolResponse struct {
	ID, Status string
	Output     []map[string]any
	Usage      struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Details struct {
			Tools int `json:"tool_output_tokens"`
		} `json:"output_tokens_details"`
	}
	Tools []map[string]any
}

func (f *fixture) ask(members string) (r toolResponse) {
	f.t.Helper()
	status, body := f.do("POST", "/v1/responses", `{"model":"m",`+members+`}`)
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
		f.t.Fatalf("%s: %d %s", members, status, body)
	}
	return r
}

func (r *toolResponse) types() string {
	var types []string
	for _, item := range r.Output {
		types = append(types, item["type"].(string))
	}
	return strings.Join(types, " ")
}

const never = `"tools":[{"type":"mcp","server_label":"t","require_approval":"never"}]`

func TestToolRounds(t *testing.T) {
	f, gateway, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"))
	r := f.ask(`"input":"go",` + never)
	if r.Status != "completed" || r.types() != "mcp_list_tools mcp_call message" {
		t.Fatalf("%+v", r)
	}
	call := r.Output[1]
	if call["output"] != "hello" || call["name"] != "say.it" || call["arguments"] != `{"a":1}` || call["status"] != "completed" {
		t.Errorf("%v", call)
	}
	if r.Usage.Input != 35 || r.Usage.Output != 10 || r.Usage.Details.Tools != 10 {
		t.Errorf("usage %+v", r.Usage)
	}
	if asked := gateway.last(); !strings.Contains(asked, `"function_call_output","output":"hello"`) &&
		!strings.Contains(asked, `"output":"hello"`) || !strings.Contains(asked, `"name":"say_it"`) ||
		!strings.Contains(asked, `"type":"namespace"`) {
		t.Errorf("the gateway is asked %s", asked)
	}
	if calls := server.Calls(); len(calls) != 1 || !strings.Contains(fmt.Sprint(server.Requests()), "s3cret") {
		t.Errorf("%+v", calls)
	}
	// The chain goes on: the tools are not listed again, and the model sees the call.
	r = f.ask(`"input":"and?","previous_response_id":"` + r.ID + `",` + never)
	if r.types() != "message" {
		t.Errorf("%+v", r)
	}
	if asked := gateway.last(); strings.Count(asked, `"output":"hello"`) != 1 || strings.Contains(asked, "mcp_list") {
		t.Errorf("the gateway is asked %s", asked)
	}
}

func TestToolStream(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`), callItem("t", "fail", `{}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"), failing())
	_, body := f.do("POST", "/v1/responses", `{"model":"m","stream":true,"input":"go",`+never+`}`)
	events, err := readEvents(strings.NewReader(body))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var kinds []string
	for i, e := range events {
		var fields struct {
			Sequence int `json:"sequence_number"`
		}
		if err := json.Unmarshal(e.data, &fields); err != nil || fields.Sequence != i {
			t.Errorf("event %d: %s", i, e.data)
		}
		kinds = append(kinds, strings.TrimPrefix(e.kind, "response."))
	}
	const want = "created in_progress output_item.added mcp_list_tools.in_progress mcp_list_tools.completed output_item.done " +
		"output_item.added mcp_call.in_progress mcp_call_arguments.delta mcp_call_arguments.done mcp_call.completed output_item.done " +
		"output_item.added mcp_call.in_progress mcp_call_arguments.delta mcp_call_arguments.done mcp_call.failed output_item.done " +
		"output_item.added output_item.done completed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("%s", got)
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

func TestToolMixedTurn(t *testing.T) {
	f, _, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`), callItem("", "mine", `{}`)),
	}, saying("hello"))
	r := f.ask(`"input":"go","tools":[{"type":"function","name":"mine"},{"type":"mcp","server_label":"t","require_approval":"never"}]`)
	if r.types() != "mcp_list_tools function_call mcp_call" || len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
	if len(r.Tools) != 1 { // the fake gateway gives none back
		t.Errorf("%v", r.Tools)
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

func TestToolRefusals(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{RefuseOthers: true}, []string{answerOf("completed", 1, 1)}, saying("hello"))
	for tools, code := range map[string]string{
		`{"type":"mcp"}`:                        "missing_required_parameter",
		`{"type":"mcp","server_label":"a b"}`:   "invalid_value",
		`{"type":"mcp","server_label":"other"}`: "missing_required_parameter",
		`{"type":"mcp","server_label":"other","server_url":"http://127.0.0.1:1/mcp"}`:  "invalid_value",
		`{"type":"mcp","server_label":"t","connector_id":"connector_gmail"}`:           "unsupported_parameter",
		`{"type":"mcp","server_label":"t","require_approval":"maybe"}`:                 "invalid_value",
		`{"type":"mcp","server_label":"t","headers":{"Host":"x"}}`:                     "invalid_value",
		`{"type":"mcp","server_label":"t"},{"type":"mcp","server_label":"t"}`:          "invalid_value",
		`{"type":"mcp","server_label":"t"},{"type":"namespace","name":"t","tools":[]}`: "invalid_value",
		`{"type":"image_generation"}`:                                                  "unsupported_parameter",
	} {
		f.wants(400, code, "POST", "/v1/responses", `{"model":"m","input":"x","tools":[`+tools+`]}`)
	}
	f.wants(400, "unsupported_parameter", "POST", "/v1/responses", `{"model":"m","input":"x","background":true,"tools":[`+
		`{"type":"mcp","server_label":"t","authorization":"x"}]}`)
}

func TestToolListingFails(t *testing.T) {
	server := toolservers.Rude(t, toolservers.Unauthorized)
	f := startAt(t, Options{Tools: ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}}},
		&script{answers: []string{answerOf("completed", 1, 1)}})
	f.wants(424, "http_error", "POST", "/v1/responses", `{"model":"m","input":"x",`+never+`}`)
}

func TestToolTimeout(t *testing.T) {
	slow := toolservers.Tool{Name: "slow", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		time.Sleep(300 * time.Millisecond)
		return &mcp.CallToolResult{}, nil
	}}
	f, gateway, _ := startTools(t, ToolOptions{CallTime: 20 * time.Millisecond}, []string{
		answerOf("completed", 10, 5, callItem("t", "slow", `{}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, slow)
	r := f.ask(`"input":"go",` + never)
	if r.types() != "mcp_list_tools mcp_call message" || r.Output[1]["status"] != "failed" ||
		!strings.Contains(gateway.last(), "in time") {
		t.Errorf("%+v", r)
	}
}
