package responses

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/harmonyedge/harmonyedge/services/responses/relay"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// relayMetrics count what is passed on, and what keeps quiet streams alive.
type relayMetrics struct {
	relayed *prometheus.CounterVec
	kept    *prometheus.CounterVec
	resumed *prometheus.CounterVec
}

func newRelayMetrics() relayMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := relayMetrics{
		relayed: counter("relayed_total", "Requests that were passed on for a model's relay, by how they ended.", "api",
			"outcome"),
		kept: counter("keep_alives_total", "Signs of life that quiet streams were given.", "api"),
		resumed: counter("resumed_total", "Answers that were cut, for a relay that resumes them, by what became of them.",
			"api", "outcome"),
	}
	for _, api := range []string{responsesAPI, relay.Chat.Name, relay.Messages.Name} { // there before the first event
		m.kept.WithLabelValues(api)
		for _, outcome := range []string{upstream.Resumed, upstream.Moved, upstream.Final, upstream.GivenUp, upstream.Refused} {
			m.resumed.WithLabelValues(api, outcome)
		}
	}
	return m
}

// responsesAPI is the API of turns, as a label.
const responsesAPI = "responses"

func (m relayMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.relayed, m.kept, m.resumed}
}

// Relayed implements [relay.Metrics].
func (m relayMetrics) Relayed(api, outcome string) { m.relayed.WithLabelValues(api, outcome).Inc() }

// KeptAlive implements [relay.Metrics].
func (m relayMetrics) KeptAlive(api string) { m.kept.WithLabelValues(api).Inc() }

// Resumed implements [relay.Metrics].
func (m relayMetrics) Resumed(api, outcome string) { m.resumed.WithLabelValues(api, outcome).Inc() }

// Resumed counts an answer of a turn that was cut.
func (m *metrics) Resumed(outcome string) { m.relays.Resumed(responsesAPI, outcome) }

// KeptAlive counts a sign of life of a turn.
func (m *metrics) KeptAlive() { m.relays.KeptAlive(responsesAPI) }
