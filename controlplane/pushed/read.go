package pushed

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// InstanceAttribute is the attribute of a push's resource with the Envoy's name.
const InstanceAttribute = "service.instance.id"

// maxName is the longest name of an Envoy, in bytes, as for the Envoys of package ads.
const maxName = 512

// push is what an Envoy has pushed.
type push struct {
	name string // the Envoy's
	// started is when its counters began, by its own clock. Two Envoys with the same name have started at different times.
	started  uint64
	families history.Families
}

// from returns what tells an Envoy apart from others, for as long as its counters go on. An Envoy without a name is
// told apart by its connection.
func (p *push) from(address string) string {
	if p.name == "" {
		return address
	}
	return p.name + "\x00" + strconv.FormatUint(p.started, 10)
}

// leastNanos is less than each time of this century in nanoseconds since 1970, and more than each in microseconds.
const leastNanos = 1e17

// beginning returns when the counters began, or zero if that is not known. Envoy 1.40 pushes it in microseconds,
// although the field is in nanoseconds.
func (p *push) beginning() time.Time {
	switch {
	case p.started == 0 || p.started > math.MaxInt64:
		return time.Time{}
	case p.started < leastNanos:
		return time.UnixMicro(int64(p.started))
	}
	return time.Unix(0, int64(p.started))
}

// read returns what a push has. It returns an error if its counters are not cumulative.
func read(m *metricsv1.MetricsData) (*push, error) {
	p := &push{}
	for _, resource := range m.GetResourceMetrics() {
		if name := attribute(resource.GetResource().GetAttributes(), InstanceAttribute); len(name) <= maxName {
			p.name = name
		}
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				if err := p.add(metric); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

// envoyNames are the names in Prometheus' format of Envoy's own metrics. The filter's metrics have their names behind
// [contract.MetricPrefix].
var envoyNames = map[string]string{
	"http.downstream_rq_active":      "envoy_http_downstream_rq_active",
	"http.downstream_rq_xx":          rollout.ClassFamily,
	"wasm.harmony.vm_reload_success": rollout.ReloadFamily,
	"wasm.harmony.vm_reload_failure": rollout.FailedFamily,
}

// add adds a metric, if somebody may want it.
func (p *push) add(m *metricsv1.Metric) error {
	name, ok := strings.CutPrefix(m.GetName(), contract.MetricPrefix)
	if !ok {
		if name, ok = envoyNames[name]; !ok {
			return nil
		}
	}
	f := history.Family{Name: name}
	cumulative := true
	switch {
	case m.GetSum() != nil:
		cumulative = m.GetSum().GetAggregationTemporality() == metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		f.Samples = p.numbers(m.GetSum().GetDataPoints())
	case m.GetGauge() != nil:
		f.Samples = p.numbers(m.GetGauge().GetDataPoints())
	case m.GetHistogram() != nil:
		cumulative = m.GetHistogram().GetAggregationTemporality() == metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		f.Samples = p.histograms(m.GetHistogram().GetDataPoints())
	}
	if !cumulative {
		return errors.New("counters must be cumulative: leave report_counters_as_deltas and report_histograms_as_deltas out")
	}
	p.families = append(p.families, f)
	return nil
}

func (p *push) numbers(points []*metricsv1.NumberDataPoint) []history.Sample {
	all := make([]history.Sample, 0, len(points))
	for _, d := range points {
		value := d.GetAsDouble()
		if i, ok := d.GetValue().(*metricsv1.NumberDataPoint_AsInt); ok {
			value = float64(i.AsInt)
		}
		all = append(all, history.Sample{Labels: labels(d.GetAttributes()), Value: value})
		p.began(d.GetStartTimeUnixNano())
	}
	return all
}

func (p *push) histograms(points []*metricsv1.HistogramDataPoint) []history.Sample {
	all := make([]history.Sample, 0, len(points))
	for _, d := range points {
		s, sum := history.Sample{Labels: labels(d.GetAttributes())}, 0.0
		for i, n := range d.GetBucketCounts() {
			sum += float64(n)
			bound := math.Inf(1)
			if i < len(d.GetExplicitBounds()) {
				bound = d.GetExplicitBounds()[i]
			}
			s.Buckets = append(s.Buckets, history.Bucket{Bound: bound, Count: sum})
		}
		all = append(all, s)
		p.began(d.GetStartTimeUnixNano())
	}
	return all
}

// began records when a counter began.
func (p *push) began(at uint64) {
	if at != 0 && (p.started == 0 || at < p.started) {
		p.started = at
	}
}

// labels returns attributes under the names that Prometheus' format has for them.
func labels(attributes []*commonv1.KeyValue) map[string]string {
	all := make(map[string]string, len(attributes))
	for _, a := range attributes {
		name := a.GetKey()
		if strings.HasPrefix(name, "envoy.") {
			name = strings.ReplaceAll(name, ".", "_")
		}
		all[name] = a.GetValue().GetStringValue()
	}
	return all
}

// attribute returns the value of an attribute, or "".
func attribute(attributes []*commonv1.KeyValue, name string) string {
	for _, a := range attributes {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}
