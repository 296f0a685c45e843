package sim

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

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
	return strconv.Itoa(resp.StatusCode) + " " + string(b)
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
		"vllm:prompt_tokens_total{engine=\"0\",model_name=\"a\"} " + strconv.Itoa(len(encode(hello))) + ".0\n",
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
	const running = "vllm:num_requests_running{engine=\"0\",model_name=\"gpt-oss-120b\"} 1.0\n"
	if got := metricsText(t, url); !strings.Contains(got, running) {
		t.Errorf("not one is running:\n%s", got)
	}
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
