package picker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the picker's metrics for Prometheus. Their series grow with the pools, and not with the servers.
type metrics struct {
	picker   *Picker
	duration prometheus.Histogram
	unknowns prometheus.Counter
}

var (
	requestsDesc = prometheus.NewDesc("harmony_picker_requests_total",
		"Requests for which a server was chosen, by the reason of the first choice: prefix, balance or load.",
		[]string{"pool", "reason"}, nil)
	unservedDesc = prometheus.NewDesc("harmony_picker_unserved_total",
		"Requests for which there was no server to choose.", []string{"pool"}, nil)
	movedDesc = prometheus.NewDesc("harmony_picker_moved_total",
		"Requests that another server than the first choice has answered.", []string{"pool"}, nil)
	blocksDesc = prometheus.NewDesc("harmony_picker_blocks_total",
		"Blocks of the prompts that were asked for.", []string{"pool"}, nil)
	foundDesc = prometheus.NewDesc("harmony_picker_blocks_found_total",
		"Blocks of the prompts that the first choice was taken to have.", []string{"pool"}, nil)
	runningDesc = prometheus.NewDesc("harmony_picker_running",
		"Requests that run on the pool's servers, of those that were sent from here.", []string{"pool"}, nil)
	indexDesc = prometheus.NewDesc("harmony_picker_index_blocks",
		"Blocks that the pool's servers are taken to have.", []string{"pool"}, nil)
	serversDesc = prometheus.NewDesc("harmony_picker_servers",
		"Servers that may be chosen.", []string{"pool"}, nil)
)

// The metrics of queues. Autoscalers go by the first three (docs/overload.md).
var (
	queuedDesc = prometheus.NewDesc("harmony_queue_requests", "Requests that wait for a server.",
		[]string{"pool", "class"}, nil)
	queuedTokensDesc = prometheus.NewDesc("harmony_queue_tokens", "Tokens that the waiting requests cost.",
		[]string{"pool", "class"}, nil)
	oldestDesc = prometheus.NewDesc("harmony_queue_oldest_seconds", "How long the oldest waiting request has waited.",
		[]string{"pool", "class"}, nil)
	deadlineDesc = prometheus.NewDesc("harmony_queue_deadline_seconds",
		"How long a request waits at most while there is a server.", []string{"pool", "class"}, nil)
	heldDesc = prometheus.NewDesc("harmony_queue_held", "1 while the pool has no server that is ready, else 0.",
		[]string{"pool"}, nil)
	queuedBytesDesc = prometheus.NewDesc("harmony_queue_bytes", "Bytes of the waiting requests' bodies.",
		[]string{"pool", "class"}, nil)
	endedDesc = prometheus.NewDesc("harmony_queue_requests_total",
		"Requests whose stay in the queue has ended, by how: admitted, left, or why they were refused.",
		[]string{"pool", "class", "result"}, nil)
	waitedDesc = prometheus.NewDesc("harmony_queue_wait_seconds", "How long admitted requests have waited.",
		[]string{"pool", "class"}, nil)
)

func newMetrics(p *Picker) *metrics {
	return &metrics{picker: p,
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "harmony_picker_choice_seconds",
			Help:    "Time that a choice takes, without the way to Envoy.",
			Buckets: []float64{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1}}),
		unknowns: prometheus.NewCounter(prometheus.CounterOpts{Name: "harmony_picker_unknown_pool_total",
			Help: "Requests of pools that this picker does not know."}),
	}
}

func (m *metrics) took(d time.Duration) { m.duration.Observe(d.Seconds()) }
func (m *metrics) unknown()             { m.unknowns.Inc() }

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	m.duration.Collect(to)
	m.unknowns.Collect(to)
	for name, s := range m.picker.status() {
		counter := func(desc *prometheus.Desc, n uint64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), append([]string{name}, labels...)...)
		}
		gauge := func(desc *prometheus.Desc, n int) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), name)
		}
		for i, reason := range reasons {
			counter(requestsDesc, s.counts.requests[i], string(reason))
		}
		counter(unservedDesc, s.counts.unserved)
		counter(movedDesc, s.counts.moved)
		counter(blocksDesc, s.counts.blocks)
		counter(foundDesc, s.counts.foundOfFirst)
		running, blocks := 0, 0
		for i := range s.servers {
			running += s.servers[i].Running
			blocks += s.servers[i].Blocks
		}
		gauge(runningDesc, running)
		gauge(indexDesc, blocks)
		gauge(serversDesc, len(s.servers))
		if s.queue != nil {
			collectQueue(to, name, s.queue)
		}
	}
}

func collectQueue(to chan<- prometheus.Metric, pool string, q *QueueStatus) {
	held := 0.0
	if q.Held {
		held = 1
	}
	to <- prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, held, pool)
	for i := range q.Classes {
		c := &q.Classes[i]
		for desc, n := range map[*prometheus.Desc]float64{queuedDesc: float64(c.Requests),
			queuedTokensDesc: float64(c.Tokens),
			queuedBytesDesc:  float64(c.Bytes), oldestDesc: float64(c.OldestMS) / 1000,
			deadlineDesc: float64(c.DeadlineMS) / 1000} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, n, pool, c.Name)
		}
		for result, n := range c.Ended {
			to <- prometheus.MustNewConstMetric(endedDesc, prometheus.CounterValue, float64(n), pool, c.Name, result)
		}
		buckets := map[float64]uint64{}
		for j, bound := range waitBuckets {
			n := uint64(0)
			if c.waits.buckets != nil {
				n = c.waits.buckets[j]
			}
			buckets[bound] = n
		}
		to <- prometheus.MustNewConstHistogram(waitedDesc, c.waits.count, c.waits.sum, buckets, pool, c.Name)
	}
}
