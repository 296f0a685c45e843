package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// event is one parsed event of a Responses stream.
type event struct {
	name string
	data map[string]any
}

func parseEvents(t *testing.T, stream string) []event {
	t.Helper()
	var events []event
	if !strings.HasSuffix(stream, "\n\n") {
		t.Fatalf("the last event is not whole: %q", stream)
	}
	for _, frame := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		first, second, ok := strings.Cut(frame, "\n")
		name, named := strings.CutPrefix(first, "event: ")
		data, hasData := strings.CutPrefix(second, "data: ")
		if !ok || !named || !hasData || strings.Contains(data, "\n") {
			t.Fatalf("malformed event %q", frame)
		}
		events = append(events, event{name, decode(t, data)})
	}
	return events
}

// checkGrammar is a second implementation of the grammar of OpenAI's streaming events, independent of the answer's
// state machine. It is a pushdown automaton of the events that must come next, and rebuilds the output from the deltas
// alone.
func checkGrammar(t *testing.T, events []event) map[string]any {
	t.Helper()
	at := 0
	next := func(want ...string) event {
		t.Helper()
		if at >= len(events) {
			t.Fatalf("the stream ends where one of %v must come", want)
		}
		e := events[at]
		if e.data["type"] != e.name || e.data["sequence_number"] != float64(at) {
			t.Fatalf("event %d is %s with %v", at, e.name, e.data)
		}
		at++
		for _, w := range want {
			if e.name == "response."+w || e.name == w {
				return e
			}
		}
		t.Fatalf("event %d is %s, want one of %v", at-1, e.name, want)
		return e
	}
	created := next("created")
	progress := next("in_progress")
	if encode(t, created.data["response"]) != encode(t, progress.data["response"]) ||
		len(created.data["response"].(map[string]any)["output"].([]any)) > 0 {
		t.Fatal("the first two events must say the same of an empty response")
	}
	var items []any
	for {
		e := next("output_item.added", "completed", "incomplete", "error")
		if e.name == "error" {
			e = checkError(t, e, next("failed"))
		}
		if e.name != "response.output_item.added" {
			if at != len(events) {
				t.Fatalf("events after %s", e.name)
			}
			r := e.data["response"].(map[string]any)
			if "response."+r["status"].(string) != e.name || r["id"] != created.data["response"].(map[string]any)["id"] {
				t.Fatalf("%s says %v", e.name, r)
			}
			if encode(t, r["output"]) != encode(t, append([]any{}, items...)) {
				t.Fatalf("the output is not what was streamed:\n%s\n%s", encode(t, r["output"]), encode(t, items))
			}
			return r
		}
		items = append(items, checkItem(t, e, len(items), next))
	}
}

// checkError looks at the event before failed, which says the same twice, and returns failed.
func checkError(t *testing.T, told, failed event) event {
	t.Helper()
	nested := told.data["error"].(map[string]any)
	last := failed.data["response"].(map[string]any)["error"].(map[string]any)
	for _, member := range []string{"code", "message", "param"} {
		if nested[member] != told.data[member] {
			t.Errorf("%s is %v flat and %v nested", member, told.data[member], nested[member])
		}
	}
	if nested["type"] == "" || nested["message"] != last["message"] {
		t.Errorf("%v before %v", told.data, last)
	}
	return failed
}

