package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// TestToolSecrets has credentials in the places and spellings in which the service would read them.
func TestToolSecrets(t *testing.T) {
	o := ToolOptions{Servers: []ToolServer{{Label: "web", URL: toolservers.Browser(t).Streamable()},
		{Label: "t", URL: toolservers.Plain(t, saying("x")).Streamable()}}, Browser: "web"}
	f := startAt(t, running(o), &script{answers: []string{answerOf("completed", 1, 1, textItem("a"))}})
	for _, tool := range []string{
		`"server_label":"t","authorization":"s3cret"`, `"server_label":"t","Authorization":"s3cret"`,
		`"server_label":"t","HEADERS":{"X-Key":"s3cret"}`, `"server_label":"web","authorization":"s3cret"`,
		`"server_label":"web","headers":{"X-Key":"s3cret"}`,
	} {
		r := f.ask(`"input":"x","tools":[{"type":"mcp",` + tool + `}]`)
		if _, stored := f.do("GET", "/v1/responses/"+r.ID, ""); strings.Contains(stored, "s3cret") || len(r.Tools) != 1 {
			t.Errorf("%s: %s", tool, stored)
		}
	}
	f.wants(400, "unsupported_parameter", "POST", "/v1/responses", `{"model":"m","input":"x","tool_choice":{"type":"mcp",`+
		`"server_label":"t","authorization":"s3cret"},`+never+`}`)
}

// TestToolSecretsUnserved has a service that runs no tools, and stores a request until its response has been made.
func TestToolSecretsUnserved(t *testing.T) {
	f := start(t, Options{})
	f.do("POST", "/v1/responses", `{"model":"m","input":"x","background":true,"tools":[{"type":"mcp","server_label":"t",`+
		`"authorization":"s3cret"}]}`)
	if asked := <-f.asked; strings.Contains(asked, "s3cret") || !strings.Contains(asked, `"server_label":"t"`) {
		t.Error(asked)
	}
}

// TestToolMany has a client that sends a list with more tools than servers may have.
func TestToolMany(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, textItem("a"))}, saying("x"))
	for tools, status := range map[string]int{
		strings.Repeat(`,{"name":"."}`, 2048-1):                                      200,
		strings.Repeat(`,{"name":"."}`, 2048):                                        400,
		`,{"name":"x","description":"` + strings.Repeat("x", openai.MaxTools) + `"}`: 400,
	} {
		got, body := f.do("POST", "/v1/responses",
			`{"model":"m","input":[{"type":"mcp_list_tools","server_label":"t","tools":[`+
				`{"name":"say.it"}`+tools+`]},{"role":"user","content":"x"}],`+never+`}`)
		if got != status {
			t.Errorf("%d bytes: %d %.200s", len(tools), got, body)
		}
	}
}

func TestToolChoiceUnknown(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, textItem("a"))}, saying("x"))
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m","input":"x","tool_choice":{"type":"mcp",`+
		`"server_label":"t","name":"other"},`+never+`}`)
}

// TestToolListsInTime has a server that does not answer. All lists of a response have one time together.
func TestToolListsInTime(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	f := startAt(t, running(ToolOptions{Time: 50 * time.Millisecond, Servers: []ToolServer{{Label: "t",
		URL: server.URL}}}),
		&script{answers: []string{answerOf("completed", 1, 1)}})
	began := time.Now()
	f.wants(424, "server_error", "POST", "/v1/responses", `{"model":"m","input":"x",`+never+`}`)
	if took := time.Since(began); took > hosted.DefaultCallTime/10 {
		t.Errorf("it took %s", took)
	}
}

// TestToolFault has a fault of the service's own while a tool is called.
func TestToolFault(t *testing.T) {
	f, gateway, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, callItem("t", "say_it", "{}")),
		answerOf("completed", 1, 1, textItem("a"))}, saying("x"))
	f.s.metrics.tools.calls = nil // counting a call panics
	r := f.ask(`"input":"x",` + never)
	if r.types() != "mcp_list_tools mcp_call message" || !strings.Contains(gateway.last(), "could not be called") {
		t.Error(r.types(), gateway.last())
	}
}

