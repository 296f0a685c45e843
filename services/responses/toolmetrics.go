package responses

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// toolMetrics are the metrics of tools. Servers that requests name share one label.
type toolMetrics struct {
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	listings *prometheus.CounterVec
	rounds   prometheus.Histogram
}

var (
	toolTime   = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}
	roundCount = []float64{1, 2, 3, 5, 8, 13, 21, 34}
)

func newToolMetrics() toolMetrics {
	return toolMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "tool_calls_total",
			Help: "Calls of tools, by the server's label and how they ended: completed, error, failed or timeout."},
			[]string{"server", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "tool_seconds",
			Help: "Time of calls of tools.", Buckets: toolTime}, []string{"server"}),
		listings: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "tool_listings_total",
			Help: "Lists of tools that requests needed, by the server's label and how they ended: completed or failed."},
			[]string{"server", "outcome"}),
		rounds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "tool_rounds",
			Help: "Rounds of responses with tools of the service's.", Buckets: roundCount}),
	}
}

func (m *toolMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.seconds, m.listings, m.rounds}
}

// CalledTool counts a call.
func (m *metrics) CalledTool(server, outcome string, took time.Duration) {
	m.tools.calls.WithLabelValues(server, outcome).Inc()
	m.tools.seconds.WithLabelValues(server).Observe(took.Seconds())
}

// ListedTools counts a list of tools.
func (m *metrics) ListedTools(server, outcome string) {
	m.tools.listings.WithLabelValues(server, outcome).Inc()
}

// Rounded counts the rounds of a response.
func (m *metrics) Rounded(rounds int) { m.tools.rounds.Observe(float64(rounds)) }
