//go:build e2e

package grammar

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The events of a stream with all kinds of blocks, and of its end.
const (
	messagesUsage = `{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":20,` +
		`"output_tokens_details":{"thinking_tokens":2}}`
	messagesBegin = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,` +
		`"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0}}}}

`
	messagesThinking = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

`
	messagesText = `event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

`
	messagesCalls = `event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

`
	messagesRedacted = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"s"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

`
	messagesEnd = `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":` + messagesUsage + `}

event: message_stop
data: {"type":"message_stop"}

`
	messagesError = "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"m"}}` + "\n\n"
	messagesPing  = "event: ping\n" + `data: {"type":"ping"}` + "\n\n"

	messagesGood = messagesBegin + messagesThinking + messagesText + messagesCalls + messagesEnd
)

// TestMessagesGrammarAccepts shows what a client builds of streams.
func TestMessagesGrammarAccepts(t *testing.T) {
	redacted := messagesBegin + messagesRedacted + messagesText + messagesCalls + messagesEnd
	said := strings.Replace(messagesBegin+messagesThinking+messagesText+messagesEnd, "tool_use", "end_turn", 1)
	const thought, text = `{"signature":"s","thinking":"Hm","type":"thinking"}`, `{"text":"Hi","type":"text"}`
	const calls = `{"id":"a","input":{"a":1},"name":"f","type":"tool_use"},` +
		`{"id":"b","input":{},"name":"g","type":"tool_use"}`
	const answer, all = thought + "," + text, thought + "," + text + "," + calls
	half := messagesText[:strings.Index(messagesText, "event: content_block_stop")]
	for _, good := range []struct{ stream, content string }{
		{messagesGood, all},
		{redacted, `{"data":"s","type":"redacted_thinking"},` + text + "," + calls},
		{said, answer},
		{strings.ReplaceAll(said, "end_turn", "max_tokens"), answer},
		{strings.ReplaceAll(messagesGood, `tool_use","stop_`, `refusal","stop_`), all},
		{strings.Replace(said, `"end_turn","stop_sequence":null`, `"stop_sequence","stop_sequence":"x"`, 1), answer},
		{messagesPing + strings.ReplaceAll(messagesGood, "event: content", messagesPing+"event: content"), all},
		{messagesBegin + messagesError, ""},
		{messagesBegin + messagesThinking + half + messagesError, thought},
		{messagesBegin + strings.Replace(messagesEnd, "tool_use", "end_turn", 1), ""},
		{strings.Replace(messagesGood, `\":1}"`, `x"`, 1), strings.Replace(all, `{"a":1}`, `"{\"ax"`, 1)},
	} {
		message, _, err := ReadMessages(good.stream, false)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := json.Marshal(message["content"])
		if string(content) != "["+good.content+"]" {
			t.Errorf("built %s, want %s", content, good.content)
		}
		whole, _ := json.Marshal(message)
		if _, err := ReadMessage(string(whole)); err != nil && message["stop_reason"] != nil &&
			!strings.Contains(good.content, `"{\"ax"`) {
			t.Errorf("the same in one piece: %v", err)
		}
	}
}

