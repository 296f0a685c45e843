package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
)

const namespace = "harmony_controlplane"

// metrics are the metrics of the server, in a registry of their own. Values that can be looked up are looked up at each
// scrape, so that no series remains of a pool or server that was removed.
type metrics struct {
	server   *Server
	registry *prometheus.Registry

	loads      *prometheus.CounterVec
	filters    *prometheus.CounterVec
	saves      *prometheus.CounterVec
	rollouts   *prometheus.CounterVec
	acceptance prometheus.Histogram
	// weightPushes counts the pushes of weights alone.
	weightPushes prometheus.Counter
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

var (
	envoysDesc    = desc("envoys", "Envoys that are connected.")
	expectedDesc  = desc("envoys_expected", "Envoys that should be connected, where the configuration says how many.")
	currentDesc   = desc("envoys_current", "Envoys that have accepted all of the present resources.")
	responsesDesc = desc("responses_total",
		"Envoys' answers to responses, by the type of resource: accepted or refused.", "type", "result")
	metricsDesc = desc("envoy_metrics_total",
		"Envoys' pushes of metrics for the page: accepted or refused.", "result")
	pushesDesc  = desc("pushes_total", "Responses sent to Envoys, by the type of resource.", "type")
	serversDesc = desc("servers", "Servers of each pool, by whether they serve its models and can be reached.", "pool",
		"state")
	vocabularyDesc = desc("other_vocabulary_servers", "Servers of each pool that have another vocabulary than gpt-oss.",
		"pool")
	certificateDesc = desc("certificate_expires_seconds", "Seconds until the first certificate of a file expires.", "file")
	serviceDesc     = desc("service_up", "1 when a service that Envoys need beside the inference servers works, else 0.",
		"service", "url")
	refusingDesc = desc("refusing_servers", "Servers of each pool that refuse all requests, by the cause: the pool's "+
		"credentials, the path of its kind, or prompts of token ids.", "pool", "cause")
	lostTagsDesc = desc("lost_tags_servers", "Servers of each pool that do not hold answers to structural tags: they pass "+
		"them over (dropped) or refuse them.", "pool", "tags")
	shortDesc = desc("short_context_servers",
		"Servers of each pool whose context is smaller than the context_length of a model.", "pool", "model")
	poolUpDesc  = desc("pool_up", "0 when no server of a pool that models need is reachable and ready, else 1.", "pool")
	validDesc   = desc("config_valid", "1 when the configuration that was read last is in force, else 0.")
	loadedDesc  = desc("config_loaded_timestamp_seconds", "When the configuration in force was read.")
	filterDesc  = desc("filter_valid", "1 when the filter's file as it is now is in force, else 0.")
	infoDesc    = desc("filter_info", "1 for the filter that Envoys get from here.", "version", "sha256")
	rolloutDesc = desc("rollout_envoys", "Envoys that are connected while a rollout is watched, by the filter that they are "+
		"to have.", "filter")
	pushedDesc = desc("snapshot_pushed_timestamp_seconds", "When the resources that Envoys get were first pushed.")
	allDescs   = []*prometheus.Desc{envoysDesc, expectedDesc, currentDesc, responsesDesc, pushesDesc, serversDesc, vocabularyDesc,
		refusingDesc, lostTagsDesc, shortDesc, serviceDesc, certificateDesc,
		poolUpDesc, metricsDesc, loadDesc, cacheDesc, knownDesc, lightDesc, askedDesc,
		validDesc, loadedDesc, filterDesc, infoDesc, rolloutDesc, pushedDesc}
	results        = []string{"accepted", "refused"}
	outcomes       = []string{"ok", "failed"}
	states         = []pools.State{pools.Ready, pools.NotReady, Unreachable, pools.Unknown, Draining}
	acceptanceTime = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
)

func newMetrics(s *Server) *metrics {
	m := &metrics{
		server: s, registry: prometheus.NewRegistry(),
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "config_loads_total",
			Help: "How often the configuration was read: ok, or failed and not in force.",
		}, []string{"result"}),
		filters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "filter_loads_total",
			Help: "How often the filter's file was read: ok, or failed and not in force.",
		}, []string{"result"}),
		saves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "snapshot_saves_total", Help: "How often the last good snapshot was written to disk.",
		}, []string{"result"}),
		rollouts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "rollouts_total",
			Help: "Rollouts of another filter, by what has become of them: begun, done or taken_back.",
		}, []string{"result"}),
		acceptance: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "push_to_accept_seconds", Buckets: acceptanceTime,
			Help: "Time from a push until every connected Envoy has accepted everything. A push that an Envoy refuses is not " +
				"counted.",
		}),
	}
	m.weightPushes = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "weight_pushes_total",
		Help: "How often Envoys were sent other weights of servers, without another change.",
	})
	for _, o := range outcomes { // so that a counter is there before its first event
		m.loads.WithLabelValues(o)
		m.filters.WithLabelValues(o)
		m.saves.WithLabelValues(o)
	}
	for _, result := range []string{rolloutBegun, string(rollout.Done), string(rollout.TakenBack)} {
		m.rollouts.WithLabelValues(result)
	}
	m.registry.MustRegister(
		m, m.loads, m.filters, m.saves, m.rollouts, m.acceptance, m.weightPushes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registry.MustRegister(s.options.Collectors...)
	return m
}

