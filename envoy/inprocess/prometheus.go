package inprocess

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// statistics gives the names and labels of Prometheus to statistics, by the rules that Envoy gets.
type statistics struct {
	tags []tag
	// buckets are the bounds of histograms, by the whole name of the statistic.
	buckets map[string][]float64
	// manager and plugin are the names of the connection manager and the filter in statistics.
	manager, plugin string

	mu sync.Mutex
	// named are the names and labels of the filter's metrics so far.
	named map[string]named
}

// tag is a rule that makes a label of a part of a name.
type tag struct {
	label   string
	pattern *regexp.Regexp
}

// named is a metric's name without its labels, and the labels.
type named struct {
	whole, name string
	labels      []*dto.LabelPair
}

// readStats reads the rules for statistics. It returns an error for rules that are not supported here.
func readStats(c *metricsv3.StatsConfig, manager, plugin string) (*statistics, error) {
	s := &statistics{buckets: map[string][]float64{}, manager: manager, plugin: plugin, named: map[string]named{}}
	for _, t := range c.GetStatsTags() {
		pattern, err := regexp.Compile(t.GetRegex())
		if err != nil {
			return nil, fmt.Errorf("the label %s: %w", t.GetTagName(), err)
		}
		if pattern.NumSubexp() != 2 {
			return nil, fmt.Errorf("the label %s: only patterns with two groups are supported here", t.GetTagName())
		}
		s.tags = append(s.tags, tag{t.GetTagName(), pattern})
	}
	for _, b := range c.GetHistogramBucketSettings() {
		s.buckets[b.GetMatch().GetExact()] = b.GetBuckets()
	}
	return s, nil
}

// bounds returns the bounds of a histogram of the filter's.
func (s *statistics) bounds(name string) []float64 { return s.buckets[contract.MetricPrefix+name] }

var unnamed = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// of returns the name and the labels of a metric of the filter's.
func (s *statistics) of(metric string) named {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.named[metric]; ok {
		return n
	}
	n := named{whole: contract.MetricPrefix + metric}
	rest := n.whole
	for _, t := range s.tags {
		if m := t.pattern.FindStringSubmatch(n.whole); m != nil {
			n.labels = append(n.labels, &dto.LabelPair{Name: proto.String(t.label), Value: proto.String(m[2])})
			rest = strings.Replace(rest, m[1], "", 1)
		}
	}
	n.name = unnamed.ReplaceAllString(strings.TrimPrefix(rest, contract.MetricPrefix), "_")
	s.named[metric] = n
	return n
}

// counts are what a proxy has counted.
type counts struct {
	metrics []wasmhost.Metric
	workers []wasmhost.Stats
	// requests is the number of requests under way.
	requests int
}

// families returns the metrics of the filter, and the metrics of the host that Envoy has too, in the order of their
// names. wanted chooses them by Envoy's whole name.
func (s *statistics) families(c *counts, wanted func(string) bool) []*dto.MetricFamily {
	byName := map[string]*dto.MetricFamily{}
	add := func(n named, kind dto.MetricType, m *dto.Metric) {
		if !wanted(n.whole) {
			return
		}
		f := byName[n.name]
		if f == nil {
			f = &dto.MetricFamily{Name: proto.String(n.name), Type: kind.Enum()}
			byName[n.name] = f
		}
		if m.Label = n.labels; f.GetType() == kind {
			f.Metric = append(f.Metric, m)
		}
	}
	for _, m := range c.metrics {
		switch value := float64(m.Value); m.Kind {
		case wasmhost.CounterMetric:
			add(s.of(m.Name), dto.MetricType_COUNTER, &dto.Metric{Counter: &dto.Counter{Value: &value}})
		case wasmhost.GaugeMetric:
			add(s.of(m.Name), dto.MetricType_GAUGE, &dto.Metric{Gauge: &dto.Gauge{Value: &value}})
		case wasmhost.HistogramMetric:
			add(s.of(m.Name), dto.MetricType_HISTOGRAM, &dto.Metric{Histogram: histogramOf(&m)})
		}
	}
	for _, h := range s.hostCounters(c) {
		value := float64(h.value)
		metric, kind := &dto.Metric{Counter: &dto.Counter{Value: &value}}, dto.MetricType_COUNTER
		if h.gauge {
			metric, kind = &dto.Metric{Gauge: &dto.Gauge{Value: &value}}, dto.MetricType_GAUGE
		}
		add(h.named, kind, metric)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		families = append(families, f)
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families
}

func histogramOf(m *wasmhost.Metric) *dto.Histogram {
	h := &dto.Histogram{SampleCount: &m.Value, SampleSum: proto.Float64(float64(m.Sum))}
	for i := range m.Bounds {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &m.Bounds[i], CumulativeCount: &m.Buckets[i]})
	}
	return h
}

// hostCounter is a metric of the host, with Envoy's name.
type hostCounter struct {
	named
	value int
	gauge bool
}

func (s *statistics) hostCounters(c *counts) []hostCounter {
	var sum wasmhost.Stats
	for _, w := range c.workers {
		sum.Reloads += w.Reloads
		sum.Failures += w.Failures
		sum.Backoffs += w.Backoffs
	}
	reloads := func(which string) named {
		return named{whole: "wasm." + s.plugin + ".vm_reload" + which, name: "envoy_wasm_" + s.plugin + "_vm_reload" + which}
	}
	requests := named{"http." + s.manager + ".downstream_rq_active", "envoy_http_downstream_rq_active", []*dto.LabelPair{
		{Name: proto.String("envoy_http_conn_manager_prefix"), Value: proto.String(s.manager)}}}
	return []hostCounter{
		{reloads(""), sum.Reloads + sum.Failures, false},
		{reloads("_success"), sum.Reloads, false},
		{reloads("_failure"), sum.Failures, false},
		{reloads("_backoff"), sum.Backoffs, false},
		{requests, c.requests, true},
	}
}

// Prometheus returns a handler that answers as /stats/prometheus of Envoy's admin interface does, with the same names,
// labels and buckets. It has the filter's metrics, how many requests are under way, and the reloads of VMs. As there,
// the parameter filter is a regular expression for Envoy's names of statistics.
func (s *Server) Prometheus() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := func(string) bool { return true }
		if filter := r.URL.Query().Get("filter"); filter != "" {
			pattern, err := regexp.Compile(filter)
			if err != nil {
				http.Error(w, "Invalid re2 regex", http.StatusBadRequest)
				return
			}
			wanted = pattern.MatchString
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		w.Header().Set("Content-Type", string(format))
		encoder := expfmt.NewEncoder(w, format)
		c := &counts{metrics: s.proxy.ReadMetrics(), workers: s.proxy.Stats(), requests: s.proxy.Streams()}
		for _, family := range s.statistics.families(c, wanted) {
			if encoder.Encode(family) != nil {
				return // the client has left
			}
		}
	})
}
