package metrics

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// MostModels is how many models have series of their own; what comes behind them is counted as Other. With every label
// at its most there are then less than 2,000 series.
const MostModels = 32

// mostBuilds is how many configurations are told apart.
const mostBuilds = 32

// Other stands for every value of a label that has no series of its own.
const Other = "other"

// Set are the metrics of one VM, and of all configurations that it has had. Counters with labels are there from their
// first count on.
type Set struct {
	host   Host
	models []model
	other  model

	responseChunks, editsRefused, reducedResets, reducedLateErrors    metric
	configErrors                                                      metric
	unexpectedOrder, reasoningAlert, fallbacks                        metric
	noFinal, unfitArguments, unknownItems, halfBuiltIns, droppedParts metric
	routed, truncatedTurns                                            metric
	recoveries                                                        [len(harmony.Recoveries{})]metric
	channels                                                          [len(exchange.Report{}.Messages)]metric
	cuts                                                              [len(cuts)]metric
	parseErrors                                                       [harmony.ParseErrorKinds]metric
	firstToken, render, heap, endedFull                               metric
	builds                                                            []build
}

// build is a configuration that this VM has had; uses is how many plugins have it now.
type build struct {
	version, config string
	gauge           metric
	uses            int
}

// NewSet defines what has no labels.
func NewSet(h Host) *Set {
	s := &Set{host: h, other: model{name: Other}}
	s.responseChunks = s.define(Counter, "harmony_response_chunks_total")
	s.editsRefused = s.define(Counter, "harmony_edits_refused_total")
	s.configErrors = s.define(Counter, "harmony_config_errors_total")
	s.reducedResets = s.define(Counter, "harmony_reduced_resets_total")
	s.reducedLateErrors = s.define(Counter, "harmony_reduced_late_errors_total")
	s.unexpectedOrder = s.define(Counter, "harmony_channel_unexpected_order_total")
	s.fallbacks = s.define(Counter, "harmony_marker_fallback_total")
	s.noFinal = s.define(Counter, "harmony_no_final_channel_total")
	s.unfitArguments = s.define(Counter, "harmony_unfit_arguments_total")
	s.unknownItems = s.define(Counter, "harmony_unknown_items_total")
	s.halfBuiltIns = s.define(Counter, "harmony_half_builtin_calls_total")
	s.droppedParts = s.define(Counter, "harmony_dropped_parts_total")
	s.routed = s.define(Counter, "harmony_routed_requests_total")
	s.truncatedTurns = s.define(Counter, "harmony_truncated_turns_total")
	s.reasoningAlert = s.define(Counter, "reasoning_ratio_alert_total")
	s.firstToken = s.define(Histogram, "harmony_time_to_first_token_milliseconds")
	s.render = s.define(Histogram, "harmony_render_microseconds")
	s.heap = s.define(Gauge, "harmony_vm_heap_bytes")
	s.endedFull = s.define(Counter, "harmony_vm_ended_full_total")
	return s
}

// Configured says that a configuration is in force, and names the models that have series of their own. All VMs of a
// proxy get the same configurations in the same order, so that all of them choose the same models.
func (s *Set) Configured(version, config string, models []string) {
	for _, name := range models {
		if s.model(name) == &s.other && len(s.models) < MostModels {
			s.models = append(s.models, model{name: name})
		}
	}
	s.use(version, config, 1)
}

// Dropped says that a configuration is not in force any more.
func (s *Set) Dropped(version, config string) { s.use(version, config, -1) }

func (s *Set) use(version, config string, more int) {
	at := -1
	for i := range s.builds {
		if s.builds[i].version == version && s.builds[i].config == config {
			at = i
		}
	}
	if at < 0 {
		if len(s.builds) == mostBuilds {
			return
		}
		at = len(s.builds)
		gauge := s.define(Gauge, "harmony_build_info.version."+label(version)+".config."+label(config))
		s.builds = append(s.builds, build{version: version, config: config, gauge: gauge})
	}
	b := &s.builds[at]
	b.uses += more
	s.record(b.gauge, int64(min(b.uses, 1)))
}

// ResponseChunk counts a piece of an answer.
func (s *Set) ResponseChunk() { s.add(&s.responseChunks, 1) }

// EditRefused counts a request that the proxy did not let us rewrite.
func (s *Set) EditRefused() { s.add(&s.editsRefused, 1) }

// ConfigError counts a configuration that is wrong.
func (s *Set) ConfigError() { s.add(&s.configErrors, 1) }

// ReducedReset counts an answer that was cut where full mode has a status.
func (s *Set) ReducedReset() { s.add(&s.reducedResets, 1) }

// ReducedLateError counts an error told in a stream where full mode has a status.
func (s *Set) ReducedLateError() { s.add(&s.reducedLateErrors, 1) }

// Rendered records how long a request took to become a server's, in microseconds.
func (s *Set) Rendered(micros int64) { s.record(s.render, micros) }

// EndedFull counts a VM that ends itself because its heap is full though no stream is there.
func (s *Set) EndedFull() { s.add(&s.endedFull, 1) }

// Heap records how much of the fullest VM's heap is in use, in bytes.
func (s *Set) Heap(bytes uint64) { s.record(s.heap, int64(min(bytes, 1<<62))) }
