//go:build e2e

package grammar

import (
	"strings"
	"testing"
)

// TestChannelGrammarRefuses shows that each promise is looked at.
func TestChannelGrammarRefuses(t *testing.T) {
	const (
		usage = `{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,` +
			`"completion_tokens_details":{"reasoning_tokens":2}}`
		done = `event: done` + "\n" + `data: {"id":"x","created":1,"model":"m","finish_reason":"stop","usage":` + usage +
			"}\n\n"
		text = `event: analysis` + "\n" + `data: {"message":0,"text":"Hm"}` + "\n\n" + `event: token` + "\n" +
			`data: {"message":1,"text":"Hi"}` + "\n\n"
		call = `event: analysis` + "\n" + `data: {"message":0,"text":"Hm"}` + "\n\n" + `event: tool_call` + "\n" +
			`data: {"message":1,"index":0,"id":"c","type":"function","name":"f","arguments":"{}",` +
			`"conversation":{"messages":[{"role":"system","content":""},` +
			`{"role":"assistant","channel":"analysis","content":"Hm"},{"role":"assistant","channel":"commentary",` +
			`"recipient":"functions.f","content_type":"json","content":"{}"}]}}` + "\n\n"
		fault = `event: error` + "\n" + `data: {"error":{"message":"m","type":"t","param":null,"code":"no_final_channel"},` +
			`"usage":` + usage + "}\n\n"
	)
	called := strings.Replace(done, `"stop"`, `"tool_calls"`, 1)
	for _, good := range []string{done, text + done, call + called, fault, strings.Replace(fault, usage, "null", 1)} {
		if strings.Contains(good, "null}") {
			good = strings.Replace(good, "no_final_channel", "server_error", 1)
		}
		if _, err := ReadChannelEvents(good); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []struct{ stream, old, new string }{
		{text, "", ""}, {text + done + done, "", ""}, {done + text, "", ""}, {call + done, "", ""}, {text + called, "", ""},
		{text + fault, "", ""},
		{text + done, "event: token", "event: final"}, {text + done, "event: token\n", ""},
		{text + done, `"text":"Hm"`, `"text":""`},
		{text + done, `"text":"Hm"`, `"text":"<|end|>"`}, {text + done, `"message":0`, `"message":2`},
		{text + done, `"message":1`, `"message":0`},
		{text + done, `"message":0,`, ``}, {text + done, `"Hm"}`, `"Hm","x":1}`}, {text + done, `"Hm"}`, `"Hm"`},
		{text + done, `13`, `14`},
		{text + done, `"reasoning_tokens":2`, `"reasoning_tokens":5`}, {text + done, `"stop"`, `"end"`},
		{text + done, `"id":"x"`, `"id":""`},
		{call + called, `"index":0`, `"index":1`}, {call + called, `"id":"c"`, `"id":""`},
		{call + called, `"function"`, `"f"`}, {call + called, `"name":"f"`, `"name":"g"`},
		{call + called, `"arguments":"{}"`, `"arguments":"[]"`}, {call + called, `"content":"Hm"`, `"content":"Ha"`},
		{call + called, `"channel":"analysis"`, `"channel":"final"`}, {call + called, `,"content_type":"json"`, ``},
		{call + called, `"channel":"commentary"`, `"channel":"analysis"`},
		{call + called, `"role":"system"`, `"role":"user"`},
		{call + called, `,"conversation":`, `,"messages":`}, {call + called, `"message":1`, `"message":0`},
		{fault, `"code":"no_final_channel"`, `"code":null`}, {fault, usage, "null"},
	} {
		stream := strings.Replace(bad.stream, bad.old, bad.new, 1)
		if bad.old != "" && stream == bad.stream {
			t.Errorf("%s is not there", bad.old)
		}
		if _, err := ReadChannelEvents(stream); err == nil {
			t.Errorf("accepted: %s", stream)
		}
	}
}
