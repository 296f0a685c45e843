package rollout

import (
	"math"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// Count is one of the things that Envoys count.
type Count uint8

const (
	// Requests are clients' requests that an Envoy has answered, on all of its listeners for clients.
	Requests Count = iota
	// Errors are those that it answered with a 5xx status.
	Errors
	// Refused are those that it answered with a 4xx status.
	Refused
	// ServerErrors are those that the filter answered with 502, 503 or 504: errors of servers, as the filter saw them.
	ServerErrors
	// Answers are translated requests that were answered with 200.
	Answers
	// ParseErrors are answers that a strict parser would have refused.
	ParseErrors
	// Recoveries are repairs of models' output.
	Recoveries
	// CutStreams are answers that ended in the middle, though the client had not left.
	CutStreams
	// VMFailures are VMs of the filter that have died.
	VMFailures
	// Restarts are Envoys that have been started again.
	Restarts
	counted
)

// renderBuckets is how many buckets the times to render have; the last one has no upper bound.
const renderBuckets = 15

// Counts are what Envoys have counted. The zero value is nothing.
type Counts struct {
	N [counted]float64 `json:"n"`
	// Renders are how many requests were rendered in a time within each bucket of [contract.RenderTime].
	Renders [renderBuckets]float64 `json:"renders"`
}

// Of returns one of the counts.
func (c *Counts) Of(n Count) float64 { return c.N[n] }

// add adds what other has, times factor.
func (c *Counts) add(other *Counts, factor float64) {
	for i := range c.N {
		c.N[i] += other.N[i] * factor
	}
	for i := range c.Renders {
		c.Renders[i] += other.Renders[i] * factor
	}
}

// scale multiplies all counts.
func (c *Counts) scale(factor float64) {
	for i := range c.N {
		c.N[i] *= factor
	}
	for i := range c.Renders {
		c.Renders[i] *= factor
	}
}

// since returns what was counted after an earlier reading. It reports false if a count has become smaller, because the
// Envoy has been started again.
func (c *Counts) since(before *Counts) (gain Counts, ok bool) {
	gain = *c
	gain.add(before, -1)
	for _, n := range gain.N {
		if n < 0 {
			return Counts{}, false
		}
	}
	for _, n := range gain.Renders {
		if n < 0 {
			return Counts{}, false
		}
	}
	return gain, true
}

// The names in Prometheus' format of Envoy's own metrics, and of their labels.
const (
	// ClassFamily counts Envoy's answers by the class of their status.
	ClassFamily  = "envoy_http_downstream_rq_xx"
	classLabel   = "envoy_response_code_class"
	managerLabel = "envoy_http_conn_manager_prefix"
	// ReloadFamily counts VMs that died and came back, and FailedFamily those that did not.
	ReloadFamily = "envoy_wasm_harmony_vm_reload_success"
	FailedFamily = "envoy_wasm_harmony_vm_reload_failure"
)

// EnvoyStats is a regular expression that matches the whole names in Envoy's statistics that are read here, of those
// that a [history.History] does not read.
const EnvoyStats = `^(wasmcustom\.harmony_(channel_parse_errors_total|cut_streams_total|build_info)(\..+)?` +
	`|wasmcustom\.harmony_render_microseconds` +
	`|wasm\.harmony\.vm_reload_(success|failure)|http\..+\.downstream_rq_[1-5]xx)$`

// reading is what one Envoy's metrics come to.
type reading struct {
	counts Counts
	// versions are the versions of the filter that it runs, if it tells them.
	versions []string
}

// most is the greatest value of a counter. Greater ones are no counts, and are left out.
const most = 1e15

// notClients are connection managers whose requests are no client's.
func notClients(manager string) bool { return manager == "admin" || manager == "harmony-stats" }

// read returns what the families come to.
func read(all history.Families) reading {
	var r reading
	for i := range all {
		f := &all[i]
		for j := range f.Samples {
			s := &f.Samples[j]
			if f.Name == contract.RenderTime.Info().Name {
				r.renders(s.Buckets)
			} else if s.Value >= 0 && s.Value <= most {
				r.sample(f.Name, s)
			}
		}
	}
	return r
}

func (r *reading) sample(family string, s *history.Sample) {
	add := func(to Count) { r.counts.N[to] += s.Value }
	switch family {
	case ClassFamily:
		if notClients(s.Labels[managerLabel]) {
			return
		}
		add(Requests)
		switch s.Labels[classLabel] {
		case "4":
			add(Refused)
		case "5":
			add(Errors)
		}
	case contract.RequestsTotal.Info().Name:
		switch s.Labels["status"] {
		case "200":
			add(Answers)
		case "502", "503", "504":
			add(ServerErrors)
		}
	case contract.ParseErrorsTotal.Info().Name:
		add(ParseErrors)
	case contract.RecoveriesTotal.Info().Name:
		add(Recoveries)
	case contract.CutStreamsTotal.Info().Name:
		if s.Labels["cause"] != "client" {
			add(CutStreams)
		}
	case ReloadFamily, FailedFamily:
		add(VMFailures)
	case contract.BuildInfo.Info().Name:
		if s.Value == 1 && len(r.versions) < maxVersions {
			r.versions = append(r.versions, strings.Clone(s.Labels["version"]))
		}
	}
}

// maxVersions is how many versions of the filter an Envoy may say that it runs.
const maxVersions = 8

// renders adds the buckets of a histogram, which are cumulative.
func (r *reading) renders(buckets []history.Bucket) {
	bounds, before := contract.RenderTime.Buckets(), 0.0
	for _, b := range buckets {
		if !(b.Count >= before && b.Count <= most) {
			return
		}
		at := renderBuckets - 1
		for i, bound := range bounds {
			if b.Bound <= bound && !math.IsInf(b.Bound, 0) {
				at = i
				break
			}
		}
		r.counts.Renders[at] += b.Count - before
		before = b.Count
	}
}
