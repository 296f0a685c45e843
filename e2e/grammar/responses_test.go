//go:build e2e

package grammar

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
)

// wantedStream returns the Responses stream that a case expects, without its head and the line end after it.
func wantedStream(t *testing.T, name string) string {
	t.Helper()
	_, body, _ := strings.Cut(cases.Load(t, name).Member("want"), "\n\n")
	return strings.TrimSuffix(body, "\n")
}

var sequenceNumber = regexp.MustCompile(`"sequence_number":\d+`)

// stream joins events and numbers them again, so that something else is wrong with them.
func stream(events []string) string {
	n := 0
	return sequenceNumber.ReplaceAllStringFunc(strings.Join(events, ""), func(string) string {
		n++
		return fmt.Sprintf(`"sequence_number":%d`, n-1)
	})
}

// TestResponsesGrammarRefuses shows that each promise of the grammar is looked at: events are left out, doubled and
// swapped, and what they say is changed.
func TestResponsesGrammarRefuses(t *testing.T) {
	good := wantedStream(t, "responses_preamble_stream") // a reasoning, a message and a call
	failed := wantedStream(t, "fault_error_later_responses_stream")
	cut := wantedStream(t, "responses_length_stream")
	likely := wantedStream(t, "responses_logprobs_stream")
	hidden := regexp.MustCompile(
		`event: response\.(content_part|reasoning_text)[^\n]*\n[^\n]*"output_index":0,[^\n]*\n\n`).ReplaceAllString(good, "")
	hidden = stream(strings.SplitAfter(strings.ReplaceAll(hidden, `{"type":"reasoning_text","text":"Look."}`, ""), "\n\n"))
	summary := wantedStream(t, "responses_summary_stream")
	custom := strings.NewReplacer("function_call_arguments", "custom_tool_call_input", "function_call", "custom_tool_call",
		`"arguments"`, `"input"`).Replace(good)
	for name, s := range map[string]string{
		"three items": good, "failed": failed, "incomplete": cut, "likely": likely, "hidden": hidden, "custom": custom,
		"summary": summary} {
		if _, err := ReadResponses(s, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := 0
	refuse := func(what, s string, wasCut bool) {
		t.Helper()
		refused++
		if _, err := ReadResponses(s, wasCut); err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
	for _, whole := range []string{good, failed} {
		events := strings.SplitAfter(whole, "\n\n")
		refuseOtherEvents(t, events[:len(events)-1], refuse)
	}
	refuse("half an event behind the end", good+"event: ", false)
	refuse("cut off behind the end", good, true)
	for _, bad := range []struct{ stream, old, new string }{
		{good, `"sequence_number":7`, `"sequence_number":8`},
		{good, `"sequence_number":0`, `"sequence_number":1`},
		{good, "event: response.output_text.delta\n", ""},
		{good, "event: response.output_text.delta", "event: response.text.delta"},
		{good, `"status":"in_progress"`, `"status":"queued"`},
		{good, `"output":[]`, `"output":null`},
		{good, `"content_index":0,"delta":"Look"`, `"content_index":1,"delta":"Look"`},
		{good, `"output_index":0,"content_index":0,"delta"`, `"output_index":1,"content_index":0,"delta"`},
		{good, `"item_id":"rs_<1>","output_index":0,"content_index":0,"delta"`,
			`"item_id":"msg_<1>","output_index":0,"content_index":0,"delta"`},
		{good, `"output_index":1,"item"`, `"output_index":0,"item"`},
		{good, `"delta":"Look"`, `"delta":""`},
		{good, `"delta":"Look"`, `"delta":"Luck"`},
		{good, `"text":"I will look."}` + "\n", `"text":"I will."}` + "\n"},
		{good, `"part":{"type":"reasoning_text","text":"Look."}`, `"part":{"type":"reasoning_text","text":"Luck."}`},
		{good, `"part":{"type":"output_text"`, `"part":{"type":"refusal"`},
		{good, `"arguments":"{}","name":"get_time"`, `"arguments":"[]","name":"get_time"`},
		{good, `"arguments":"{}","name":"get_time"`, `"arguments":"{}","name":"f"`},
		{good, `"arguments":"","call_id"`, `"arguments":"{","call_id"`},
		{good, `"id":"msg_<1>","type":"message","status":"in_progress"`,
			`"id":"rs_<1>","type":"message","status":"in_progress"`},
		{good, `"id":"fc_<1>","type":"function_call","status":"completed"`,
			`"id":"fc_<2>","type":"function_call","status":"completed"`},
		{good, `"call_id":"call_<1>","name":"get_time"}}` + "\n\nevent: response.completed",
			`"call_id":"call_<2>","name":"get_time"}}` + "\n\nevent: response.completed"},
		{good, `"phase":"commentary","role":"assistant"}}` + "\n\nevent: response.output_item.added",
			`"phase":"final_answer","role":"assistant"}}` + "\n\nevent: response.output_item.added"},
		{good, `"type":"message","status":"completed"`, `"type":"message","status":"incomplete"`},
		{good, `"type":"message","status":"completed"`, `"type":"message","status":"in_progress"`},
		{good, `"output":[{"id":"rs_<1>"`, `"output":[{"id":"rs_<2>"`},
		{good, `,{"id":"msg_<1>","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],` +
			`"logprobs":[],"text":"I will look."}],"phase":"commentary","role":"assistant"},`, `,`},
		{good, `"sequence_number":22,"response":{"id":"resp_<1>"`, `"sequence_number":22,"response":{"id":"resp_<2>"`},
		{good, `"sequence_number":1,"response":{"id":"resp_<1>"`, `"sequence_number":1,"response":{"id":"resp_<2>"`},
		{good, `"status":"completed","background"`, `"status":"in_progress","background"`},
		{good, `"completed_at":0`, `"completed_at":-1`},
		{good, `"total_tokens":144`, `"total_tokens":143`},
		{good, `"reasoning_tokens":2`, `"reasoning_tokens":34`},
		{good, `"response.completed","sequence_number"`, `"response.failed","sequence_number"`},
		{failed, `"error":{"code":"server_error","message":"Internal server error"}`, `"error":null`},
		{failed, `"error":{"code":"server_error","message":"Internal server error"}`,
			`"error":{"code":"server_error","message":"Another"}`},
		{failed, `"code":"server_error","message":"Internal server error","param":null,"error"`,
			`"code":null,"message":"Internal server error","param":null,"error"`},
		{failed, `"error":{"message":"Internal server error"`, `"error":{"message":"Another"`},
		{failed, `"type":"server_error","param":null,"code"`, `"param":null,"code"`},
		{failed, `"usage":null,"user":null,"metadata":{}}}` + "\n\nevent: response.in_progress",
			`"usage":{},"user":null,"metadata":{}}}` + "\n\nevent: response.in_progress"},
		{cut, `"incomplete_details":{"reason":"max_output_tokens"}`, `"incomplete_details":null`},
		{likely, `"delta":"Hi","logprobs":[{"token":"Hi","logprob":-2.375`,
			`"delta":"Hi","logprobs":[{"token":"Hi","logprob":-2`},
		{likely, `"logprobs":[{"token":"Hi","logprob":-2.375,"top_logprobs":[{"token":" ahead"`,
			`"logprobs":[{"token":"Hi","logprob":-2.375,"top_logprobs":[{"token":"ahead"`},
		{likely, `{"type":"output_text","annotations":[],"logprobs":[{"token":"Hi"`,
			`{"type":"output_text","annotations":[],"logprobs":[{"token":"Ho"`},
		{likely, `"bytes":[72,105]`, `"bytes":[72,111]`},
		{likely, `"bytes":[72,105]`, `"bytes":[72]`},
		{custom, `"input":"{}","name"`, `"arguments":"{}","name"`},
		{summary, `"summary_index":0,"part"`, `"summary_index":1,"part"`},
		{summary, `"summary_index":0,"delta"`, `"content_index":0,"delta"`},
		{summary, `reasoning_summary_part.added`, `content_part.added`},
		{summary, `"status":"completed","summary":[{"type":"summary_text","text":"Be \"short\"."}]`,
			`"status":"completed","summary":[]`},
		{hidden, `"status":"completed","summary":[],"content":[]`, `"status":"completed","summary":[],"content":[{}]`},
	} {
		changed := strings.Replace(bad.stream, bad.old, bad.new, 1)
		if changed == bad.stream {
			t.Errorf("%s is not there", bad.old)
		}
		refuse(bad.old+" as "+bad.new, changed, false)
	}
	t.Logf("%d streams refused", refused)
}

// refuseOtherEvents leaves out, doubles and swaps each event of a stream, and cuts the stream there.
func refuseOtherEvents(t *testing.T, events []string, refuse func(what, s string, wasCut bool)) {
	t.Helper()
	for i, event := range events {
		refuse("without "+event, stream(slices.Delete(slices.Clone(events), i, i+1)), false)
		refuse("twice "+event, stream(slices.Insert(slices.Clone(events), i, event)), false)
		if i > 0 {
			swapped := slices.Clone(events)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			refuse("earlier "+event, stream(swapped), false)
		}
		if _, err := ReadResponses(stream(events[:i])+event[:9], true); err != nil {
			t.Errorf("cut off in event %d: %v", i, err)
		}
		refuse("an end before "+event, stream(events[:i]), false)
	}
}

// TestExpectedAnswers holds what the cases expect to be answered against the schemas and the grammars without any host,
// which is how a case that is wrong itself is found at once.
func TestExpectedAnswers(t *testing.T) {
	plain, traced, answers, streams := LoadSchemas(t), LoadTracedSchemas(t), 0, 0
	for _, c := range cases.All(t) {
		s := plain
		if c.Settings["token_ids"] == "true" {
			s = traced
		}
		for _, member := range []string{"want", cases.WantReduced} {
			n, err := s.Check(c.API(), c.ByChannels(), c.Member(member))
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, member, err)
			}
			answers += n
		}
		if strings.Contains(c.Member("want"), "event: response.created") {
			streams++
		}
	}
	if answers == 0 || streams == 0 {
		t.Fatal("the suite has no answers, or no stream of Responses")
	}
	t.Logf("%d answers, chunks and events; %d streams of Responses", answers, streams)
}
