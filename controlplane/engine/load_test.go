package engine

import (
	"bytes"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim"
)

// TestLoad checks the gauges of each program, in the pages of real servers and in the simulator's.
func TestLoad(t *testing.T) {
	for name, tt := range map[string]struct {
		program, metrics string
		want             Load
	}{
		// The captured page is of llama-server of llama.cpp b1-0c1e57098 with one request running and one waiting.
		"llama.cpp": {LlamaCPP, file(t, "llamacpp.metrics"), Load{1, 1, -1}},
		// As SGLang writes them with --enable-priority-scheduling and --enable-metrics-for-all-schedulers, made by hand.
		"SGLang":       {SGLang, file(t, "sglang.metrics"), Load{14, 2, 0.28}},
		"SGLang's sim": {SGLang, simulated(t, sim.SGLang), Load{3, 2, 0.5}},
		"vLLM's sim":   {VLLM, simulated(t, sim.VLLM), Load{3, 2, 0.5}},
		"engines of one server": {VLLM, "vllm:num_requests_running{engine=\"0\",model_name=\"a} b\"} 2.0\n" +
			"vllm:num_requests_running{engine=\"1\"} 1.0 1700000000000\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n" +
			"vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n", Load{3, -1, 0.75}},
		"TensorRT-LLM": {TRTLLM, "trtllm_num_requests_running{model_name=\"m\"} 4.0\n" +
			"trtllm_num_requests_waiting{model_name=\"m\"} 1.0\ntrtllm_kv_cache_utilization{model_name=\"m\"} 0.1\n",
			Load{4, 1, 0.1}},
		"no numbers": {VLLM, "vllm:num_requests_running NaN\nvllm:num_requests_running\nvllm:num_requests_waiting{ 1\n" +
			"vllm:num_requests_waiting -1\nvllm:num_requests_waiting 1e300\n{} 1\n\n", Load{-1, -1, -1}},
		"a page of HTML": {VLLM, "<html>", Load{-1, -1, -1}},
	} {
		if got := Named(tt.program).Load.Read([]byte(tt.metrics)); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
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
			if l := engines[i].Load.Read(page); l.Running < -1 || l.Waiting < -1 || l.Cache < -1 {
				t.Errorf("got %+v", l)
			}
		}
	})
}
