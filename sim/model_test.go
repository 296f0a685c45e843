package sim

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func mustPrompt(t *testing.T, text string) *prompt {
	t.Helper()
	p, err := readPrompt(o200k.Tokenizer(), encode(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return p
}

func TestAnswers(t *testing.T) {
	const final = "<|start|>assistant<|channel|>final<|message|>"
	called := weather + "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant " +
		"to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{}<|call|>" +
		"<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{\"sky\":\"clear\"}<|end|>"
	call := "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" +
		`{"location":"San Francisco","unit":"fahrenheit"}<|call|>`
	for name, tc := range map[string]struct {
		prompt string
		want   string // with N for the number of prompt tokens
	}{
		"low": {hello, "<|channel|>analysis<|message|>The user wants an answer.<|end|>" + final +
			"You said: Hello there. I read N tokens.<|return|>"},
		"call": {weather + "<|start|>assistant",
			"<|channel|>analysis<|message|>The function get_weather fits, so I call it.<|end|>" + call},
		"no call": {strings.Replace(weather, "weather in San", "news from San", 1) + "<|start|>assistant",
			"<|channel|>analysis<|message|>The user wants an answer.<|end|>" + final +
				"You said: What is the news from San Francisco, in fahrenheit?. I read N tokens.<|return|>"},
		"tool result": {called + "<|start|>assistant", "<|channel|>analysis<|message|>The tool functions.get_weather has " +
			"answered, so I use its result.<|end|>" + final +
			`The tool functions.get_weather answered: {"sky":"clear"}. I read N tokens.<|return|>`},
		"prefilled channel": {hello + "<|channel|>final", "<|message|>You said: Hello there. I read N tokens.<|return|>"},
		"prefilled final":   {hello + "<|channel|>final<|message|>", "You said: Hello there. I read N tokens.<|return|>"},
		"prefilled call": {weather + "<|start|>assistant to=functions.now<|channel|>commentary " +
			"<|constrain|>json<|message|>", "{}<|call|>"},
		"prefilled header": {weather + "<|start|>assistant to=functions.now", "<|channel|>commentary<|message|>{}<|call|>"},
	} {
		p := mustPrompt(t, tc.prompt)
		want := strings.Replace(tc.want, "N tokens", itoa(p.tokens)+" tokens", 1)
		if got := spell(answer(o200k.Tokenizer(), p)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// More effort is more analysis; what a user spells stays text.
func TestEffortAndText(t *testing.T) {
	length := map[string]int{}
	for _, effort := range []string{"low", "medium", "high"} {
		length[effort] = len(answer(o200k.Tokenizer(),
			mustPrompt(t, strings.Replace(hello, "Reasoning: low", "Reasoning: "+effort, 1))))
	}
	if length["low"] >= length["medium"] || length["medium"] >= length["high"] {
		t.Errorf("lengths %v", length)
	}
	tok := o200k.Tokenizer()
	ids := encode(systemText + "<|start|>user<|message|>")
	ids = tok.AppendEncode(ids, "<|end|> and <|call|>")
	ids = append(ids, encode("<|end|><|start|>assistant")...)
	p, err := readPrompt(tok, ids)
	if err != nil {
		t.Fatal(err)
	}
	specials := 0
	reply := answer(tok, p)
	for _, id := range reply {
		if id == 200007 || id == 200012 {
			specials++
		}
	}
	if specials != 1 || !strings.Contains(spell(reply), "You said: <|end|> and <|call|>.") {
		t.Errorf("%d ends in %s", specials, spell(reply))
	}
}

func TestReadPrompt(t *testing.T) {
	p := mustPrompt(t, "<|start|>user:bob<|message|>a<|end|><|start|>functions.f to=assistant<|channel|>commentary "+
		"<|constrain|>json<|message|>b<|end|>"+
		"<|start|>assistant to=functions.f<|channel|>commentary "+
		"code<|message|>c<|call|><|start|>assistant<|channel|>final<|message|>d<|return|><|start|>assistant<|channel|>analysis")
	want := []message{
		{role: "user", name: "bob", text: "a"},
		{role: "tool", name: "functions.f", recipient: "assistant", channel: "commentary", ctype: "<|constrain|>json",
			text: "b"},
		{role: "assistant", recipient: "functions.f", channel: "commentary", ctype: "code", text: "c"},
		{role: "assistant", channel: "final", text: "d"},
	}
	for i, m := range want {
		if p.messages[i] != m {
			t.Errorf("message %d: %+v", i, p.messages[i])
		}
	}
	if p.prefill.channel != "analysis" || p.prefillBody {
		t.Errorf("prefill %+v", p.prefill)
	}
	for _, bad := range []string{
		"", "x", "<|start|>assistant", "<|start|>", "<|start|>user<|message|>a<|end|>",
		"<|start|>user<|message|>a<|end|><|start|>user",
		"<|start|>user<|message|>a<|end|><|start|>user<|message|>b",
		"<|start|>user<|message|>a<|channel|>b<|end|><|start|>assistant",
		"<|start|>user<|message|>a<|start|>assistant", "<|start|>user<|message|>a<|end|><|end|><|start|>assistant",
		"<|start|>user<|end|><|start|>assistant",
		"<|start|>user<|channel|><|message|>a<|end|><|start|>assistant",
		"<|start|>user<|channel|>a<|channel|>b<|message|>a<|end|><|start|>assistant",
		"<|start|>user to=a to=b<|message|>a<|end|><|start|>assistant",
		"<|start|>user <|constrain|><|message|>a<|end|><|start|>assistant",
		"<|start|>user<|message|>a<|end|><|start|>assistant<|endoftext|>",
		"<|start|>user<|message|>a<|end|> <|start|>assistant",
	} {
		if _, err := readPrompt(o200k.Tokenizer(), encode(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func TestTools(t *testing.T) {
	const text = `# Tools

## functions

namespace functions {

// Book a table at a restaurant
// for some people
type book_table = (_: {
// Where
restaurant: string,
// first line
second line: of a description
people?: number, // default: 2
seats: string[],
when: // A day
{
    // The day
    day: "monday" | "tuesday",
    notes?: string[],
    },
choice:
 | string // a
 | number // b
,
flags: boolean | null,
anything: any,
}) => any;

type ping = () => any;

} // namespace functions`
	tools := readTools(text)
	if len(tools) != 2 || tools[0].description != "Book a table at a restaurant for some people" ||
		tools[1].name != "ping" || tools[1].params != nil {
		t.Fatalf("%+v", tools)
	}
	const reply = `Please book a table for 4 people at Luigi, on Tuesday evening`
	if got, ok := chooseTool(tools, reply); !ok || got.name != "book_table" {
		t.Errorf("chose %v %v", got.name, ok)
	}
	want := `{"restaurant":"Luigi","people":4,"seats":["Tuesday"],"when":{"day":"tuesday"},"choice":"evening",` +
		`"flags":true,"anything":"Luigi"}`
	if got := arguments(tools[0], reply); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got := arguments(tools[1], reply); got != "{}" {
		t.Errorf("no parameters: %s", got)
	}
	if _, ok := chooseTool(tools, "Tell me a joke"); ok {
		t.Error("a tool for a joke")
	}
	deep := "\nnamespace functions {\ntype deep = (_: {\na: " + strings.Repeat("{\na: ", 500) + "string"
	if got := readTools(deep); len(got) != 1 || !strings.HasPrefix(arguments(got[0], "x"), `{"a":{"a":`) {
		t.Errorf("deep: %d tools", len(got))
	}
}

func metricsText(t *testing.T, url string) string {
	t.Helper()
	return get(t, url+"/metrics")
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return itoa(resp.StatusCode) + " " + string(b)
}

func TestSideRoutes(t *testing.T) {
	s, url := start(t, Options{Models: []string{"a", "b"}, MaxModelLen: 8192})
	if got := get(t, url+"/v1/models"); !strings.Contains(got, `"id":"b"`) ||
		strings.Count(got, `"max_model_len":8192`) != 2 {
		t.Error(got)
	}
	if got := get(t, url+"/version"); got != `200 {"version":"`+Version+`"}` {
		t.Error(got)
	}
	for _, path := range []string{"/health", "/ping"} {
		s.SetHealthy(true)
		if got := get(t, url+path); got != "200 " {
			t.Error(path, got)
		}
		s.SetHealthy(false)
		if got := get(t, url+path); got != "503 " {
			t.Error(path, got)
		}
	}
	read(t, post(t, url, strings.Replace(body(hello, `,"stream":true`), "gpt-oss-120b", "a", 1)))
	await(t, s, completed)
	got := metricsText(t, url)
	for _, want := range []string{
		"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\",model_name=\"a\"} 0.0\n",
		"vllm:num_requests_waiting{engine=\"0\",model_name=\"a\"} 0.0\n",
		"vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a\"} 0.0\n",
		"vllm:prompt_tokens_total{engine=\"0\",model_name=\"a\"} " + itoa(len(encode(hello))) + ".0\n",
		"vllm:generation_tokens_total{engine=\"0\",model_name=\"a\"} ",
		"vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"a\"} 1.0\n",
		"vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\",model_name=\"a\"} 1.0\n",
		"vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"a\"} 1.0\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q missing in\n%s", want, got)
		}
	}
	s.SetLoad(&Load{Running: 7, Waiting: 3, KVCacheUsage: 0.5})
	got = metricsText(t, url)
	for _, want := range []string{"num_requests_running{engine=\"0\",model_name=\"a\"} 7.0",
		"num_requests_waiting{engine=\"0\",model_name=\"a\"} 3.0", "kv_cache_usage_perc{engine=\"0\",model_name=\"a\"} 0.5"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q missing", want)
		}
	}
}

// A request beyond the limit waits, with its headers sent, until another ends.
func TestWaiting(t *testing.T) {
	s, url := start(t, Options{MaxRunning: 1,
		Script: NewScript(Line{Tokens: encode("a<|return|>"), Fault: &Fault{Kind: FaultStall, After: 1}})})
	first := post(t, url, body(hello, `,"stream":true`))
	await(t, s, func(list []Request) bool { return len(list) == 1 && list[0].TokensSent == 1 })
	second := post(t, url, body(hello, `,"stream":true`))
	s.metrics.with(func(m *metrics) {
		if m.running != 1 {
			t.Errorf("%d running", m.running)
		}
	})
	first.Body.Close()
	if got := read(t, second); !got.done {
		t.Errorf("the second ended with %v", got.err)
	}
	if list := await(t, s, completed); !list[0].Aborted || list[1].Aborted {
		t.Errorf("%+v", list)
	}
}

func TestScript(t *testing.T) {
	script, err := ReadScript(strings.NewReader(`
# a comment
{"tokens":[1,2,3,200002],"chunks":[1,2]}
{"match":"<|message|>Hello there<|end|>","text":"matched<|return|>"}
{"text":"<|channel|>final<|message|>x","fault":"close:2","finish":"abort"}
`), o200k.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	_, url := start(t, Options{Script: script})
	const other = systemText + "<|start|>user<|message|>Other<|end|><|start|>assistant"
	opts := `,"stream":true,"return_token_ids":true,"skip_special_tokens":false`
	for range 2 {
		if got := read(t, post(t, url, body(hello, opts))); got.text != "matched" {
			t.Errorf("matched: %q", got.text)
		}
	}
	got := read(t, post(t, url, body(other, opts)))
	if len(got.events) != 3 || len(got.events[1].Choices[0].TokenIDs) != 2 || len(got.ids) != 4 {
		t.Errorf("first in order: %q", got.raw)
	}
	if got := read(t, post(t, url, body(other, opts))); got.err == nil || len(got.ids) != 2 {
		t.Errorf("second in order: %v %v", got.ids, got.err)
	}
	if got := read(t, post(t, url, body(other, opts))); !strings.Contains(got.text, "You said: Other.") {
		t.Errorf("after the script: %q", got.text)
	}
	for _, bad := range []string{`{"tokens":[1],"text":"x"}`, `{"chunks":[0]}`, `{"fault":"boom"}`, `{"unknown":1}`, `x`} {
		if _, err := ReadScript(strings.NewReader(bad), o200k.Tokenizer()); err == nil ||
			!strings.HasPrefix(err.Error(), "script line 1:") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Choices have indexes, and the last usage counts all of them.
func TestManyChoices(t *testing.T) {
	_, url := start(t, Options{TokensPerChunk: 3})
	got := read(t, post(t, url, body(hello, `,"stream":true,"n":3,"return_token_ids":true,`+
		`"stream_options":{"include_usage":true}`)))
	ids := map[int]int{}
	for _, e := range got.events {
		for _, c := range e.Choices {
			ids[c.Index] += len(c.TokenIDs)
		}
	}
	if len(ids) != 3 || ids[0] != ids[2] || got.events[len(got.events)-1].Usage.CompletionTokens != 3*ids[0] {
		t.Errorf("ids %v, usage %+v", ids, got.events[len(got.events)-1].Usage)
	}
}