func (m *metrics) loaded(err error)             { m.loads.WithLabelValues(outcome(err)).Inc() }
func (m *metrics) moduleLoaded(err error)       { m.filters.WithLabelValues(outcome(err)).Inc() }
func (m *metrics) saved(err error)              { m.saves.WithLabelValues(outcome(err)).Inc() }
func (m *metrics) rolled(result string)         { m.rollouts.WithLabelValues(result).Inc() }
func (m *metrics) accepted(after time.Duration) { m.acceptance.Observe(after.Seconds()) }

func outcome(err error) string {
	if err != nil {
		return outcomes[1]
	}
	return outcomes[0]
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(c chan<- *prometheus.Desc) {
	for _, d := range allDescs {
		c <- d
	}
}

// sender sends the metrics of one scrape.
type sender chan<- prometheus.Metric

func (c sender) gauge(d *prometheus.Desc, value float64, labels ...string) {
	c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (c sender) counter(d *prometheus.Desc, value uint64, labels ...string) {
	c <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(c chan<- prometheus.Metric) {
	status, to := m.server.Status(), sender(c)
	m.collectEnvoys(to, &status)
	for i := range status.Pools {
		collectPool(to, &status.Pools[i])
	}
	for _, one := range status.Certificates {
		to.gauge(certificateDesc, time.Until(one.Expires).Seconds(), one.File)
	}
	for _, one := range status.Services {
		to.gauge(serviceDesc, oneIf(one.Problem == ""), one.Name, one.URL)
	}
	collectLoads(status.Pools, to.gauge)
	told, failed := m.server.samples()
	to.counter(askedDesc, told, outcomes[0])
	to.counter(askedDesc, failed, outcomes[1])
	collectFiles(to, &status)
	fresh := 0 // Envoys of a rollout
	if r := status.Rollout; r != nil {
		fresh = r.Envoys
	}
	to.gauge(rolloutDesc, float64(fresh), "new")
	to.gauge(rolloutDesc, float64(len(status.Envoys)-fresh), "old")
	to.gauge(pushedDesc, unix(status.Snapshot.Pushed))
}

// collectEnvoys sends what Envoys got, and what they made of it.
func (m *metrics) collectEnvoys(to sender, status *Status) {
	current, counts := 0, m.server.ads.Counts()
	for i := range status.Envoys {
		if status.Envoys[i].Current {
			current++
		}
	}
	to.gauge(envoysDesc, float64(len(status.Envoys)))
	if status.ExpectedEnvoys > 0 {
		to.gauge(expectedDesc, float64(status.ExpectedEnvoys))
	}
	to.gauge(currentDesc, float64(current))
	for _, t := range ads.Types() {
		to.counter(responsesDesc, counts[t].Accepted, t, results[0])
		to.counter(responsesDesc, counts[t].Refused, t, results[1])
		to.counter(pushesDesc, counts[t].Sent, t)
	}
	if m.server.receiver != nil {
		taken, refused := m.server.receiver.Counts()
		to.counter(metricsDesc, taken, results[0])
		to.counter(metricsDesc, refused, results[1])
	}
}

// collectPool sends how many servers of a pool are in each state.
func collectPool(to sender, p *Pool) {
	byState, byRefusal, byTags, other := map[pools.State]int{}, map[pools.Refusal]int{}, map[pools.Tags]int{}, 0
	for _, s := range p.Servers {
		if byState[s.State]++; s.State == Draining {
			continue // what is wrong with it besides matters no more
		}
		byRefusal[s.Refusal]++
		byTags[s.StructuralTags]++
		if s.Vocabulary == pools.OtherVocabulary {
			other++
		}
	}
	to.gauge(vocabularyDesc, float64(other), p.Name)
	for _, why := range refusals {
		to.gauge(refusingDesc, float64(byRefusal[why]), p.Name, string(why))
	}
	for _, way := range lostWays {
		to.gauge(lostTagsDesc, float64(byTags[way.tags]), p.Name, string(way.tags))
	}
	for _, state := range states {
		to.gauge(serversDesc, float64(byState[state]), p.Name, string(state))
	}
	for model, n := range p.shortContexts {
		to.gauge(shortDesc, float64(n), p.Name, model)
	}
	to.gauge(poolUpDesc, oneIf(p.Down.IsZero()), p.Name)
}

// collectFiles sends whether the configuration and the filter's file are in force.
func collectFiles(to sender, status *Status) {
	c, f := &status.Configuration, &status.Filter
	to.gauge(validDesc, oneIf(c.Error == "" && !c.Loaded.IsZero()))
	to.gauge(loadedDesc, unix(c.Loaded))
	if f.OnEnvoys {
		return
	}
	to.gauge(filterDesc, oneIf(f.Error == ""))
	if f.SHA256 != "" {
		to.gauge(infoDesc, 1, f.Version, f.SHA256)
	}
}

// oneIf returns 1 if what a gauge says is true, else 0.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// unix returns t in seconds, and 0 if t is zero.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}
