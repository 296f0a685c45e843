package xds

import (
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Stats returns the rules that turn Envoy's names of the filter's metrics into labels, and the buckets of its
// histograms. It belongs in Envoy's bootstrap.
func Stats() *metricsv3.StatsConfig {
	c := &metricsv3.StatsConfig{}
	for _, p := range contract.LabelPatterns() {
		c.StatsTags = append(c.StatsTags, &metricsv3.TagSpecifier{
			TagName: p.Label, TagValue: &metricsv3.TagSpecifier_Regex{Regex: p.Regex},
		})
	}
	for m := range contract.MetricCount {
		if buckets := m.Buckets(); buckets != nil {
			name := contract.MetricPrefix + m.Info().Name
			c.HistogramBucketSettings = append(c.HistogramBucketSettings, &metricsv3.HistogramBucketSettings{
				Match:   &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}},
				Buckets: buckets,
			})
		}
	}
	return c
}
