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

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
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

// text returns all requests.
func (s *script) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, "\n")
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
		return `"response":{"id":"resp_g","object":"response","status":"` + status + `","model":"m","tools":[],"output":[]` +
			more + `}`
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
	return string(items.JSON(map[string]string{"type": "function_call", "id": items.NewID("fc"),
		"call_id": items.NewID("call"),
		"status":  "completed", "namespace": namespace, "name": name, "arguments": arguments}))
}

func textItem(text string) string {
	return string(items.JSON(map[string]any{"type": "message", "id": items.NewID("msg"), "role": "assistant",
		"status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{},
			"logprobs": []any{}}}}))
}

// tools starts a service whose gateway answers by a script, with a server of tools called "t".
func startTools(t *testing.T, o ToolOptions, answers []string, tools ...toolservers.Tool) (*fixture, *script,
	*toolservers.Server) {
	t.Helper()
	server := toolservers.Plain(t, tools...)
	o.Servers = append(o.Servers, ToolServer{Label: "t", URL: server.Streamable(),
		Headers: http.Header{"X-Secret": {"s3cret"}}})
	gateway := &script{answers: answers}
	f := startAt(t, running(o), gateway)
	return f, gateway, server
}

// startAt is start before another gateway.
func startAt(t *testing.T, o Options, gateway http.Handler) *fixture {
	t.Helper()
	url := startGateway(t, gateway)
	f := start(t, o)
	f.change(func(o *Settings) { o.Gateway = url })
	return f
}

func startGateway(t *testing.T, gateway http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(gateway)
	t.Cleanup(server.Close)
	return server.URL
}

func saying(text string) toolservers.Tool {
	return toolservers.Tool{Name: "say.it", Description: "Says it.", Answer: func(json.RawMessage) (*mcp.CallToolResult,
		error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}}
}

func failing() toolservers.Tool {
	return toolservers.Tool{Name: "fail", Description: "Fails.", Answer: func(json.RawMessage) (*mcp.CallToolResult,
		error) {
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

// running returns the options of a service that runs tools.
func running(o ToolOptions) Options { return Options{Settings: Settings{Tools: o}} }

// readEvents reads a stream to its end.
func readEvents(body io.Reader) (all []upstream.Event, err error) {
	r := upstream.NewReader(body)
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}
