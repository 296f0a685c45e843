package exchange

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// withTokenIDs is a gateway whose model's answers have the ids of their tokens.
func withTokenIDs() *Gateway {
	return testGateway(func(o *Options) { o.Models[0].Answers.TokenIDs = true })
}

// tracedStream is a server's stream for a Harmony text, with so many tokens in an event. The token at place i of the
// answer has the logprob -i.
func tracedStream(text string, size int, finish string) (stream string, ids []uint32) {
	var b strings.Builder
	ids = o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	for from := 0; from < len(ids); from += size {
		b.WriteString(logprobsChunk(ids[from:min(from+size, len(ids))], from, "null"))
	}
	return b.String() + logprobsChunk([]uint32{}, 0, `"`+finish+`"`) + serverUsage + serverDone, ids
}

// traced are the members with which a client trains the model.
type traced struct {
	Prompt   []uint32  `json:"prompt_token_ids"`
	Sampled  []uint32  `json:"generation_token_ids"`
	Logprobs []float64 `json:"generation_log_probs"`
}

func (tr *traced) check(t *testing.T, sent []byte, ids []uint32) {
	t.Helper()
	var request struct {
		Prompt   []uint32
		Logprobs *int
	}
	if err := json.Unmarshal(sent, &request); err != nil || request.Logprobs == nil {
		t.Fatalf("the server is asked for no logprobs: %v", err)
	}
	if !slices.Equal(tr.Prompt, request.Prompt) {
		t.Errorf("prompt %v, and the server got %v", tr.Prompt, request.Prompt)
	}
	if !slices.Equal(tr.Sampled, ids) || len(tr.Logprobs) != len(ids) {
		t.Fatalf("sampled %v with %v, want %v", tr.Sampled, tr.Logprobs, ids)
	}
	for i, l := range tr.Logprobs {
		if l != float64(-i) {
			t.Errorf("token %d has the logprob %v", i, l)
		}
	}
}

// exchanged returns what the server got and the events that the client got, or its whole answer.
func exchanged(t *testing.T, g *Gateway, path, body, stream string) (sent []byte, events []string) {
	t.Helper()
	x := g.Begin("POST", path)
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Forward == nil {
		t.Fatalf("not forwarded: %s", a.Reply.Body)
	}
	sent = slices.Clone(a.Forward.Body)
	status, got, _ := strings.Cut(outcome(t, x, []string{stream, ""}), " ")
	if status != "200" {
		t.Fatalf("%s %s", status, got)
	}
	for event := range strings.SplitSeq(strings.TrimSpace(got), "\n\n") {
		if _, data, found := strings.Cut(event, "data: "); found {
			event = data
		}
		if event != "[DONE]" {
			events = append(events, event)
		}
	}
	return sent, events
}

const (
	tracedAnswer = "<|channel|>analysis<|message|>Think 👩‍👧.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>"
	tracedCalls  = "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		" <|constrain|>json<|message|>{}<|call|>"
)

// tracedTexts are answers, each with the reason for its end: regular ones, those that are repaired, and those that
// leave nothing to show.
var tracedTexts = [][2]string{
	{tracedAnswer, "stop"}, {tracedCalls, "stop"}, {"no header at all<|return|>", "stop"}, {"<|return|>", "stop"},
	{"<|channel|>analysis<|message|>Think", "length"}, {"<|channel|>analysis<|message|>Think<|end|><|start|>assi",
		"length"},
	{"<|channel|>analysis", "length"}, {"", "length"},
	{"<|channel|>commentary to=python<|message|>1+1", "length"},
	{"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=python<|message|>1", "length"},
	{"<|channel|>final<|message|>A<|channel|>B<|channel|>final<|message|>C<|return|>", "stop"},
}