// TestMessagesGrammarRefuses shows that each promise of the grammar is looked at: events are left out, doubled and
// swapped, and what they say is changed.
func TestMessagesGrammarRefuses(t *testing.T) {
	refused := 0
	refuse := func(what, s string, cut bool) {
		t.Helper()
		refused++
		if _, _, err := ReadMessages(s, cut); err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
	events := strings.SplitAfter(messagesGood, "\n\n")
	events = events[:len(events)-1]
	optional := func(event string) bool { // pieces of a text
		return strings.Contains(event, "thinking_delta") || strings.Contains(event, "input_json_delta")
	}
	for i, event := range events {
		if !optional(event) {
			refuse("without "+event, strings.Join(slices.Delete(slices.Clone(events), i, i+1), ""), false)
			if !strings.Contains(event, "text_delta") {
				refuse("twice "+event, strings.Join(slices.Insert(slices.Clone(events), i, event), ""), false)
			}
		}
		if i > 0 && !(optional(event) && optional(events[i-1])) {
			swapped := slices.Clone(events)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			refuse("earlier "+event, strings.Join(swapped, ""), false)
		}
		refuse("an end before "+event, strings.Join(events[:i], ""), false)
		if _, _, err := ReadMessages(strings.Join(events[:i], "")+event[:9], true); err != nil {
			t.Errorf("cut off in event %d: %v", i, err)
		}
	}
	refuse("half an event behind the end", messagesGood+"event: ", false)
	refuse("cut off behind the end", messagesGood, true)
	refuse("a ping behind the end", messagesGood+messagesPing, false)
	refuse("an error behind the end", messagesGood+messagesError, false)
	refuse("an error before the start", messagesError, false)
	earlier := strings.NewReplacer(`"index":2`, `"index":1`, `"index":3`, `"index":2`)
	later := strings.ReplaceAll(messagesText, `"index":1`, `"index":3`)
	refuse("text behind a call", messagesBegin+messagesThinking+earlier.Replace(messagesCalls)+later+
		strings.Replace(messagesEnd, "tool_use", "end_turn", 1), false)
	for _, bad := range [][2]string{
		{"event: message_start\n", ""}, {"event: content_block_delta", "event: delta"}, {`"index":1`, `"index":2`},
		{`"index":0,"content_block"`, `"index":1,"content_block"`}, {`"index":0}`, `"index":5}`},
		{`"index":0}`, `"i":0}`}, {`"content":[]`, `"content":null`}, {`"content":[]`, `"content":[{}]`},
		{`"msg_1"`, `"1"`}, {`"model":"m"`, `"model":""`}, {`"role":"assistant"`, `"role":"user"`},
		{`"stop_reason":null`, `"stop_reason":"end_turn"`},
		{`"stop_sequence":null,"usage"`, `"stop_sequence":null,"x":1,"usage"`},
		{`"usage":{"input_tokens":10`, `"usage":{"input_tokens":"10"`}, {`"output_tokens":0`, `"output_tokens":1`},
		{`"input_tokens":10,`, ``}, {`"input_tokens":10`, `"input_tokens":11`},
		{`"input_tokens":10`, `"input_tokens":-1`}, {`,"output_tokens_details":{"thinking_tokens":0}`, ``},
		{`"thinking_tokens":2`, `"thinking_tokens":21`}, {`"output_tokens":20`, `"output_tokens":2.5`},
		{`"usage":` + messagesUsage, `"usage":null`}, {`,"usage":` + messagesUsage, ``},
		{`"thinking":"","signature":""`, `"thinking":"","signature":"s"`},
		{`"thinking":"","signature":""`, `"thinking":"x","signature":""`}, {`,"signature":""`, ``},
		{`"type":"thinking","thinking":""`, `"type":"reasoning","thinking":""`},
		{`"thinking_delta","thinking":"Hm"`, `"text_delta","text":"Hm"`}, {`"thinking":"Hm"`, `"thinking":""`},
		{`"text":"Hi"`, `"text":""`}, {`"text":"Hi"`, `"text":"Hi","citations":null`},
		{`"signature":"s"`, `"signature":null`}, {`"type":"text","text":""`, `"type":"text","text":"x"`},
		{`"id":"b"`, `"id":"a"`}, {`"id":"a"`, `"id":""`}, {`"name":"f"`, `"name":""`}, {`"name":"f",`, ``},
		{`"input":{}`, `"input":{"a":1}`}, {`"input":{}`, `"input":null`}, {`"input":{}`, `"input":[]`},
		{`"partial_json":"{\"a"`, `"partial_json":""`},
		{`"tool_use","stop_sequence":null`, `"end_turn","stop_sequence":null`},
		{`"tool_use","stop_sequence":null`, `"stop_sequence","stop_sequence":"x"`},
		{`"tool_use","stop_sequence":null`, `"max_tokens","stop_sequence":"x"`},
		{`"tool_use","stop_sequence":null`, `"tool_use","stop_sequence":""`},
		{`"tool_use","stop_sequence":null`, `"stop","stop_sequence":null`},
		{`"tool_use","stop_sequence":null`, `null,"stop_sequence":null`},
		{`,"stop_sequence":null},"usage":{"input_tokens":6`, `},"usage":{"input_tokens":6`},
		{`{"type":"message_stop"}`, `{"type":"message_stop","x":1}`}, {`{"type":"message_stop"}`, `[DONE]`},
		{`"delta":{"type":"text_delta"`, `"x":1,"delta":{"type":"text_delta"`},
	} {
		changed := strings.Replace(messagesGood, bad[0], bad[1], 1)
		if changed == messagesGood {
			t.Errorf("%s is not there", bad[0])
		}
		refuse(bad[0]+" as "+bad[1], changed, false)
	}
	rest := messagesText + messagesCalls + messagesEnd
	refuse("an empty data", messagesBegin+strings.Replace(messagesRedacted, `"s"`, `""`, 1)+rest, false)
	refuse("a redacted block with deltas", messagesBegin+strings.Replace(messagesThinking,
		`"thinking","thinking":"","signature":""`, `"redacted_thinking","data":"s"`, 1)+rest, false)
	refuse("a call that ends nothing", messagesBegin+messagesThinking+messagesText+messagesEnd, false)
	for _, bad := range [][2]string{
		{`api_error`, `server_error`}, {`"message":"m"`, `"message":""`}, {`"message":"m"`, `"message":"m","code":null`},
		{`"type":"error"`, `"type":"failure"`},
	} {
		refuse("an error with "+bad[1], messagesBegin+strings.Replace(messagesError, bad[0], bad[1], 1), false)
	}
	t.Logf("%d streams refused", refused)
	for _, text := range []string{`"thinking":"Hm"`, `"text":"Hi"`, `"partial_json":"{\"a"`} {
		spelled := strings.Replace(messagesGood, text, strings.TrimSuffix(text, `"`)+`<|end|>"`, 1)
		if _, err := checkMessages(spelled, true, false); err == nil || spelled == messagesGood {
			t.Errorf("accepted: a control token behind %s", text)
		}
	}
	if n, err := checkMessages(messagesGood, true, false); n != 16 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
}

// TestMessageGrammarRefuses does the same for whole answers and errors.
func TestMessageGrammarRefuses(t *testing.T) {
	const good = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` +
		`{"type":"thinking","thinking":"Hm","signature":""},{"type":"redacted_thinking","data":"s"},` +
		`{"type":"text","text":"Hi"},` +
		`{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{"a":1}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":` + messagesUsage + `}`
	const failure = `{"type":"error","error":{"type":"not_found_error","message":"m"},"request_id":"r"}`
	if _, err := ReadMessage(good); err != nil {
		t.Fatal(err)
	}
	if err := ReadMessagesError(failure); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][2]string{
		{`,"signature":""`, ``}, {`"signature":""`, `"signature":null`},
		{`"data":"s"`, `"data":""`}, {`"text":"Hi"`, `"text":""`},
		{`"text":"Hi"`, `"text":"Hi","citations":[]`}, {`"id":"b"`, `"id":"a"`}, {`"input":{}`, `"input":"{}"`},
		{`"input":{}`, `"input":null`},
		{`{"type":"text","text":"Hi"},{"type":"tool_use","id":"a","name":"f","input":{}}`,
			`{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":"Hi"}`},
		{`"tool_use","stop_sequence"`, `"end_turn","stop_sequence"`},
		{`"tool_use","stop_sequence"`, `null,"stop_sequence"`}, {`"stop_sequence":null`, `"stop_sequence":"x"`},
		{`"type":"message"`, `"type":"msg"`}, {`"content":[`, `"contents":[`},
		{`"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4`,
			`"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`},
		{`"usage":{`, `"usage":{"total_tokens":1,`}, {`"id":"msg_1"`, `"id":1`},
	} {
		changed := strings.Replace(good, bad[0], bad[1], 1)
		if changed == good {
			t.Errorf("%s is not there", bad[0])
		}
		if _, err := ReadMessage(changed); err == nil {
			t.Errorf("accepted: %s as %s", bad[0], bad[1])
		}
	}
	for _, bad := range [][2]string{
		{`not_found_error`, `invalid_request`}, {`"message":"m"`, `"message":null`},
		{`"request_id":"r"`, `"request_id":""`}, {`"request_id":"r"`, `"id":"r"`}, {`"type":"error",`, ``},
		{`"message":"m"`, `"message":"m","param":null`}, {`{"type"`, `{{"type"`},
	} {
		changed := strings.Replace(failure, bad[0], bad[1], 1)
		if err := ReadMessagesError(changed); err == nil || changed == failure {
			t.Errorf("accepted: %s as %s", bad[0], bad[1])
		}
	}
}

// The blocks of tools that a server runs, in a whole message.
const (
	servedSearch = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},` +
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",` +
		`"url":"https://a.b","title":"T","encrypted_content":"e","page_age":null}]},`
	servedMCP = `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"n","server_name":"s","input":{}},` +
		`{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"r"}]},`
	servedText = `{"type":"text","text":"t","citations":[{"type":"web_search_result_location","url":"https://a.b",` +
		`"title":"T","encrypted_index":"","cited_text":""}]}`
	servedFailed = `{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}},` +
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"web_search_tool_result_error",` +
		`"error_code":"unavailable"}},`
	servedUsage = `{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":20,` +
		`"output_tokens_details":{"thinking_tokens":2},"server_tool_use":{"web_search_requests":1,"web_fetch_requests":0}}`
	servedGood = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + servedSearch + servedMCP +
		servedFailed + servedText + `],"stop_reason":"end_turn","stop_sequence":null,"usage":` + servedUsage + `}`
)

