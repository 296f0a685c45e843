//go:build e2e

package grammar

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// readHosted reads a stream with items of each hosted tool, and a message that cites. Each line of the file is an
// event: its type, and its members but for the indices. "SAME" stands for members of the response that do not change,
// and "ITEMS" for all items that are done.
func readHosted(t *testing.T) []string {
	t.Helper()
	const same = `"id":"resp_1","object":"response","created_at":1,"model":"m","error":null,"incomplete_details":null,` +
		`"instructions":null,"tools":[],"parallel_tool_calls":true,"metadata":{},"tool_choice":"auto","temperature":1,"top_p":1`
	text, err := os.ReadFile("testdata/hosted.txt")
	if err != nil {
		t.Fatal(err)
	}
	var events, items []string
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if item, ok := strings.CutPrefix(rest, `"item":`); ok && name == "response.output_item.done" {
			items = append(items, item)
			rest = fmt.Sprintf(`"output_index":%d,"item":%s`, len(items)-1, item)
		} else if name != "response.created" && name != "response.in_progress" && name != "response.completed" {
			rest = fmt.Sprintf(`"output_index":%d,%s`, len(items), rest)
		}
		rest = strings.NewReplacer(`"SAME"`, same, `"ITEMS"`, strings.Join(items, ",")).Replace(rest)
		events = append(events, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":0,%s}\n\n", name, name, rest))
	}
	return events
}