const tracedTool = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`

// TestTokenIDs: every answer has the ids that the server got and sampled, once, and the logprobs of the latter.
func TestTokenIDs(t *testing.T) {
	for _, text := range tracedTexts {
		for _, size := range []int{1, 3, 100} {
			stream, ids := tracedStream(text[0], size, text[1])
			for _, streamed := range []bool{false, true} {
				body := fmt.Sprintf(`{"model":%q,"stream":%t,%s,"messages":[{"role":"user","content":"Hi"}]}`, testModel,
					streamed, tracedTool)
				sent, events := exchanged(t, withTokenIDs(), "/v1/chat/completions", body, stream)
				found := checkChat(t, sent, events, ids)
				body = fmt.Sprintf(`{"model":%q,"stream":%t,"tools":[{"type":"function","name":"f","parameters":{}}],"input":"Hi"}`,
					testModel, streamed)
				sent, events = exchanged(t, withTokenIDs(), "/v1/responses", body, stream)
				found += checkResponses(t, sent, events, ids)
				if found != 2 {
					t.Errorf("%q, stream %t: the ids stand in %d answers", text[0], streamed, found)
				}
			}
		}
	}
}

// checkChat returns how often the ids stand in a Chat answer.
func checkChat(t *testing.T, sent []byte, events []string, ids []uint32) (found int) {
	t.Helper()
	for _, event := range events {
		if !strings.Contains(event, "generation_log_probs") {
			continue
		}
		var chunk struct {
			Choices []struct {
				Message, Delta *traced
				FinishReason   string `json:"finish_reason"`
				Logprobs       *struct{}
			}
		}
		if err := json.Unmarshal([]byte(event), &chunk); err != nil {
			t.Fatal(err)
		}
		if chunk.Choices[0].FinishReason == "" || chunk.Choices[0].Logprobs != nil {
			t.Errorf("ids in the chunk %s", event)
		}
		at := chunk.Choices[0].Message
		if at == nil {
			at = chunk.Choices[0].Delta
		}
		at.check(t, sent, ids)
		found++
	}
	return found
}

// checkResponses reports whether the ids stand on the last item of the response and nowhere else.
func checkResponses(t *testing.T, sent []byte, events []string, ids []uint32) (found int) {
	t.Helper()
	type item struct {
		traced
		ID, Status string
	}
	type response struct{ Output []item }
	var last struct {
		response
		Response response
	}
	if err := json.Unmarshal([]byte(events[len(events)-1]), &last); err != nil {
		t.Fatal(err)
	}
	output := append(last.Output, last.Response.Output...)
	for i := range output {
		if i == len(output)-1 {
			output[i].check(t, sent, ids)
			found++
		} else if output[i].Prompt != nil {
			t.Errorf("item %d of %d has ids", i, len(output))
		}
	}
	opened, closed := 0, 0
	for _, event := range events {
		var e struct {
			Type string
			Item item
		}
		if err := json.Unmarshal([]byte(event), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "response.output_item.added":
			opened++
		case "response.output_item.done":
			want := output[closed]
			if closed++; e.Item.ID != want.ID || e.Item.Status != want.Status ||
				!slices.Equal(e.Item.Sampled, want.Sampled) {
				t.Errorf("item %d is %+v in its event and %+v at the end", closed, e.Item, want)
			}
		}
	}
	if len(events) > 1 && (opened != len(output) || closed != len(output)) {
		t.Errorf("of %d items %d were opened and %d closed", len(output), opened, closed)
	}
	return found
}

// TestTokenIDsComeBack: a client sends them back with its history, and the model sees the same as without them.
func TestTokenIDsComeBack(t *testing.T) {
	ids := `"prompt_token_ids":[1,2,3],"generation_token_ids":[ 4, 5 ],"generation_log_probs":[-0.5,-1e-05],`
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"` + testModel + `","messages":[{"role":"user","content":"Hi"},` +
			`{%s"role":"assistant","content":"Hello"},{"role":"user","content":"So?"}]}`,
		"/v1/responses": `{"model":"` + testModel + `","input":[{"role":"user","content":"Hi"},` +
			`{%s"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]},` +
			`{%[1]s"type":"function_call","call_id":"1","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"1","output":"ok"},` +
			`{%[1]s"role":"assistant","content":"Hello"},{"role":"user","content":"So?"}]}`,
	} {
		g := withTokenIDs()
		plain := forwardedBody(t, g, path, strings.ReplaceAll(strings.ReplaceAll(body, "%s", ""), "%[1]s", ""))
		if got := forwardedBody(t, g, path, fmt.Sprintf(body, ids)); got != plain {
			t.Errorf("%s: sent\n%s\nand without ids\n%s", path, got, plain)
		}
	}
}

func forwardedBody(t *testing.T, g *Gateway, path, body string) string {
	t.Helper()
	a := g.Begin("POST", path).Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Forward == nil {
		t.Fatalf("not forwarded: %s", a.Reply.Body)
	}
	return string(a.Forward.Body)
}

