package metrics

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// MaxModels is how many models have series of their own, and how many pools. Further ones are counted as [Other]. With
// the greatest number of values for every label there are fewer than 2,900 series.
const MaxModels = 28

// MaxPrefills is how many pools have series of their own whose servers read prompts.
const MaxPrefills = 4

// MaxRoutes is how many pairs of a model and one of its several pools have series of their own.
const MaxRoutes = 16

// maxBuilds is how many configurations have series of their own.
const maxBuilds = 32

// Other is the label value that stands for all values without series of their own.
const Other = "other"

// Set holds the metrics of one VM, for all configurations that it has had. A counter with labels exists from its first
// count on.
type Set struct {
	host      Host
	models    []model
	other     model
	pools     []pool
	otherPool pool
	// routes are the models' several pools.
	routes     []route
	otherRoute route
	// clients are those with series of their own.
	clients     []client
	otherClient client

	prefills     []prefill
	otherPrefill prefill

	// plain holds the metrics without labels.
	plain       [contract.MetricCount]metric
	recoveries  [len(harmony.Recoveries{})]metric
	channels    [len(exchange.Report{}.Messages)]metric
	cuts        [len(cuts)]metric
	parseErrors [harmony.ParseErrorKinds]metric
	affinities  [len(affinities)]metric
	recalls     [len(recalls)]metric
	ignored     [len(exchange.Report{}.Ignored)]metric
	observed    [len(exchange.Observed{})]metric
	prompts     [2]metric
	builds      []build
	// chunks are the pieces of answers that the host's counter lacks.
	chunks int
}

// build is a configuration that this VM has had. uses is how many plugins use it now.
type build struct {
	version, config string
	gauge           metric
	uses            int
}

// NewSet returns a [Set], and defines the metrics without labels.
func NewSet(h Host) *Set {
	s := &Set{host: h, other: model{name: Other}, otherPool: pool{name: Other, policy: Other},
		otherClient:  client{name: Other},
		otherPrefill: prefill{pool: Other}, otherRoute: route{model: Other, pool: Other}}
	for of := range contract.MetricCount {
		if of.Info().Labels == nil {
			s.plain[of] = s.define(of, nil)
		}
	}
	return s
}

// Counted records which clients have series of their own, beside the clients of earlier configurations.
func (s *Set) Counted(clients []string) {
	for _, name := range clients {
		if s.client(name) == &s.otherClient && len(s.clients) < contract.MaxCountedClients {
			s.clients = append(s.clients, client{name: name})
		}
	}
}

// Configured records that a configuration is in force, and which models and pools have series of their own. All VMs of
// a proxy get the same configurations in the same order, so that all of them choose the same.
func (s *Set) Configured(version, config string, models []contract.Model) {
	for i := range models {
		m := &models[i]
		if s.model(m.Name) == &s.other && len(s.models) < MaxModels {
			s.models = append(s.models, model{name: m.Name})
		}
		s.knowPool(m.PoolName, m.Policy, m.Prefill.Pool)
	}
	// The pools of all models come first: a configuration may have more pools than have series.
	for i := range models {
		m := &models[i]
		for j := range m.Route {
			b := &m.Route[j]
			s.knowPool(b.PoolName, b.Policy, b.Prefill.Pool)
			s.knowRoute(m.Name, b.PoolName)
		}
		if len(m.Route) > 0 {
			s.knowRoute(m.Name, m.PoolName)
		}
		for j := range models {
			if to := &models[j]; m.OverflowModel != "" && to.Name == m.OverflowModel {
				s.knowRoute(to.Name, to.PoolName)
			}
		}
	}
	s.use(version, config, 1)
}

// knowPool gives a pool series of its own, and the pool that reads prompts for it, if there is room.
func (s *Set) knowPool(name, policy, reader string) {
	if s.pool(name, policy) == &s.otherPool && len(s.pools) < MaxModels {
		s.pools = append(s.pools, pool{name: name, policy: policy})
	}
	if reader != "" && s.prefill(reader) == &s.otherPrefill && len(s.prefills) < MaxPrefills {
		s.prefills = append(s.prefills, prefill{pool: reader})
	}
}

// knowRoute gives a model and one of its pools series of their own, if there is room.
func (s *Set) knowRoute(model, pool string) {
	if s.route(model, pool) == &s.otherRoute && len(s.routes) < MaxRoutes {
		s.routes = append(s.routes, route{model: model, pool: pool})
	}
}

// Dropped records that a configuration is no longer in force.
func (s *Set) Dropped(version, config string) { s.use(version, config, -1) }

func (s *Set) use(version, config string, more int) {
	at := -1
	for i := range s.builds {
		if s.builds[i].version == version && s.builds[i].config == config {
			at = i
		}
	}
	if at < 0 {
		if len(s.builds) == maxBuilds {
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

// ResponseChunk counts a piece of an answer. The host learns of it from [Set.FlushChunks], since a call of the host for
// each piece costs as much as what the filter does with it.
func (s *Set) ResponseChunk() { s.chunks++ }

// FlushChunks tells the host of the pieces since the last call.
func (s *Set) FlushChunks() {
	s.count(contract.ResponseChunksTotal, s.chunks)
	s.chunks = 0
}

// AttemptFailed counts an attempt at a pool's server that has failed before its first token.
func (s *Set) AttemptFailed(pool string) {
	p := s.poolNamed(pool)
	s.add(&p.failed, 1, contract.FailedAttemptsTotal, p.name)
}

// EditRefused counts a request that the proxy did not let the filter rewrite.
func (s *Set) EditRefused() { s.count(contract.EditsRefusedTotal, 1) }

// ConfigError counts an invalid configuration.
func (s *Set) ConfigError() { s.count(contract.ConfigErrorsTotal, 1) }

// ReducedReset counts an answer that was cut in reduced mode. In full mode it would have had a status.
func (s *Set) ReducedReset() { s.count(contract.ReducedResetsTotal, 1) }

// ReducedLateError counts an error in a stream in reduced mode. In full mode it would have had a status.
func (s *Set) ReducedLateError() { s.count(contract.ReducedLateErrorsTotal, 1) }

// Rendered records how long it took to turn a client's request into a server's, in microseconds.
func (s *Set) Rendered(micros int64) { s.record(contract.RenderTime, micros) }

// Collected records how long a collection of the heap took, in microseconds.
func (s *Set) Collected(micros int64) { s.record(contract.CollectionTime, micros) }

// EndedFull counts a VM that ended itself because its heap was full although it had no stream.
func (s *Set) EndedFull() { s.count(contract.EndedFullTotal, 1) }

// Heap records the heap in use of the VM with the fullest heap, in bytes.
func (s *Set) Heap(bytes uint64) { s.record(contract.HeapBytes, int64(min(bytes, 1<<62))) }

// Prefixes records the memory of prefixes of the VM with the largest one, in bytes.
func (s *Set) Prefixes(bytes uint64) { s.record(contract.PrefixBytes, int64(min(bytes, 1<<62))) }

// HeapLimit records how much of its heap a VM may have in use, in bytes.
func (s *Set) HeapLimit(bytes int) { s.record(contract.HeapLimit, int64(bytes)) }