// TestToolApprovalsOfMany approves more calls than one answer of the model can ask for.
func TestToolApprovalsOfMany(t *testing.T) {
	calls := make([]string, 128)
	for i := range calls {
		calls[i] = callItem("t", "say_it", "{}")
	}
	f, _, server := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, calls...)}, saying("x"))
	const always = `"tools":[{"type":"mcp","server_label":"t"}]`
	var answers []string
	for len(answers) <= 128 {
		for _, item := range f.ask(`"input":"go",` + always).Output {
			if item["type"] == items.TypeApprovalRequest {
				answers = append(answers, fmt.Sprintf(`{"type":%q,"approval_request_id":%q,"approve":true}`,
					items.TypeApprovalResponse,
					item["id"]))
			}
		}
	}
	f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m","input":[`+strings.Join(answers,
		",")+`],`+always+`}`)
	if len(server.Calls()) != 0 {
		t.Error("calls were run")
	}
}

// TestBuiltinLimits has a server of gpt-oss's own tool with a tool that gpt-oss does not know, and with approvals.
func TestBuiltinLimits(t *testing.T) {
	server := toolservers.Plain(t, saying("x"), toolservers.Tool{Name: "exec"})
	o := ToolServer{Label: "box", URL: server.Streamable()}
	start := func(call string) *fixture {
		return startAt(t, running(ToolOptions{Servers: []ToolServer{o}, Container: "box"}), &script{answers: []string{
			answerOf("completed", 1, 1, callItem("", call, "{}")), answerOf("completed", 1, 1, textItem("a"))}})
	}
	if r := start("container.exec").ask(`"input":"go","tools":[{"type":"container"}]`); len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
	if r := start("container.say.it").ask(`"input":"go","tools":[{"type":"container"}]`); len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
	// A server that needs approvals is one like any other.
	o.RequireApproval = "always"
	for tool, types := range map[string]string{`"type":"container"`: "function_call",
		`"type":"mcp","server_label":"box","require_approval":"never"`: "mcp_list_tools function_call"} {
		r := start("container.exec").ask(`"input":"go","tools":[{` + tool + `}]`)
		if r.types() != types || len(server.Calls()) != 1 {
			t.Errorf("%s %+v", tool, r)
		}
	}
}

// TestToolLog has a server that repeats the arguments of a call in its error.
func TestToolLog(t *testing.T) {
	fail := toolservers.Tool{Name: "fail", Answer: func(arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, errors.New("these are wrong: " + string(arguments))
	}}
	var log bytes.Buffer
	f := startAt(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Settings: Settings{Tools: ToolOptions{Servers: []ToolServer{{Label: "t",
			URL: toolservers.Plain(t, fail).Streamable()}}}}}, &script{answers: []string{
		answerOf("completed", 1, 1, callItem("t", "fail", `{"a":"pr1vate"}`)), answerOf("completed", 1, 1, textItem("a"))}})
	r := f.ask(`"input":"go",` + never)
	if said := fmt.Sprint(r.Output[1]["error"]); !strings.Contains(said, "pr1vate") {
		t.Error(said)
	}
	if strings.Contains(log.String(), "pr1vate") || !strings.Contains(log.String(), "the code is") {
		t.Error(log.String())
	}
}

