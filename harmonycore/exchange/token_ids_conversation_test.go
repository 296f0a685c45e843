package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// tracedChunk is a chunk of a server that was asked for ids.
func tracedChunk(delta, ids, logprobs, finish string) string {
	if logprobs != "null" {
		var content []string
		for l := range strings.SplitSeq(logprobs, ",") {
			content = append(content, fmt.Sprintf(`{"token":"x","logprob":%s,"bytes":[120],"top_logprobs":[]}`, l))
		}
		logprobs = `{"content":[` + strings.Join(content, ",") + `],"refusal":null}`
	}
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{` + delta +
		`},"logprobs":` + logprobs + `,"finish_reason":` + finish + `,"token_ids":` + ids + `}]}` + "\n\n"
}

const tracedHead = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":` +
	`{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":[7,8,9]}` + "\n\n"

const tracedEnd = `data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` +
	"\n\ndata: [DONE]\n\n"

func conversingTraced() *Gateway {
	return conversing(func(m *contract.Model) { m.Answers.TokenIDs = true })
}

// TestTokenIDsOfConversations: all ids that a server sends are there, also of tokens without text, however the
// stream is cut.
func TestTokenIDsOfConversations(t *testing.T) {
	answer := tracedHead + tracedChunk(`"reasoning_content":"Hm"`, "[1,2]", "-0.5,-1e-05", "null") +
		tracedChunk(``, "[3]", "-9999.0", "null") + tracedChunk(`"content":"Hi"`, "[4]", "0", "null") +
		tracedChunk(``, "[5]", "-0.25", `"stop"`) + tracedEnd
	const want = `"prompt_token_ids":[7,8,9],"generation_token_ids":[1,2,3,4,5],` +
		`"generation_log_probs":[-0.5,-1e-05,-9999.0,0,-0.25]`
	for _, tt := range []struct{ path, body string }{
		{contract.ChatPath, `{"model":"qwen","messages":[{"role":"user","content":"hi"}]}`},
		{contract.ChatPath, `{"model":"qwen","stream":true,"messages":[{"role":"user","content":"hi"}]}`},
		{contract.ResponsesPath, `{"model":"qwen","input":"hi"}`},
		{contract.ResponsesPath, `{"model":"qwen","stream":true,"input":"hi"}`},
	} {
		for n := 1; n <= len(answer); n += 7 {
			sent, got, _ := ask(t, conversingTraced(), tt.path, tt.body, "text/event-stream", answer, n)
			places := 1
			if strings.Contains(tt.body, `"stream":true`) && tt.path == contract.ResponsesPath {
				places = 2 // the item when it is done, and in the response
			}
			if !strings.Contains(sent, `"logprobs":true`) || !strings.Contains(sent, `"return_token_ids":true`) ||
				strings.Count(got, want) != places || strings.Contains(got, `"token":"x"`) {
				t.Fatalf("%s in pieces of %d: sent %s, got %s", tt.body, n, sent, got)
			}
		}
	}
}

// TestTokenIDsNotSent has servers that do not send what they were asked for. A client never gets a part of it.
func TestTokenIDsNotSent(t *testing.T) {
	text := `"content":"Hi"`
	for name, answer := range map[string]string{
		"nothing":     chunk(text) + finish("stop"),
		"no prompt":   tracedChunk(text, "[4]", "0", `"stop"`) + tracedEnd,
		"no logprobs": tracedHead + tracedChunk(text, "[4]", "null", `"stop"`) + tracedEnd,
		"too few":     tracedHead + tracedChunk(text, "[4,5]", "0", `"stop"`) + tracedEnd,
		"too many":    tracedHead + tracedChunk(text, "[4]", "0,-1", `"stop"`) + tracedEnd,
		"only the first": tracedHead + tracedChunk(text, "[4]", "0", "null") + tracedChunk(text, "null", "0", `"stop"`) +
			tracedEnd,
	} {
		for _, path := range []string{contract.ChatPath, contract.ResponsesPath} {
			body := `{"model":"qwen","messages":[{"role":"user","content":"hi"}],"input":"hi"}`
			_, got, _ := ask(t, conversingTraced(), path, body, "text/event-stream", answer, len(answer))
			if !strings.Contains(got, "answers.token_ids") || !strings.Contains(got, `"code":"server_error"`) {
				t.Errorf("%s, %s: %s", name, path, got)
			}
		}
	}
}

// TestTokenIDsWithoutEnd: tokens without text are counted, so a server that sends them for ever is cut off.
func TestTokenIDsWithoutEnd(t *testing.T) {
	event := tracedChunk(``, "[1,1,1,1,1,1,1,1]", "0,0,0,0,0,0,0,0", "null")
	body := `{"model":"qwen","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}`
	x := conversingTraced().Begin("POST", contract.ChatPath)
	x.Request([]byte(body), Host{Now: 1_700_000_000_000, ID: "0123456789abcdef01234567"})
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	for n := range 1000 {
		if a := x.ResponseBody([]byte(event), false); a.Reply != nil {
			if a.Reply.Status != 502 || n*8 < 1000 || n*8 > 1000+maxOvershoot {
				t.Errorf("after %d tokens: %s", n*8, a.Reply.Body)
			}
			return
		}
	}
	t.Error("the server was never cut off")
}

// TestTokenIDsCarried: servers get the ids of each turn on the message of that turn, as the client spells them, and
// only if the operator has configured ids.
func TestTokenIDsCarried(t *testing.T) {
	ids := func(n int) string {
		return fmt.Sprintf(`"prompt_token_ids":[ %d ,2],"generation_token_ids":[%d],"generation_log_probs":[-1.50]`, n, n)
	}
	request := `{"model":"qwen","input":[{"role":"user","content":"a",` + ids(0) + `},` +
		`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}],` + ids(1) + `},` +
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}",` + ids(2) + `},` +
		`{"type":"function_call_output","call_id":"c","output":"r",` + ids(3) + `},` +
		`{"role":"assistant","content":"b",` + ids(4) + `},{"role":"user","content":"c"}]}`
	chat := `{"model":"qwen","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",` + ids(4) +
		`},{"role":"user","content":"c"}]}`
	answer := tracedHead + tracedChunk(`"content":"Hi"`, "[4]", "0", `"stop"`) + tracedEnd
	sent, _, _ := ask(t, conversingTraced(), contract.ResponsesPath, request, "text/event-stream", answer, len(answer))
	for n, want := range []int{0, 0, 1, 0, 1} {
		if strings.Count(sent, ids(n)) != want {
			t.Errorf("%s is there %d times in %s", ids(n), strings.Count(sent, ids(n)), sent)
		}
	}
	if !json.Valid([]byte(sent)) {
		t.Errorf("not JSON: %s", sent)
	}
	if sent, _, _ = ask(t, conversing(nil), contract.ResponsesPath, request, "text/event-stream", answer,
		len(answer)); strings.
		Contains(sent, "token_ids") {
		t.Errorf("sent without being configured: %s", sent)
	}
	if sent, _, _ = ask(t, conversingTraced(), contract.ChatPath, chat, "text/event-stream", answer,
		len(answer)); !strings.
		Contains(sent, ids(4)) {
		t.Errorf("not sent: %s", sent)
	}
}
