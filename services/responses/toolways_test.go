package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// toolResponse reads the frames of a response with tools.
func (w *wire) toolResponse() (r toolResponse) {
	w.t.Helper()
	for {
		_, data, err := w.ws.Read(w.t.Context())
		var f struct {
			Type     string
			Response toolResponse
		}
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil || f.Type == "error" || f.Type == "response.failed" {
			w.t.Fatalf("%v: %s", err, data)
		}
		if f.Type == "response.completed" {
			return f.Response
		}
	}
}

func TestToolsOfConnection(t *testing.T) {
	server := toolservers.Plain(t, saying("hello"))
	gateway := &script{answers: []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}}
	f := startAt(t, Options{Settings: Settings{WebSocket: true, Tools: ToolOptions{Servers: []ToolServer{{Label: "t",
		URL: server.Streamable()}}}}},
		gateway)
	w, _ := dial(t, f.url, nil)
	const always = `"tools":[{"type":"mcp","server_label":"t"}]`
	w.ask(`"store":false,"generate":false,` + always)
	warm := w.toolResponse()
	if len(warm.Tools) != 1 || len(warm.Output) != 0 || len(gateway.asked) != 0 {
		t.Fatalf("%+v", warm)
	}
	w.ask(`"store":false,"input":"go","previous_response_id":"` + warm.ID + `",` + always)
	asks := w.toolResponse()
	if asks.types() != "mcp_list_tools mcp_approval_request" {
		t.Fatalf("%+v", asks)
	}
	answer := fmt.Sprintf(`"store":false,"previous_response_id":%q,"input":[{"type":"mcp_approval_response",`+
		`"approval_request_id":%q,"approve":true}],`, asks.ID, asks.Output[1]["id"])
	w.ask(answer + `"stream_id":"other","generate":false,` + always)
	w.refused("invalid_value")
	w.ask(answer + always)
	if r := w.toolResponse(); r.types() != "mcp_call message" || len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestToolsOfConversation(t *testing.T) {
	f, gateway, _ := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"))
	_, body := f.do("POST", "/v1/conversations", `{}`)
	var conversation struct{ ID string }
	if err := json.Unmarshal([]byte(body), &conversation); err != nil {
		t.Fatal(err)
	}
	in := `"conversation":"` + conversation.ID + `",` + never
	if r := f.ask(`"input":"go",` + in); r.types() != "mcp_list_tools mcp_call message" {
		t.Fatalf("%+v", r)
	}
	_, listed := f.do("GET", "/v1/conversations/"+conversation.ID+"/items?order=asc", "")
	for _, kind := range []string{items.TypeListTools, items.TypeMCPCall, `"output":"hello"`} {
		if !strings.Contains(listed, kind) {
			t.Errorf("%s", listed)
		}
	}
	if r := f.ask(`"input":"and?",` + in); r.types() != "message" || strings.Count(gateway.last(), `"output":"hello"`) != 1 {
		t.Errorf("%+v %s", r, gateway.last())
	}
	status, counted := f.do("POST", "/v1/responses/input_tokens", `{"model":"m","input":"and?",`+in+`}`)
	if status != 200 || !strings.Contains(gateway.counted, `"namespace"`) || !strings.Contains(gateway.counted, "hello") {
		t.Errorf("%d %s %s", status, counted, gateway.counted)
	}
	f.do("POST", "/v1/responses/compact", `{"model":"m","input":"and?",`+in+`}`)
	if strings.Contains(gateway.last(), `"tools"`) || !strings.Contains(gateway.last(), "hello") {
		t.Errorf("%s", gateway.last())
	}
}

func TestToolsInBackground(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{"a":1}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, saying("hello"))
	_, body := f.do("POST", "/v1/responses", `{"model":"m","background":true,"stream":true,"input":"go",`+never+`}`)
	events, err := readEvents(strings.NewReader(body))
	if !errors.Is(err, io.EOF) || len(events) == 0 {
		t.Fatalf("%v %s", err, body)
	}
	var last struct{ Response toolResponse }
	if err := json.Unmarshal(events[len(events)-1].Data, &last); err != nil {
		t.Fatal(err)
	}
	r := last.Response
	if r.types() != "mcp_list_tools mcp_call message" || r.Usage.Input != 35 || len(r.Tools) != 1 {
		t.Errorf("%+v", r)
	}
	if _, got := f.do("GET", "/v1/responses/"+r.ID, ""); !strings.Contains(got, `"output":"hello"`) {
		t.Errorf("%s", got)
	}
}