// TestToolText has a server that writes bytes that are no text.
func TestToolText(t *testing.T) {
	list, result := "{\"tools\":[{\"name\":\"x\",\"inputSchema\":{\"title\":\"\xff\"}}]}",
		"{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		answer := map[string]string{"tools/list": list, "tools/call": result,
			"initialize": `{"protocolVersion":"2025-06-18",` +
				`"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`}[m.Method]
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(map[bool]int{true: http.StatusOK, false: http.StatusAccepted}[answer != ""])
		if answer != "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
		}
	}))
	t.Cleanup(server.Close)
	gateway := &script{answers: []string{answerOf("completed", 1, 1, callItem("t", "x", `{}`)),
		answerOf("completed", 1, 1, textItem("a"))}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.URL}}}), gateway)
	_, body := f.do("POST", "/v1/responses", `{"model":"m","stream":true,"input":"x",`+never+`}`)
	if !utf8.ValidString(body) || strings.Count(body, "\uFFFD") < 2 || !utf8.ValidString(strings.Join(gateway.asked,
		"")) {
		t.Errorf("%q", body)
	}
}

// TestToolServersEnd has a service that ends, and with it what it has started.
func TestToolServersEnd(t *testing.T) {
	s := New(Options{Store: store.Options{URL: filepath.Join(t.TempDir(), "responses.db")},
		Settings: Settings{Gateway: "http://127.0.0.1:1"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ctx, l, time.Minute); err != nil {
		t.Fatal(err)
	}
	_, err = s.toolServers.Tools(t.Context(), &toolserver.Server{URL: "http://127.0.0.1:1", Private: true}, "")
	if !errors.Is(err, toolserver.ErrClosed) {
		t.Error(err)
	}
}

// TestToolsHidden has a server with tools that the gateway would refuse.
func TestToolsHidden(t *testing.T) {
	var log bytes.Buffer
	deep := strings.Repeat(`{"a":`, openai.MaxSchemaDepth) + "{}" + strings.Repeat("}", openai.MaxSchemaDepth)
	server := toolservers.Plain(t, toolservers.Tool{Name: "a", Schema: `{"type":"object","a":` + deep + `}`},
		toolservers.Tool{Name: "b", Schema: `{"type":"object","a":` + deep + `}`}, saying("x"))
	gateway := &script{answers: []string{answerOf("completed", 1, 1, textItem("a"))}}
	f := startAt(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Settings: Settings{Tools: ToolOptions{Servers: []ToolServer{{Label: "t",
			URL: server.Streamable()}}}}}, gateway)
	f.ask(`"input":"go",` + never)
	if strings.Count(log.String(), "not shown") != 1 || !strings.Contains(log.String(), "tools=2") ||
		strings.Contains(gateway.last(), `"name":"a"`) || !strings.Contains(gateway.last(), `"name":"say_it"`) {
		t.Errorf("%s %s", log.String(), gateway.last())
	}
}

// TestToolUnshown has a slow call before many fast ones, whose results wait.
func TestToolUnshown(t *testing.T) {
	ended := make(chan struct{})
	slow := toolservers.Tool{Name: "slow", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		<-ended
		return &mcp.CallToolResult{}, nil
	}}
	calls := []string{callItem("t", "slow", "{}")}
	for range 3 * 16 {
		calls = append(calls, callItem("t", "say_it", "{}"))
	}
	f, _, server := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, calls...),
		answerOf("completed", 1, 1, callItem("t", "say_it", "{}")), answerOf("completed", 1, 1, textItem("a"))},
		saying("x"), slow)
	t.Cleanup(func() { close(ended) })
	begun := func() int { return len(server.Calls()) }
	client, err := http.Post(f.url+"/v1/responses", "application/json",
		strings.NewReader(`{"model":"m","stream":true,"input":"x",`+
			never+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Body.Close()
	for begun() < 16 {
		runtime.Gosched()
	}
	f.ask(`"input":"x",` + never) // meanwhile
	if begun() != 16+1 {
		t.Errorf("%d calls have been begun", begun())
	}
	ended <- struct{}{}
	if _, err := io.ReadAll(client.Body); err != nil || begun() != len(calls)+1 {
		t.Errorf("%v after %d calls", err, begun())
	}
}