func checkItem(t *testing.T, added event, index int, next func(...string) event) any {
	t.Helper()
	item := added.data["item"].(map[string]any)
	kind := item["type"].(string)
	id := item["id"].(string)
	if item["status"] != "in_progress" {
		t.Fatalf("added as %v", item)
	}
	same := func(e event) event {
		t.Helper()
		if e.data["output_index"] != float64(index) {
			t.Fatalf("%s of item %d: %v", e.name, index, e.data)
		}
		if _, part := e.data["content_index"]; part && e.data["content_index"] != 0.0 {
			t.Fatalf("%s: %v", e.name, e.data)
		}
		if e.name != "response.output_item.added" && e.name != "response.output_item.done" && e.data["item_id"] != id {
			t.Fatalf("%s names %v, not %s", e.name, e.data["item_id"], id)
		}
		return e
	}
	same(added)
	names := map[string][3]string{
		"message":          {"msg_", "output_text.delta", "output_text.done"},
		"reasoning":        {"rs_", "reasoning_text.delta", "reasoning_text.done"},
		"function_call":    {"fc_", "function_call_arguments.delta", "function_call_arguments.done"},
		"custom_tool_call": {"ctc_", "custom_tool_call_input.delta", "custom_tool_call_input.done"},
	}[kind]
	calledWith := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[kind]
	if names[0] == "" || !strings.HasPrefix(id, names[0]) {
		t.Fatalf("item %v", item)
	}
	if calledWith == "" {
		opened := same(next("content_part.added", "output_item.done"))
		if opened.name == "response.output_item.done" { // hidden reasoning has no other events
			return checkDone(t, item, opened)
		}
		if part := opened.data["part"].(map[string]any); part["text"] != "" || len(item["content"].([]any)) > 0 {
			t.Fatalf("part %v of %v", part, item)
		}
	}
	text := ""
	for {
		e := same(next(names[1], names[2]))
		if kind == "message" && e.data["logprobs"] == nil {
			t.Fatalf("%s without logprobs", e.name)
		}
		if e.name == "response."+names[1] {
			text += e.data["delta"].(string)
			continue
		}
		done := e.data["text"]
		if calledWith != "" {
			done = e.data[calledWith]
		}
		if kind == "function_call" && e.data["name"] != item["name"] {
			t.Fatalf("%v", e.data)
		}
		if done != text {
			t.Fatalf("deltas %q, done %q", text, done)
		}
		break
	}
	if calledWith != "" {
		if item[calledWith] != "" {
			t.Fatalf("added as %v", item)
		}
		item[calledWith] = text
	} else {
		part := same(next("content_part.done")).data["part"].(map[string]any)
		if part["text"] != text {
			t.Fatalf("part %v after %q", part, text)
		}
		item["content"] = []any{part}
	}
	return checkDone(t, item, same(next("output_item.done")))
}

// checkDone checks that the item ends as its events have built it. The sealed text is known only at the end.
func checkDone(t *testing.T, item map[string]any, e event) any {
	t.Helper()
	done := e.data["item"].(map[string]any)
	item["status"] = done["status"]
	if sealed, there := item["encrypted_content"]; there && sealed == nil {
		item["encrypted_content"] = done["encrypted_content"]
	}
	if encode(t, done) != encode(t, item) {
		t.Fatalf("added and done differ:\n%s\n%s", encode(t, item), encode(t, done))
	}
	return done
}

// checkResponses checks the grammar of a stream, and that the whole answer equals the stream's final response.
func checkResponses(t *testing.T, c answerCase) map[string]any {
	t.Helper()
	stream := play(answerTo(t, ResponsesAPI, `"stream":true,`), c, never)
	final := checkGrammar(t, parseEvents(t, stream))
	whole := decode(t, play(answerTo(t, ResponsesAPI, ""), c, never))
	if encode(t, final) != encode(t, whole) {
		t.Fatalf("%s: streamed\n%s\nwhole\n%s", c.name, encode(t, final), encode(t, whole))
	}
	return final
}

func TestResponsesAnswers(t *testing.T) {
	tests := []struct{ status, items string }{
		{"completed", "reasoning/completed message/final_answer/completed"},
		{"completed", "reasoning/completed message/commentary/completed function_call/completed"},
		{"completed", "function_call/completed function_call/completed"},
		{"completed", "reasoning/completed reasoning/completed message/final_answer/completed"},
		{"completed", "message/final_answer/completed message/final_answer/completed reasoning/completed"},
		{"incomplete", "reasoning/completed function_call/incomplete"},
		{"incomplete", "reasoning/incomplete"},
		{"completed", "reasoning/completed message/final_answer/completed"},
		{"completed", ""},
		{"completed", "reasoning/completed custom_tool_call/completed function_call/completed custom_tool_call/completed"},
		{"incomplete", "custom_tool_call/incomplete"},
	}
	for i, tt := range tests {
		c := answerCases[i]
		r := checkResponses(t, c)
		var items []string
		for _, v := range r["output"].([]any) {
			item := v.(map[string]any)
			s := item["type"].(string)
			if phase, ok := item["phase"].(string); ok {
				s += "/" + phase
			}
			items = append(items, s+"/"+item["status"].(string))
		}
		if got := strings.Join(items, " "); r["status"] != tt.status || got != tt.items {
			t.Errorf("%s: %v %s, want %s %s", c.name, r["status"], got, tt.status, tt.items)
		}
	}
}

