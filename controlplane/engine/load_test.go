package engine

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim"
)

// TestLoad checks the gauges of each program, in the pages of real servers and in the simulator's.
func TestLoad(t *testing.T) {
	for name, tt := range map[string]struct {
		program, metrics string
		want             Load // of requests and of the cache
	}{
		// The captured page is of llama-server of llama.cpp b1-0c1e57098 with one request running and one waiting.
		"llama.cpp": {LlamaCPP, file(t, "llamacpp.metrics"), Load{Running: 1, Waiting: 1, Cache: -1}},
		// As SGLang writes them with --enable-priority-scheduling and --enable-metrics-for-all-schedulers, made by hand.
		"SGLang":       {SGLang, file(t, "sglang.metrics"), Load{Running: 14, Waiting: 2, Cache: 0.28}},
		"SGLang's sim": {SGLang, simulated(t, sim.SGLang), Load{Running: 3, Waiting: 2, Cache: 0.5}},
		"vLLM's sim":   {VLLM, simulated(t, sim.VLLM), Load{Running: 3, Waiting: 2, Cache: 0.5}},
		"engines of one server": {VLLM, "vllm:num_requests_running{engine=\"0\",model_name=\"a} b\"} 2.0\n" +
			"vllm:num_requests_running{engine=\"1\"} 1.0 1700000000000\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n" +
			"vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n", Load{Running: 3, Waiting: -1, Cache: 0.75}},
		"TensorRT-LLM": {TRTLLM, "trtllm_num_requests_running{model_name=\"m\"} 4.0\n" +
			"trtllm_num_requests_waiting{model_name=\"m\"} 1.0\ntrtllm_kv_cache_utilization{model_name=\"m\"} 0.1\n",
			Load{Running: 4, Waiting: 1, Cache: 0.1}},
		"no numbers": {VLLM, "vllm:num_requests_running NaN\nvllm:num_requests_running\nvllm:num_requests_waiting{ 1\n" +
			"vllm:num_requests_waiting -1\nvllm:num_requests_waiting 1e300\n{} 1\n\n", Load{Running: -1, Waiting: -1,
			Cache: -1}},
		"a page of HTML": {VLLM, "<html>", Load{Running: -1, Waiting: -1, Cache: -1}},
	} {
		all := Named(tt.program).Load.Read([]byte(tt.metrics))
		if got := (Load{Running: all.Running, Waiting: all.Waiting, Cache: all.Cache}); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
		// A long line is not read, and the rest is.
		long := "# " + strings.Repeat("vllm:num_requests_running 9 ", longestLine/10) + "\n" + tt.metrics
		if streamed, err := Named(tt.program).Load.ReadPage(strings.NewReader(long)); err != nil || streamed != all {
			t.Errorf("%s: read as a stream: %+v, %v; want %+v", name, streamed, err, all)
		}
	}
}

// TestCounters checks what is counted since the start of a server, and that a number that is not told is unknown.
func TestCounters(t *testing.T) {
	none := noLoad()
	for name, tt := range map[string]struct {
		program, metrics string
		want             func(*Load)
	}{
		"vLLM": {VLLM, `vllm:num_preemptions_total{engine="0"} 2.0
vllm:num_preemptions_total{engine="1"} 3.0
vllm:num_preemptions_created{engine="0"} 1.7e+09
vllm:prefix_cache_queries_total{engine="0"} 8.128902e+12
vllm:prefix_cache_hits_total{engine="0"} 4e+12
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3"} 7.0
vllm:request_queue_time_seconds_count{engine="0"} 8.0
vllm:request_queue_time_seconds_sum{engine="0"} 0.5
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.3"} 7.0
vllm:time_to_first_token_seconds_count{engine="0"} 9.0
vllm:time_to_first_token_seconds_sum{engine="0"} 4.5
`, func(l *Load) {
			l.Preemptions, l.Queries, l.Hits, l.QueueTime, l.Queued = 5, 8.128902e+12, 4e+12, 0.5, 8
			l.FirstToken, l.FirstTokens = 4.5, 9
		}},
		"SGLang": {SGLang, `sglang:num_retracted_reqs{tp_rank="0"} 7.0
sglang:num_retracted_requests_total{tp_rank="0"} 2.0
sglang:num_retracted_requests_total{tp_rank="1"} 2.0
sglang:prompt_tokens_total{tp_rank="0"} 100.0
sglang:cached_tokens_total{tp_rank="0"} 30.0
sglang:queue_time_seconds_sum 1.5
sglang:queue_time_seconds_count 3
`, func(l *Load) { l.Preemptions, l.Queries, l.Hits, l.QueueTime, l.Queued = 2, 100, 30, 1.5, 3 }},
		"TensorRT-LLM": {TRTLLM, "trtllm_prompt_tokens_total 10\ntrtllm_prompt_cached_tokens_total 4\n",
			func(l *Load) { l.Queries, l.Hits = 10, 4 }},
		"more than any server": {VLLM, "vllm:num_preemptions_total 1e15\nvllm:prefix_cache_hits_total -1\n", func(*Load) {}},
	} {
		want := none
		tt.want(&want)
		if got := Named(tt.program).Load.Read([]byte(tt.metrics)); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if none.Known() || !(&Load{Running: -1}).Known() {
		t.Error("a server is known that tells nothing, or one is not that tells how many requests wait")
	}
}

// BenchmarkReadFrom measures the reading of a page as large as vLLM's.
func BenchmarkReadFrom(b *testing.B) {
	var page strings.Builder
	page.WriteString("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n")
	for page.Len() < 80<<10 {
		page.WriteString("vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.025\",model_name=\"m\"} 812.0\n")
	}
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if l, err := Named(VLLM).Load.ReadPage(strings.NewReader(page.String())); err != nil || l.Running != 3 {
			b.Fatal(l, err)
		}
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// simulated returns the metrics of a simulated server with 3 requests running and 2 waiting.
func simulated(t *testing.T, kind string) string {
	t.Helper()
	s := sim.New(sim.Options{Kind: kind})
	t.Cleanup(s.Close)
	s.SetLoad(&sim.Load{Running: 3, Waiting: 2, KVCacheUsage: 0.5})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return string(bytes.Clone(w.Body.Bytes()))
}

// FuzzMetrics checks that no page of metrics breaks the reader.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE a gauge\nvllm:num_requests_running{engine=\"0\"} 1.0\nb{} 2 3"))
	f.Fuzz(func(t *testing.T, page []byte) {
		for i := range engines {
			l := engines[i].Load.Read(page)
			if l.Running < -1 || l.Waiting < -1 || l.Cache < -1 || l.Hits < -1 || l.Queued < -1 {
				t.Errorf("got %+v", l)
			}
			streamed, err := engines[i].Load.ReadPage(bytes.NewReader(page))
			if len(page) < longestLine && (err != nil || streamed != l) {
				t.Errorf("got %+v, and %+v as a stream: %v", l, streamed, err)
			}
		}
	})
}