func TestTokenIDsRefused(t *testing.T) {
	history := `{"model":"` + testModel +
		`","input":[{"role":"user","content":"Hi"},{"role":"assistant","content":"A",%s}]}`
	for _, tt := range []struct{ members, param string }{
		{`"prompt_token_ids":[1]`, "input[1].generation_token_ids"},
		{`"generation_token_ids":[1],"generation_log_probs":[-1]`, "input[1].prompt_token_ids"},
		{`"prompt_token_ids":[1],"generation_token_ids":[1],"generation_log_probs":[]`, "input[1].generation_log_probs"},
		{`"prompt_token_ids":"x","generation_token_ids":[1],"generation_log_probs":[1]`, "input[1].prompt_token_ids"},
		{`"prompt_token_ids":[1.5],"generation_token_ids":[1],"generation_log_probs":[1]`, "input[1].prompt_token_ids"},
		{`"prompt_token_ids":[[1]],"generation_token_ids":[1],"generation_log_probs":[1]`, "input[1].prompt_token_ids"},
		{`"prompt_token_ids":[1],"generation_token_ids":[-1],"generation_log_probs":[1]`, "input[1].generation_token_ids"},
		{`"prompt_token_ids":[1],"generation_token_ids":[1],"generation_log_probs":[null]`, "input[1].generation_log_probs"},
	} {
		body := fmt.Sprintf(history, tt.members)
		a := withTokenIDs().Begin("POST", "/v1/responses").Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 400 || !strings.Contains(string(a.Reply.Body), `"param":"`+tt.param+`"`) {
			t.Errorf("%s: %+v", tt.members, a)
		}
		// Elsewhere they are members like any other that the gateway does not know.
		forwardedBody(t, testGateway(nil), "/v1/responses", body)
	}
	for _, tt := range []struct{ kind, body, param string }{
		{contract.VLLM, fmt.Sprintf(twoChoices, ""), "n"},
		{contract.TRTLLM, chatBody(false), "model"}, {contract.Text, chatBody(false), "model"},
		{contract.LlamaCPP, chatBody(false), "model"}, {contract.SGLangCompletions, chatBody(false), "model"},
	} {
		g := testGateway(func(o *Options) { o.Models[0].Answers.TokenIDs, o.Models[0].Server = true, tt.kind })
		a := g.Begin("POST", "/v1/chat/completions").Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 400 || !strings.Contains(string(a.Reply.Body), `"param":"`+tt.param+`"`) {
			t.Errorf("%s: %+v", tt.kind, a)
		}
	}
}

// TestTokenIDsMissing checks the error for a server that does not say how likely its tokens are.
func TestTokenIDsMissing(t *testing.T) {
	for _, logprobs := range []string{`null`, `{"token_logprobs":[null]}`, `{"token_logprobs":[-1,-1]}`} {
		x := forwarded(t, withTokenIDs(), "/v1/responses", `{"model":"`+testModel+`","input":"Hi"}`)
		got := outcome(t, x, []string{`data: {"choices":[{"index":0,"logprobs":` + logprobs + `,"token_ids":[200005]}]}` +
			"\n\n", ""})
		if !strings.HasPrefix(got, "502 ") || !strings.Contains(got, "answers.token_ids") {
			t.Errorf("%s: %s", logprobs, got)
		}
	}
}

// TestTracedChunksAllocateLittle: what an answer keeps of its ids grows by doubling.
func TestTracedChunksAllocateLittle(t *testing.T) {
	const chunks = 1000
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>"+strings.Repeat(" word", 5*chunks))
	var events []string
	for at := range 5 * chunks {
		events = append(events, logprobsChunk(ids[at:at+1], at, "null"))
	}
	for path, most := range map[string]uint64{"/v1/chat/completions": 4, "/v1/responses": 8} {
		body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"Hi"}],"input":"Hi"}`, testModel)
		x := forwarded(t, testGateway(func(o *Options) {
			o.Models[0].Answers.TokenIDs, o.Models[0].ContextLength = true, 1<<17
		}), path, body)
		x.ResponseHeaders(eventStream)
		chunk, least := make([]byte, 0, 4096), ^uint64(0)
		for from := 0; from < len(events); from += chunks {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, event := range events[from : from+chunks] {
				chunk = append(chunk[:0], event...)
				x.ResponseBody(chunk, false)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least > most {
			t.Errorf("%s: %d chunks cost %d allocations", path, chunks, least)
		}
	}
}
