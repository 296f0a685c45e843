package metrics

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
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

	// plain are those without labels.
	plain       [contract.MetricCount]metric
	recoveries  [len(harmony.Recoveries{})]metric
	channels    [len(exchange.Report{}.Messages)]metric
	cuts        [len(cuts)]metric
	parseErrors [harmony.ParseErrorKinds]metric
	builds      []build
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
	for of := range contract.MetricCount {
		if of.Info().Labels == nil {
			s.plain[of] = s.define(of, nil)
		}
	}
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
		gauge := s.define(contract.BuildInfo, []string{version, config})
		s.builds = append(s.builds, build{version: version, config: config, gauge: gauge})
	}
	b := &s.builds[at]
	b.uses += more
	s.set(b.gauge, int64(min(b.uses, 1)))
}

// ResponseChunk counts a piece of an answer.
func (s *Set) ResponseChunk() { s.count(contract.ResponseChunksTotal, 1) }

// EditRefused counts a request that the proxy did not let us rewrite.
func (s *Set) EditRefused() { s.count(contract.EditsRefusedTotal, 1) }

// ConfigError counts a configuration that is wrong.
func (s *Set) ConfigError() { s.count(contract.ConfigErrorsTotal, 1) }

// ReducedReset counts an answer that was cut where full mode has a status.
func (s *Set) ReducedReset() { s.count(contract.ReducedResetsTotal, 1) }

// ReducedLateError counts an error told in a stream where full mode has a status.
func (s *Set) ReducedLateError() { s.count(contract.ReducedLateErrorsTotal, 1) }

// Rendered records how long a request took to become a server's, in microseconds.
func (s *Set) Rendered(micros int64) { s.record(contract.RenderTime, micros) }

// EndedFull counts a VM that ends itself because its heap is full though no stream is there.
func (s *Set) EndedFull() { s.count(contract.EndedFullTotal, 1) }

// Heap records how much of the fullest VM's heap is in use, in bytes.
func (s *Set) Heap(bytes uint64) { s.record(contract.HeapBytes, int64(min(bytes, 1<<62))) }
