package sim

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wordsPrompt returns a prompt of more than n tokens, of which the first of its message tells it from others.
func wordsPrompt(first string, n int) string {
	return "<|start|>user<|message|>" + first + strings.Repeat(" river", n) + "<|end|><|start|>assistant"
}

// short is the end of a request whose answer fits into a small cache.
const short = `,"max_tokens":400`

func batchOptions() Options {
	return Options{CacheBlocks: 200, PromptTokensDetails: true,
		Script: NewScript(Line{Match: " river", Tokens: encode("<|channel|>final<|message|>one two three four<|return|>")})}
}

// cachedOf returns how many tokens of a prompt an answer says were cached.
func cachedOf(t *testing.T, url, prompt, more string) int {
	t.Helper()
	var e event
	answer, err := io.ReadAll(post(t, url, body(prompt, more+short)).Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &e); err != nil || e.Usage == nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return e.Usage.PromptTokensDetails.CachedTokens
}

// TestBatchedCache asks a server whose cache is smaller than all prompts.
func TestBatchedCache(t *testing.T) {
	s, url := start(t, batchOptions())
	a, b := wordsPrompt("a", 1600), wordsPrompt("b", 1600) // 100 blocks each, and one in part
	for i, c := range []struct {
		prompt, more string
		cached       int
	}{
		{a, "", 0}, {a, "", 1600}, {a, `,"cache_salt":"x"`, 0}, {b, "", 0}, {b, `,"n":2`, 1600}, {a, "", 0},
	} {
		if got := cachedOf(t, url, c.prompt, c.more); got != c.cached {
			t.Errorf("request %d: %d tokens cached, want %d", i, got, c.cached)
		}
	}
	got := metricsText(t, url)
	n := len(encode(a))
	for _, want := range []string{"vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"gpt-oss-120b\"} 4800.0\n",
		"vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"gpt-oss-120b\"} " + strconv.Itoa(7*n) + ".0\n",
		"vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"gpt-oss-120b\"} 0.0\n",
		"vllm:num_requests_running{engine=\"0\",model_name=\"gpt-oss-120b\"} 0.0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q missing in\n%s", want, got)
		}
	}
	if list := s.Requests(); list[1].CachedTokens != 1600 {
		t.Errorf("recorded %d", list[1].CachedTokens)
	}
	if got := get(t, url+"/v1/models"); !strings.Contains(got, `"max_model_len":`+strconv.Itoa(199*16)+"}") {
		t.Errorf("the context is not what the cache holds: %s", got)
	}
}

// TestBatchedTime asks for a prompt and for one that is cached: only the first has to be read.
func TestBatchedTime(t *testing.T) {
	o := batchOptions()
	o.PrefillRate, o.StepTime = 8000, 5*time.Millisecond
	_, url := start(t, o)
	a := wordsPrompt("a", 1600)
	took := func() time.Duration {
		begin := time.Now()
		if got := read(t, post(t, url, body(a, `,"stream":true`+short))); !got.done || len(got.events) < 5 {
			t.Fatalf("%d events, %v", len(got.events), got.err)
		}
		return time.Since(begin)
	}
	if first := took(); first < 200*time.Millisecond {
		t.Errorf("1,600 tokens at 8,000 a second took %v", first)
	}
	if second := took(); second < 30*time.Millisecond {
		t.Errorf("7 steps of 5 ms took %v", second)
	}
}

// TestBatchedAbort cuts a request. Its place is free at once.
func TestBatchedAbort(t *testing.T) {
	o := batchOptions()
	o.MaxRunning, o.StepTime = 1, time.Hour
	s, url := start(t, o)
	first := post(t, url, body(wordsPrompt("a", 100), `,"stream":true`+short))
	second := post(t, url, body(wordsPrompt("b", 100), `,"stream":true`+short))
	first.Body.Close()
	await(t, s, func(list []Request) bool { return len(list) == 2 && list[0].Aborted })
	s.Release()
	if got := read(t, second); !got.done {
		t.Errorf("the second ended with %v", got.err)
	}
	await(t, s, completed)
	got := metricsText(t, url)
	for _, gauge := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"} {
		if want := "vllm:" + gauge + "{engine=\"0\",model_name=\"gpt-oss-120b\"} 0.0\n"; !strings.Contains(got, want) {
			t.Errorf("at the end %q is missing in\n%s", want, got)
		}
	}
}

// TestBatchedPreemption lets three answers grow beyond the cache. All of them end.
func TestBatchedPreemption(t *testing.T) {
	o := batchOptions()
	o.CacheBlocks, o.StepTime = 42, time.Millisecond
	o.Script = NewScript(Line{Match: " river",
		Tokens: encode("<|channel|>final<|message|>" + strings.Repeat(" stone", 300) + "<|return|>")})
	_, url := start(t, o)
	done := make(chan string)
	for _, name := range []string{"a", "b", "c"} {
		go func() {
			got := read(t, post(t, url, body(wordsPrompt(name, 150), `,"stream":true`+short)))
			done <- got.text
		}()
	}
	for range 3 {
		if text := <-done; text != "final"+strings.Repeat(" stone", 300) {
			t.Errorf("a text of %d bytes", len(text))
		}
	}
	if got := metricsText(t, url); strings.Contains(got, "num_preemptions_total{engine=\"0\",model_name=\"gpt-oss-120b\"} 0.0") {
		t.Error("no preemption is told")
	}
}