// TestMessagesGrammarServed reads blocks of tools that a server runs, and refuses what is changed in them.
func TestMessagesGrammarServed(t *testing.T) {
	if _, err := ReadMessage(servedGood); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][2]string{
		{"srvtoolu_1", "toolu_1"}, {"mcptoolu_1", "1"}, {`"tool_use_id":"srvtoolu_1"`, `"tool_use_id":"srvtoolu_2"`},
		{servedSearch, servedSearch + servedSearch},
		{servedMCP + servedFailed, servedFailed[:strings.Index(servedFailed, `,{`)+1] + servedMCP},
		{`"name":"web_search"`, `"name":"web_fetch"`}, {`"input":{"query":"q"}`, `"input":"q"`}, {`"server_name":"s",`, ``},
		{`"page_age":null`, `"x":1`}, {`"url":"https://a.b","title"`, `"title"`}, {`"is_error":false,`, ``},
		{`{"type":"text","text":"r"}`, `{"type":"image"}`}, {`"content":[{"type":"text","text":"r"}]`, `"content":[]`},
		{`"unavailable"`, `"broken"`}, {`"cited_text":""`, `"x":""`}, {`"web_search_requests":1`, `"web_search_requests":-1`},
		{`,"web_fetch_requests":0`, ``}, {servedText, servedFailed[:strings.Index(servedFailed, `,{`)]},
		{servedText, `{"type":"tool_use","id":"a","name":"f","input":{}},` + strings.TrimSuffix(servedMCP, ",")},
	} {
		changed := strings.Replace(servedGood, bad[0], bad[1], 1)
		if changed == servedGood {
			t.Errorf("%s is not there", bad[0])
		}
		if _, err := ReadMessage(changed); err == nil {
			t.Errorf("accepted: %s as %s", bad[0], bad[1])
		}
	}
}
