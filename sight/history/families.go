package history

import (
	"fmt"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Families are the metrics of one Envoy at one time. Counters and histograms are cumulative.
type Families []Family

// Family is the metrics of one name.
type Family struct {
	Name    string
	Samples []Sample
}

// Sample is one metric of a [Family].
type Sample struct {
	Labels map[string]string
	// Value is the value of a counter or a gauge.
	Value float64
	// Buckets are a histogram's, with rising bounds. The last bound may be infinite.
	Buckets []Bucket
}

// Bucket is how many values a histogram has had up to a bound.
type Bucket struct{ Bound, Count float64 }

// Parse reads metrics in Prometheus' text format, as Envoy's /stats/prometheus has them.
func Parse(text io.Reader) (Families, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("history: these are no metrics: %w", err)
	}
	all := make(Families, 0, len(read))
	for name, f := range read {
		one := Family{Name: name}
		for _, m := range f.GetMetric() {
			one.Samples = append(one.Samples, sampleOf(m))
		}
		all = append(all, one)
	}
	return all, nil
}

func sampleOf(m *dto.Metric) Sample {
	s := Sample{Labels: make(map[string]string, len(m.GetLabel()))}
	for _, l := range m.GetLabel() {
		s.Labels[l.GetName()] = l.GetValue()
	}
	switch {
	case m.Counter != nil:
		s.Value = m.GetCounter().GetValue()
	case m.Gauge != nil:
		s.Value = m.GetGauge().GetValue()
	case m.Untyped != nil:
		s.Value = m.GetUntyped().GetValue()
	}
	for _, b := range m.GetHistogram().GetBucket() {
		s.Buckets = append(s.Buckets, Bucket{Bound: b.GetUpperBound(), Count: float64(b.GetCumulativeCount())})
	}
	return s
}