func TestResponsesStreamGolden(t *testing.T) {
	a := answerTo(t, ResponsesAPI, `"stream":true,`)
	a.Begin()
	a.Ready().Take(nil)
	a.Choices()[0].Open(harmony.Header{Recipient: "functions.f", Channel: "commentary"})
	a.Choices()[0].Content([]byte(`{"a":`), 2)
	a.Choices()[0].Content([]byte("1}"), 1)
	a.Choices()[0].Close(harmony.EndedByCall)
	const id = "0123456789abcdef01234567_0"
	want := `event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"fc_` + id +
		`","type":"function_call","status":"in_progress","arguments":"","call_id":"call_` + id + `","name":"f"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_` + id +
		`","output_index":0,"delta":"{\"a\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":4,"item_id":"fc_` + id +
		`","output_index":0,"delta":"1}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":5,"item_id":"fc_` + id +
		`","output_index":0,"arguments":"{\"a\":1}","name":"f"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":{"id":"fc_` + id +
		`","type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"call_` + id + `","name":"f"}}

`
	if got := string(a.Ready().Take(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResponsesCustomCallGolden(t *testing.T) {
	a := answerTo(t, ResponsesAPI, `"stream":true,`)
	a.Begin()
	a.Ready().Take(nil)
	a.Choices()[0].Open(harmony.Header{Recipient: "functions.run", Channel: "commentary"})
	a.Choices()[0].Content([]byte("print(\"1\")\n"), 3)
	a.Choices()[0].Close(harmony.EndedByCall)
	const id = "0123456789abcdef01234567_0"
	want := `event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"ctc_` + id +
		`","type":"custom_tool_call","status":"in_progress","input":"","call_id":"call_` + id + `","name":"run"}}

event: response.custom_tool_call_input.delta
data: {"type":"response.custom_tool_call_input.delta","sequence_number":3,"item_id":"ctc_` + id +
		`","output_index":0,"delta":"print(\"1\")\n"}

event: response.custom_tool_call_input.done
data: {"type":"response.custom_tool_call_input.done","sequence_number":4,"item_id":"ctc_` + id +
		`","output_index":0,"input":"print(\"1\")\n"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"id":"ctc_` + id +
		`","type":"custom_tool_call","status":"completed","input":"print(\"1\")\n","call_id":"call_` + id + `","name":"run"}}

`
	if got := string(a.Ready().Take(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResponseObjectGolden(t *testing.T) {
	r, err := read(
		Responses,
		`{"model":"m","input":"q","instructions":"be\nbrief","temperature":0.70,"top_p":1,"max_output_tokens":99,"store":true,
		"metadata":{ "k": "v" },"reasoning":{"effort":"minimal","summary":"auto"},"text":{"verbosity":"low","format":{"type":"text"}},"parallel_tool_calls":false,
		"prompt_cache_key":"p","safety_identifier":"s","user":"u","max_tool_calls":3,"tool_choice":"none","include":["reasoning.encrypted_content"],"service_tier":"auto","truncation":"auto",
		"tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":{"type" : "object"},"strict":true},{"type":"namespace","name":"n","description":"d","tools":[ {"type":"function","name":"g"} ]},{"type":"custom","name":"c", "format":{"type":"text"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := play(r.NewAnswer(), answerCases[0], never)
	const id = "0123456789abcdef01234567"
	want := `{"id":"resp_` + id + `","object":"response","created_at":1700000000,"status":"completed",` +
		`"background":false,"completed_at":1700000009,"error":null,"frequency_penalty":0,` +
		`"incomplete_details":null,"instructions":"be\nbrief","max_output_tokens":99,"max_tool_calls":3,"model":"m",` +
		`"output":[` +
		`{"id":"rs_` + id + `_0","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text",` +
		`"text":"let me \"see\"\n"}],"encrypted_content":null},` +
		`{"id":"msg_` + id + `_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],` +
		`"logprobs":[],"text":"Héllo 😀"}],"phase":"final_answer","role":"assistant"}],` +
		`"parallel_tool_calls":false,"presence_penalty":0,"previous_response_id":null,"prompt_cache_key":"p",` +
		`"reasoning":{"effort":"low","summary":"auto"},"safety_identifier":"s","service_tier":"default","store":false,` +
		`"temperature":0.70,"text":{"format":{"type":"text"},"verbosity":"low"},"tool_choice":"none",` +
		`"tools":[{"type":"function","description":null,"name":"f","parameters":{"type":"object"},"strict":true},` +
		`{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"g"}]},{"type":"custom",` +
		`"name":"c","format":{"type":"text"}}],` +
		`"top_logprobs":0,"top_p":1,"truncation":"auto","usage":{"input_tokens":10,` +
		`"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},"output_tokens":20,` +
		`"output_tokens_details":{"reasoning_tokens":2},"total_tokens":30},"user":"u","metadata":{"k":"v"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResponsesStreamFails(t *testing.T) {
	a := answerTo(t, ResponsesAPI, `"stream":true,`)
	a.Begin()
	a.Choices()[0].Open(harmony.Header{Channel: harmony.Final})
	a.Choices()[0].Content([]byte("half"), 1)
	a.Fail(&openai.Error{Status: 502, Type: "server_error", Code: "upstream", Message: "gone"})
	a.Choices()[0].End(Stop)
	a.Finish(Usage{}, 0)
	r := checkGrammar(t, parseEvents(t, string(a.Ready().Take(nil))))
	if encode(t, r["error"]) != `{"code":"server_error","message":"gone"}` || r["completed_at"] != nil ||
		r["usage"] != nil {
		t.Errorf("%v", r)
	}
	if item := r["output"].([]any)[0].(map[string]any); item["status"] != "incomplete" {
		t.Errorf("%v", item)
	}
}

// TestHalfBuiltInCalls checks that a call of a built-in tool that the request does not offer is sent when it is whole.
// Half a call is left out and counted, whatever cut it.
func TestHalfBuiltInCalls(t *testing.T) {
	call := msg{"python", "analysis", []string{"print(", "1)"}, harmony.EndedByCall}
	cut := call
	cut.end = harmony.Cut
	for _, tt := range []struct {
		name       string
		turn       []msg
		finish     Finish
		items      string
		incomplete int
	}{
		{"whole", []msg{call}, Stop, `reasoning completed print(1)`, 0},
		{"whole, then the limit", []msg{call}, Length, `reasoning completed print(1)`, 0},
		{"without its end", []msg{cut}, Stop, `reasoning completed print(1)`, 0},
		{"before another message", []msg{cut, {"", "final", []string{"x"}, harmony.EndedByReturn}}, Stop,
			`reasoning completed print(1), message completed x`, 0},
		{"at the limit", []msg{{"", "analysis", []string{"t"}, harmony.EndedByEnd}, cut}, Length, `reasoning completed t`,
			1},
		{"a method", []msg{{"browser.search", "commentary", []string{"{"}, harmony.Cut}}, Length, ``, 1},
		{"an undeclared function", []msg{{"functions.other", "commentary", []string{"{"}, harmony.Cut}}, Length,
			`reasoning incomplete {`, 0},
	} {
		for _, stream := range []string{`"stream":true,`, ""} {
			a := answerTo(t, ResponsesAPI, stream)
			out := play(a, answerCase{turn: tt.turn, finish: tt.finish}, never)
			final := func() map[string]any { return decode(t, out) }
			if stream != "" {
				final = func() map[string]any { return checkGrammar(t, parseEvents(t, out)) }
			}
			var items []string
			for _, v := range final()["output"].([]any) {
				item := v.(map[string]any)
				text := item["content"].([]any)[0].(map[string]any)["text"].(string)
				items = append(items, item["type"].(string)+" "+item["status"].(string)+" "+text)
			}
			if got := strings.Join(items, ", "); got != tt.items || a.Tally().IncompleteBuiltIns != tt.incomplete {
				t.Errorf("%s %s: %s and %d incomplete, want %s and %d", tt.name, stream, got, a.Tally().IncompleteBuiltIns,
					tt.items, tt.incomplete)
			}
		}
	}
	a := answerTo(t, ResponsesAPI, `"stream":true,`)
	a.Begin()
	a.Choices()[0].Open(harmony.Header{Recipient: "container.exec"})
	a.Choices()[0].Content([]byte("half"), 1)
	a.Fail(&openai.Error{Status: 502, Type: "server_error", Code: "upstream", Message: "gone"})
	if r := checkGrammar(t, parseEvents(t, string(a.Ready().Take(nil)))); len(r["output"].([]any)) != 0 ||
		a.Tally().IncompleteBuiltIns != 1 {
		t.Errorf("%v", r)
	}
}

func TestNamespaceComesBackInTheCall(t *testing.T) {
	r, err := read(Responses, `{"model":"m","input":"q","tools":[{"type":"namespace","name":"n","description":"",`+
		`"tools":[{"type":"function","name":"g"},{"type":"custom","name":"c"}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := play(r.NewAnswer(), answerCase{turn: []msg{
		{"functions.g", "commentary", []string{"{}"}, harmony.EndedByCall},
		{"functions.c", "commentary", []string{"x"}, harmony.EndedByCall},
	}, finish: Stop}, never)
	if !strings.Contains(got, `"name":"g","namespace":"n"`) ||
		!strings.Contains(got, `"input":"x","call_id":"call_0123456789abcdef01234567_1","name":"c","namespace":"n"`) {
		t.Errorf("got %s", got)
	}
}
