package server

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// Load holds the values of the load gauges of /metrics.
type Load struct {
	Running, Waiting int
	KVCacheUsage     float64 // 0 to 1
}

// Metrics holds the counts of /metrics.
type Metrics struct {
	mu               sync.Mutex
	running, waiting int
	kvTokens         int
	fixed            *Load
	prompt, output   int
	queries, hits    int
	finished         map[string]int
	ttft, e2e        histogram
	batching         *batching // nil if requests are not computed in batches
}

type histogram struct {
	bounds []float64
	counts []int // one more than bounds
	sum    float64
}

func newMetrics() *Metrics {
	h := func(bounds ...float64) histogram {
		return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
	}
	return &Metrics{
		finished: map[string]int{},
		ttft: h(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
			160, 640, 2560),
		e2e: h(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680),
	}
}

func (h *histogram) observe(d time.Duration) {
	v, i := d.Seconds(), 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
}

func (m *Metrics) with(change func(*Metrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// SetLoad makes /metrics report this load instead of the true one. With nil it reports the true load again.
func (s *Server) SetLoad(l *Load) { s.Metrics.with(func(m *Metrics) { m.fixed = l }) }

// load returns the load that /metrics reports. The caller holds the lock.
func (m *Metrics) load(capacity int) Load {
	if m.fixed != nil {
		return *m.fixed
	}
	if m.batching != nil {
		return m.batching.state().load
	}
	return Load{Running: m.running, Waiting: m.waiting, KVCacheUsage: min(float64(m.kvTokens)/float64(capacity), 1)}
}

// prefixes returns how many tokens of prompts were looked up in the cache, how many of them were there, and how many
// requests had to leave the batch. The caller holds the lock.
func (m *Metrics) prefixes() batch.Counts {
	if m.batching != nil {
		return m.batching.state().counts
	}
	return batch.Counts{Queries: m.queries, Hits: m.hits}
}

// Write prints vLLM's Prometheus text.
func (m *Metrics) Write(w io.Writer, model string, capacity int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	load, prefixes := m.load(capacity), m.prefixes()
	labels := `engine="0",model_name=` + strconv.Quote(model)
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, v float64) {
		if kind == "counter" {
			name += "_total"
		}
		head(name, kind, help)
		fmt.Fprintf(w, "vllm:%s{%s} %s\n", name, labels, Number(v))
	}
	one("num_requests_running", "gauge", "Number of requests in model execution batches.", float64(load.Running))
	one("num_requests_waiting", "gauge", "Number of requests waiting to be processed.", float64(load.Waiting))
	one("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", load.KVCacheUsage)
	one("prefix_cache_queries", "counter", "Prefix cache queries, in terms of number of queried tokens.",
		float64(prefixes.Queries))
	one("prefix_cache_hits", "counter", "Prefix cache hits, in terms of number of cached tokens.", float64(prefixes.Hits))
	one("num_preemptions", "counter", "Cumulative number of preemption from the engine.",
		float64(prefixes.Preemptions))
	one("prompt_tokens", "counter", "Number of prefill tokens processed.", float64(m.prompt))
	one("generation_tokens", "counter", "Number of generation tokens processed.", float64(m.output))
	head("request_success_total", "counter", "Count of successfully processed requests.")
	for _, reason := range []string{"stop", "length", "abort", "error", "repetition"} {
		fmt.Fprintf(w, "vllm:request_success_total{engine=\"0\",finished_reason=%q,model_name=%s} %s\n",
			reason, strconv.Quote(model), Number(float64(m.finished[reason])))
	}
	series := func(name, help string, h *histogram) {
		head(name, "histogram", help)
		total := 0
		for i, n := range h.counts {
			total += n
			le := "+Inf"
			if i < len(h.bounds) {
				le = Number(h.bounds[i])
			}
			fmt.Fprintf(w, "vllm:%s_bucket{engine=\"0\",le=%q,model_name=%s} %s\n", name, le, strconv.Quote(model),
				Number(float64(total)))
		}
		fmt.Fprintf(w, "vllm:%s_count{%s} %s\nvllm:%s_sum{%s} %s\n", name, labels, Number(float64(total)), name, labels,
			Number(h.sum))
	}
	series("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &m.ttft)
	series("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &m.e2e)
}

// Number formats a number as the Python client does: always with a decimal point.
func Number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if v == float64(int64(v)) && v < 1e15 {
		return strconv.FormatInt(int64(v), 10) + ".0"
	}
	return s
}

// Counts are the values of [Metrics] that servers of several kinds report.
type Counts struct {
	Load
	// Prompt and Output are tokens. Hits are tokens of prompts that were in the cache, and Preemptions how many requests
	// had to leave the batch.
	Prompt, Output, Hits, Preemptions int
}

// Counts returns the values. capacity is the cache's, in tokens.
func (m *Metrics) Counts(capacity int) Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefixes := m.prefixes()
	return Counts{Load: m.load(capacity), Prompt: m.prompt, Output: m.output, Hits: prefixes.Hits,
		Preemptions: prefixes.Preemptions}
}
