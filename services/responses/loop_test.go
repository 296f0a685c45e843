package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

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
	if call["output"] != "hello" || call["name"] != "say.it" || call["arguments"] != `{"a":1}` ||
		call["status"] != "completed" {
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
		if err := json.Unmarshal(e.Data, &fields); err != nil || fields.Sequence != i {
			t.Errorf("event %d: %s", i, e.Data)
		}
		kinds = append(kinds, strings.TrimPrefix(e.Kind, "response."))
	}
	const want = "created in_progress output_item.added mcp_list_tools.in_progress mcp_list_tools.completed output_item.done " +
		"output_item.added mcp_call.in_progress mcp_call_arguments.delta mcp_call_arguments.done mcp_call.completed " +
		"output_item.done " +
		"output_item.added mcp_call.in_progress mcp_call_arguments.delta mcp_call_arguments.done mcp_call.failed " +
		"output_item.done " +
		"output_item.added output_item.done completed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("%s", got)
	}
}

func TestToolMixedTurn(t *testing.T) {
	f, _, server := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`), callItem("", "mine", `{}`)),
	}, saying("hello"))
	r := f.ask(`"input":"go","tools":[{"type":"function","name":"mine"},` +
		`{"type":"mcp","server_label":"t","require_approval":"never"}]`)
	if r.types() != "mcp_list_tools function_call mcp_call" || len(server.Calls()) != 1 {
		t.Errorf("%+v", r)
	}
	if len(r.Tools) != 1 { // the fake gateway gives none back
		t.Errorf("%v", r.Tools)
	}
}
