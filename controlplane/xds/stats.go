package xds

import (
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
)

// Stats makes of the filter's metrics (filter/metrics) what Prometheus wants: labels, and buckets of the sizes that occur.
// It belongs into Envoy's bootstrap.
func Stats() *metricsv3.StatsConfig {
	c := &metricsv3.StatsConfig{}
	for _, t := range statsTags {
		c.StatsTags = append(c.StatsTags, &metricsv3.TagSpecifier{
			TagName: t.label, TagValue: &metricsv3.TagSpecifier_Regex{Regex: t.regex},
		})
	}
	for _, h := range histograms {
		c.HistogramBucketSettings = append(c.HistogramBucketSettings, &metricsv3.HistogramBucketSettings{
			Match:   &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: h.name}},
			Buckets: h.buckets,
		})
	}
	return c
}

// statsTags take the labels out of the names: the first group is removed, the second is the label's value. The names of
// models may hold dots, and are told by what stands behind them. Envoy looks at a pattern only for names that begin as it
// does, so the metrics of others cost nothing.
var statsTags = []struct{ label, regex string }{
	{"model", `^wasmcustom\.harmony_(?:requests|tokens|wasted_tokens)_total(\.model\.(.+))\.(?:api|kind)\.[a-z_]+`},
	{"api", `^wasmcustom\.harmony_requests_total\.model\..+(\.api\.([a-z]+))\.status\.[a-z0-9]+$`},
	{"status", `^wasmcustom\.harmony_requests_total\.model\..+(\.status\.([a-z0-9]+))$`},
	{"kind", `^wasmcustom\.harmony_[a-z_]+_total(?:\.model\..+)?(\.kind\.([a-z_]+))$`},
	{"channel", `^wasmcustom\.harmony_channel_messages_total(\.channel\.([a-z]+))$`},
	{"cause", `^wasmcustom\.harmony_cut_streams_total(\.cause\.([a-z]+))$`},
	{"version", `^wasmcustom\.harmony_build_info(\.version\.(.+))\.config\.[0-9a-f]+$`},
	{"config", `^wasmcustom\.harmony_build_info\.version\..+(\.config\.([0-9a-f]+))$`},
}

var histograms = []struct {
	name    string
	buckets []float64
}{
	{"wasmcustom.harmony_time_to_first_token_milliseconds", []float64{
		10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
	}},
	{"wasmcustom.harmony_render_microseconds", []float64{
		50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
	}},
}
