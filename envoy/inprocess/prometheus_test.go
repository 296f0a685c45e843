package inprocess

import (
	"bytes"
	"strings"
	"testing"

	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	"github.com/prometheus/common/expfmt"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestFamilies: every metric of the contract has its name, its labels and its buckets, whatever its labels' values
// are.
func TestFamilies(t *testing.T) {
	s, err := readStats(xds.Stats(), "harmony", "harmony")
	if err != nil {
		t.Fatal(err)
	}
	c := &counts{workers: []wasmhost.Stats{{Reloads: 2, Failures: 1, Backoffs: 5}, {Reloads: 1}}, requests: 4}
	add := func(m wasmhost.Metric) { c.metrics = append(c.metrics, m) }
	values := map[string]string{"model": `openai/a"b\c`, "pool": "p-1", "policy": "session", "class": "2xx", "api": "chat",
		"status": "200", "kind": "prompt", "channel": "final", "cause": "stall", "version": "0.1.0-dev.1", "config": "0a"}
	for m := range contract.MetricCount {
		info := m.Info()
		one := wasmhost.Metric{Name: info.Name, Kind: wasmhost.MetricKind(info.Kind), Value: 3}
		for _, label := range info.Labels {
			one.Name += "." + label + "." + values[label]
		}
		if one.Bounds = s.bounds(info.Name); one.Bounds != nil {
			one.Sum, one.Buckets = 30, make([]uint64, len(one.Bounds))
		}
		add(one)
	}
	add(wasmhost.Metric{Name: "of another filter", Value: 1})
	add(wasmhost.Metric{Name: "harmony_tokens_total.kind.x", Kind: wasmhost.GaugeMetric}) // another kind under one name
	text := &bytes.Buffer{}
	encoder := expfmt.NewEncoder(text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range s.families(c, func(string) bool { return true }) {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"# TYPE harmony_requests_total counter\n" +
			`harmony_requests_total{model="openai/a\"b\\c",api="chat",status="200"} 3` + "\n",
		`harmony_pool_requests_total{pool="p-1",policy="session",class="2xx"} 3` + "\n",
		`harmony_build_info{version="0.1.0-dev.1",config="0a"} 3` + "\n",
		"# TYPE harmony_tokens_total counter\n" + `harmony_tokens_total{model="openai/a\"b\\c",kind="prompt"} 3` + "\n#",
		"# TYPE harmony_render_microseconds histogram\n" + `harmony_render_microseconds_bucket{le="50"} 0` + "\n",
		`harmony_render_microseconds_bucket{le="+Inf"} 3` + "\nharmony_render_microseconds_sum 30\n",
		"of_another_filter 1\n",
		"envoy_wasm_harmony_vm_reload 4\n", "envoy_wasm_harmony_vm_reload_success 3\n",
		"envoy_wasm_harmony_vm_reload_failure 1\n", "envoy_wasm_harmony_vm_reload_backoff 5\n",
		`envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="harmony"} 4` + "\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("there is no\n%s\nin\n%s", want, text)
		}
	}
	for _, f := range s.families(c, func(name string) bool { return name == "wasmcustom.harmony_vm_heap_bytes" }) {
		if f.GetName() != "harmony_vm_heap_bytes" || len(f.GetMetric()) != 1 {
			t.Errorf("got %v", f)
		}
	}
}

// TestStatsThatNeedEnvoy: rules that are not understood here are refused.
func TestStatsThatNeedEnvoy(t *testing.T) {
	for _, regex := range []string{"(", "(a)", ""} {
		if _, err := readStats(&metricsv3.StatsConfig{StatsTags: []*metricsv3.TagSpecifier{{
			TagName: "x", TagValue: &metricsv3.TagSpecifier_Regex{Regex: regex}}}}, "", ""); err == nil {
			t.Errorf("%q is read", regex)
		}
	}
}
