package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// cutWithin is a gateway's stream that is cut within an item: the events of a whole item of which some have come.
// events are kind and members, without numbers.
func cutWithin(item string, events ...[2]string) string {
	var b strings.Builder
	add := func(kind, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind,
			strings.Count(b.String(), "\n\n"), members)
	}
	for _, kind := range []string{"response.created", "response.in_progress"} {
		add(kind, `"response":{"id":"resp_g","object":"response","status":"in_progress","model":"m","tools":[],"output":[]}`)
	}
	add("response.output_item.added", `"output_index":0,"item":`+item)
	for _, e := range events {
		add(e[0], `"item_id":"i","output_index":0,`+e[1])
	}
	return b.String()
}

// cutItem is an item within which a stream is cut, and what becomes of it: the events of its end, and the item.
type cutItem struct{ item, stream, end, done string }

func cutItems() map[string]cutItem {
	const message = `{"id":"i","type":"message","role":"assistant","status":"in_progress","content":[]}`
	const thought = `{"id":"i","type":"reasoning","status":"in_progress","summary":[],"content":[]}`
	const call = `{"id":"i","type":"function_call","status":"in_progress","call_id":"c","name":"f","arguments":""}`
	const custom = `{"id":"i","type":"custom_tool_call","call_id":"c","name":"f","input":""}`
	part := [2]string{"response.content_part.added",
		`"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`}
	thinks := [2]string{"response.content_part.added", `"content_index":0,"part":{"type":"reasoning_text","text":""}`}
	sums := [2]string{"response.reasoning_summary_part.added",
		`"summary_index":0,"part":{"type":"summary_text","text":""}`}
	delta := func(kind, member string) [2]string { return [2]string{kind + ".delta", member} }
	text, thinking := "response.output_text", "response.reasoning_text"
	const likely = `,"logprobs":[{"token":"\\xf0","logprob":-1,"top_logprobs":[{"token":"é","logprob":-1}]}]`
	const said = `{"annotations":[],"logprobs":[],"text":"a \"b","type":"output_text"}`
	return map[string]cutItem{
		"message": {message, cutWithin(message, part, delta(text, `"content_index":0,"delta":"a \"","logprobs":[]`),
			delta(text, `"content_index":0,"delta":"b","logprobs":[]`)),
			"output_text.done content_part.done output_item.done",
			`{"content":[` + said + `],"id":"i","role":"assistant","status":"incomplete","type":"message"}`},
		"ended text": {message, cutWithin(message, part, delta(text, `"content_index":0,"delta":"a \"b","logprobs":[]`),
			[2]string{text + ".done", `"content_index":0,"text":"a \"b","logprobs":[]`}),
			"content_part.done output_item.done",
			`{"content":[` + said + `],"id":"i","role":"assistant","status":"incomplete","type":"message"}`},
		"logprobs": {message, cutWithin(message, part, delta(text, `"content_index":0,"delta":"x"`+likely)),
			"output_text.done content_part.done output_item.done",
			`{"content":[{"annotations":[],"logprobs":[{"bytes":[240],"logprob":-1,"token":"\\xf0","top_logprobs":[` +
				`{"bytes":[195,169],"logprob":-1,"token":"é"}]}],"text":"x","type":"output_text"}],"id":"i",` +
				`"role":"assistant","status":"incomplete","type":"message"}`},
		"nothing yet": {message, cutWithin(message), "output_item.done",
			`{"content":[],"id":"i","role":"assistant","status":"incomplete","type":"message"}`},
		"reasoning": {thought, cutWithin(thought, thinks, delta(thinking, `"content_index":0,"delta":"hm"`)),
			"reasoning_text.done content_part.done output_item.done",
			`{"content":[{"text":"hm","type":"reasoning_text"}],"id":"i","status":"incomplete","summary":[],"type":"reasoning"}`},
		"summary": {thought, cutWithin(thought, sums, delta("response.reasoning_summary_text",
			`"summary_index":0,"delta":"hm"`)),
			"reasoning_summary_text.done reasoning_summary_part.done output_item.done",
			`{"content":[],"id":"i","status":"incomplete","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning"}`},
		"call": {call, cutWithin(call, delta("response.function_call_arguments", `"delta":"{\"a"`)),
			"function_call_arguments.done output_item.done",
			`{"arguments":"{\"a","call_id":"c","id":"i","name":"f","status":"incomplete","type":"function_call"}`},
		"custom": {custom, cutWithin(custom, delta("response.custom_tool_call_input", `"delta":"ls"`)),
			"custom_tool_call_input.done output_item.done",
			`{"call_id":"c","id":"i","input":"ls","name":"f","status":"incomplete","type":"custom_tool_call"}`},
	}
}

// endOfCut returns the kinds of a stream's events behind those of its gateway, up to its failure, and the item of
// output_item.done and of the whole response.
func endOfCut(t *testing.T, body string, behind int) (kinds, done, whole string) {
	t.Helper()
	events, _ := readEvents(strings.NewReader(body))
	for i, e := range events {
		var data struct {
			Item     json.RawMessage
			Response struct {
				Status string
				Output []json.RawMessage
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == "response.output_item.done":
			done = string(data.Item)
		case e.Kind == "response.failed" && len(data.Response.Output) == 1:
			whole = string(data.Response.Output[0])
		}
		if i >= behind && i < len(events)-2 {
			kinds += " " + strings.TrimPrefix(e.Kind, "response.")
		}
	}
	return strings.TrimSpace(kinds), done, whole
}

// TestCutItem: a stream of the gateway's that is cut within an item ends with that item, incomplete, and then fails:
// stored, not stored, with tools and in the background. What is stored has the item too.
func TestCutItem(t *testing.T) {
	for name, tt := range cutItems() {
		t.Run(name, func(t *testing.T) {
			f := startAt(t, Options{}, &turns{answers: []func(http.ResponseWriter){says(tt.stream)}})
			for _, more := range []string{`"store":false`, `"store":true`, `"background":true`} {
				_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true,`+more+`}`)
				kinds, done, whole := endOfCut(t, body, strings.Count(tt.stream, "\n\n"))
				if _, failure := readFailure(t, body, 0); failure.code != contract.CodeServerError || kinds != tt.end ||
					done != tt.done || whole != done {
					t.Errorf("%s: %+v, %s\n%s\n%s\nwant %s\n%s", more, failure, kinds, done, whole, tt.end, tt.done)
				}
				if more == `"store":false` {
					continue
				}
				id := body[strings.Index(body, "resp_"):]
				_, stored := f.do("GET", "/v1/responses/"+id[:strings.Index(id, `"`)]+
					"?include=message.output_text.logprobs", "")
				if !strings.Contains(stored, `"output":[`+tt.done+`]`) || !strings.Contains(stored, `"status":"failed"`) {
					t.Errorf("%s: stored is %s", more, stored)
				}
			}
		})
	}
}

// TestCutCall: within a call of the service's own tools nothing is open for the client.
func TestCutCall(t *testing.T) {
	call := callItem("t", "say_it", "")
	f, _, _ := startTools(t, ToolOptions{}, []string{cutWithin(call,
		[2]string{"response.function_call_arguments.delta", `"delta":"{"`})}, saying("hello"))
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true,`+never+`}`)
	events, _ := readEvents(strings.NewReader(body))
	if _, failure := readFailure(t, body, 0); failure.code != contract.CodeServerError ||
		strings.Contains(body, `"function_call"`) || items.Of(events[len(events)-1].Data).Type != "response.failed" {
		t.Errorf("%+v: %s", failure, body)
	}
}
