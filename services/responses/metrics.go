package responses

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// namespace begins the metrics' names.
const namespace = "harmony_responses"

// scrapeTimeout limits how long a scrape waits for the store.
const scrapeTimeout = 2 * time.Second

// metrics are the metrics of a service. Values that can be looked up are looked up at each scrape.
type metrics struct {
	service *Service

	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	ended        *prometheus.CounterVec
	turns, bytes prometheus.Histogram
	expired      prometheus.Counter
	storeSeconds *prometheus.HistogramVec
	storeErrors  *prometheus.CounterVec
	tools        toolMetrics
	relays       relayMetrics
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

var (
	inFlightDesc = desc("requests_in_flight", "Requests that are being handled.")
	memoryDesc   = desc("memory_bytes", "Memory that requests have taken, of the memory limit.")
	storeUpDesc  = desc("store_up", "1 when the store answers, else 0.")
	backlogDesc  = desc("background", "Responses in the background, of all replicas, by state: waiting or running.",
		"state")
	connectionsDesc = desc("store_connections", "Connections to the database, by state: idle or in_use.", "state")
	socketsDesc     = desc("websocket_connections", "WebSocket connections of clients.")
	allDescs        = []*prometheus.Desc{inFlightDesc, memoryDesc, storeUpDesc, backlogDesc, connectionsDesc, socketsDesc}

	requestTime = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	storeTime   = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	chainTurns  = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500}
	chainBytes  = []float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}
	statuses    = []string{items.Completed, items.Incomplete, items.Failed, items.Cancelled}
)

func newMetrics(s *Service) *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
	}
	m := &metrics{
		service: s,
		requests: prometheus.NewCounterVec(counter("requests_total", "Requests, at their end."),
			[]string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(histogram("request_seconds", "Time to the end of the answer or its stream.",
			requestTime), []string{"route"}),
		ended: prometheus.NewCounterVec(counter("responses_total", "Responses that have ended, by how."),
			[]string{"status"}),
		turns: prometheus.NewHistogram(histogram("chain_turns", "Responses in the chains that requests continue.",
			chainTurns)),
		bytes: prometheus.NewHistogram(histogram("chain_bytes",
			"Size of the items in the chains and conversations that requests continue.", chainBytes)),
		expired: prometheus.NewCounter(counter("expired_total", "Expired responses that this replica has removed.")),
		storeSeconds: prometheus.NewHistogramVec(histogram("store_seconds", "Time of the database's operations.",
			storeTime),
			[]string{"operation"}),
		storeErrors: prometheus.NewCounterVec(counter("store_errors_total", "Operations that failed in the database."),
			[]string{"operation"}),
	}
	m.tools, m.relays = newToolMetrics(), newRelayMetrics()
	for _, status := range statuses { // so that a counter is there before its first event
		m.ended.WithLabelValues(status)
	}
	return m
}

func (m *metrics) stored() []prometheus.Collector {
	all := append([]prometheus.Collector{m.requests, m.seconds, m.ended, m.turns, m.bytes, m.expired, m.storeSeconds,
		m.storeErrors}, m.tools.collectors()...)
	return append(all, m.relays.collectors()...)
}

// answered counts a request. route is the pattern of its path.
func (m *metrics) answered(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// Finished counts a response that has ended.
func (m *metrics) Finished(status string) { m.ended.WithLabelValues(status).Inc() }

// Continued counts what a request continues.
func (m *metrics) Continued(past *store.Past) {
	if past.Turns == 0 && !past.InConversation() {
		return
	}
	if past.Turns > 0 {
		m.turns.Observe(float64(past.Turns))
	}
	size := 0
	for i := range past.Items {
		size += len(past.Items[i].Body)
	}
	m.bytes.Observe(float64(size))
}

// operation counts an operation of the database.
func (m *metrics) operation(name string, took time.Duration, err error) {
	m.storeSeconds.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.storeErrors.WithLabelValues(name).Inc()
	}
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(c chan<- *prometheus.Desc) {
	for _, d := range allDescs {
		c <- d
	}
	for _, each := range m.stored() {
		each.Describe(c)
	}
}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(c chan<- prometheus.Metric) {
	m.lookUp(c)
	for _, each := range m.stored() {
		each.Collect(c)
	}
}

// lookUp collects what is true now.
func (m *metrics) lookUp(c chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(inFlightDesc, float64(m.service.inFlight.InUse()))
	gauge(memoryDesc, float64(m.service.memory.InUse()))
	gauge(socketsDesc, float64(m.service.sockets.Open()))
	st := m.service.database.Load()
	if st == nil {
		gauge(storeUpDesc, 0)
		return
	}
	open, inUse := st.Connections()
	gauge(connectionsDesc, float64(open-inUse), "idle")
	gauge(connectionsDesc, float64(inUse), "in_use")
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	waiting, running, err := st.Backlog(ctx)
	if err != nil {
		gauge(storeUpDesc, 0)
		return
	}
	gauge(storeUpDesc, 1)
	gauge(backlogDesc, float64(waiting), "waiting")
	gauge(backlogDesc, float64(running), "running")
}

// Metrics returns the metrics of the service, for a registry of the caller's.
func (s *Service) Metrics() prometheus.Collector { return s.metrics }