// TestHostedGrammarRefuses leaves out, doubles and swaps the events of hosted tools, and changes what they say.
func TestHostedGrammarRefuses(t *testing.T) {
	s, events := LoadSchemas(t), readHosted(t)
	good := stream(events)
	if err := s.CheckStream(good); err != nil {
		t.Fatal(err)
	}
	refused := 0
	refuse := func(what, body string) {
		t.Helper()
		refused++
		if err := s.CheckStream(body); err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
	// A citation can come before or after a delta.
	free := func(one, other string) bool {
		return strings.Contains(one, "event: "+annotationAdded) &&
			strings.Contains(other, "event: response.output_text.delta")
	}
	for i, event := range events {
		refuse("without "+event, stream(slices.Delete(slices.Clone(events), i, i+1)))
		refuse("twice "+event, stream(slices.Insert(slices.Clone(events), i, event)))
		if i > 0 && !free(event, events[i-1]) && !free(events[i-1], event) {
			swapped := slices.Clone(events)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			refuse("earlier "+event, stream(swapped))
		}
	}
	for _, bad := range []struct{ old, new string }{
		{`"tools":[],"error":null`, `"tools":[{"name":"a","input_schema":{}}],"error":null`},
		{`"error":null}}` + "\n\nevent: response.output_item.added", `"error":"gone"}}` +
			"\n\nevent: response.output_item.added"},
		{`"error":"no route"`, `"error":null`},
		{`"error":"no route"`, `"error":""`},
		{`"annotations":{"read_only":false}`, `"annotation":{"read_only":false}`},
		{"response.mcp_list_tools.completed", "response.mcp_list_tools.failed"},
		{"response.mcp_list_tools.failed", "response.mcp_list_tools.completed"},
		{"response.mcp_call.completed", "response.mcp_call.failed"},
		{"response.mcp_call.failed", "response.mcp_call.completed"},
		{"response.mcp_call.in_progress", "response.mcp_call.calling"},
		{"response.mcp_call.in_progress", "response.web_search_call.in_progress"},
		{`"id":"mcp_1","type":"mcp_call","status":"in_progress"`, `"id":"mcp_1","type":"mcp_call","status":"calling"`},
		{`"arguments":"","name":"echo"`, `"arguments":"{}","name":"echo"`},
		{`"arguments":"","name":"echo"`, `"arguments":"","name":"other"`},
		{`"delta":"{\"a\""`, `"delta":""`},
		{`"delta":"{\"a\""`, `"delta":"{\"b\""`},
		{`"arguments":"{\"a\":1}"}` + "\n", `"arguments":"{}"}` + "\n"},
		{`"approval_request_id":null,"output":null`, `"approval_request_id":"mcpr_1","output":null`},
		{`"approval_request_id":null,"output":null`, `"approval_request_id":null,"output":"early"`},
		{`"output":"six"`, `"output":null`},
		{`"output":"six"`, `"output":{}`},
		{`"status":"completed","arguments"`, `"status":"failed","arguments"`},
		{`"status":"completed","arguments"`, `"status":"in_progress","arguments"`},
		{`"status":"failed","arguments"`, `"status":"completed","arguments"`},
		{`"error":{"type":"mcp_protocol_error","code":-32601,"message":"none"}`, `"error":null`},
		{`"error":{"type":"mcp_protocol_error","code":-32601,"message":"none"}`,
			`"error":{"type":"mcp_error","code":1,"message":"none"}`},
		{`"error":{"type":"mcp_protocol_error","code":-32601,"message":"none"}`, `"error":"none"`},
		{`"id":"mcpr_1"`, `"id":"mcp_1"`},
		{`"name":"add","arguments":"{}"`, `"name":"add","arguments":""`},
		{`"name":"add","arguments":"{}"}}` + "\n\nevent: response.output_item.added",
			`"name":"sub","arguments":"{}"}}` + "\n\nevent: response.output_item.added"},
		{`"action":{"type":"search","query":"x","queries":["x"]},"status":"completed"`,
			`"action":{"type":"open_page","url":null},"status":"completed"`},
		{`"action":{"type":"search","query":"x","queries":["x"]},"status":"completed"`,
			`"action":{"type":"search","query":"x","queries":["x"]},"status":"failed"`},
		{`"action":{"type":"search","query":"x","queries":["x"]},"status":"completed"`,
			`"action":{"type":"find","pattern":"x"},"status":"completed"`},
		{"response.web_search_call.searching", "response.web_search_call.interpreting"},
		{`"call_id":null,"arguments":{}`, `"call_id":"call_1","arguments":{}`},
		{`"call_id":null,"arguments":{}`, `"call_id":null,"arguments":{"query":"orders"}`},
		{`"call_id":null,"arguments":{}`, `"arguments":{}`},
		{`"status":"completed","execution":"server","call_id":null,"arguments"`,
			`"status":"failed","execution":"server","call_id":null,"arguments"`},
		{`"call_id":null,"tools"`, `"call_id":"call_1","tools"`},
		{`"status":"completed","execution":"server","call_id":null,"tools"`,
			`"status":"incomplete","execution":"server","call_id":null,"tools"`},
		{`"execution":"server","call_id":null,"tools"`, `"execution":"client","call_id":null,"tools"`},
		{`{"id":"tsc_1","type":"tool_search_call"`, `{"id":"tsc_1","type":"tool_call"`},
		{`"code":null,"container_id":"c","outputs":null`, `"code":"1","container_id":"c","outputs":null`},
		{`"code":null,"container_id":"c","outputs":null`, `"code":null,"container_id":"d","outputs":null`},
		{`"code":"1+1"}`, `"code":"1+2"}`},
		{`"code":"1+1","container_id"`, `"code":"1+2","container_id"`},
		{`"outputs":[{"type":"logs","logs":"2"}]`, `"outputs":[{"type":"text","logs":"2"}]`},
		{`"annotation_index":1`, `"annotation_index":0`},
		{`"annotation_index":1`, `"annotation_index":2`},
		{`"start_index":32,"end_index":57`, `"start_index":32,"end_index":32`},
		{`"start_index":32,"end_index":57`, `"start_index":3,"end_index":57`},
		{`"start_index":32,"end_index":57`, `"start_index":32,"end_index":59`},
		{`"title":"b.org"`, `"titles":"b.org"`},
		{`"tool_output_tokens":7`, `"tool_output_tokens":-1`},
		{`"tool_output_tokens":7`, `"tool_output_tokens":1000`},
		{`"tool_output_tokens":7`, `"tool_tokens":7`},
	} {
		changed := strings.ReplaceAll(good, bad.old, bad.new) // also in the response at the end
		if changed == good {
			t.Errorf("%s is not there", bad.old)
		}
		refuse(bad.old+" as "+bad.new, changed)
	}
	t.Logf("%d streams refused", refused)
}
