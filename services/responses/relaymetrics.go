package responses

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/harmonyedge/harmonyedge/services/responses/relay"
)

// relayMetrics count what is passed on, and what keeps quiet streams alive.
type relayMetrics struct {
	relayed *prometheus.CounterVec
	kept    *prometheus.CounterVec
}

func newRelayMetrics() relayMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := relayMetrics{
		relayed: counter("relayed_total", "Requests that were passed on for a model's relay, by how they ended.", "api",
			"outcome"),
		kept: counter("keep_alives_total", "Signs of life that quiet streams were given.", "api"),
	}
	for _, api := range []string{responsesAPI, relay.Chat.Name, relay.Messages.Name} { // there before the first event
		m.kept.WithLabelValues(api)
	}
	return m
}

// responsesAPI is the API of turns, as a label.
const responsesAPI = "responses"

func (m relayMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.relayed, m.kept}
}

// Relayed implements [relay.Metrics].
func (m relayMetrics) Relayed(api, outcome string) { m.relayed.WithLabelValues(api, outcome).Inc() }

// KeptAlive implements [relay.Metrics].
func (m relayMetrics) KeptAlive(api string) { m.kept.WithLabelValues(api).Inc() }

// KeptAlive counts a sign of life of a turn.
func (m *metrics) KeptAlive() { m.relays.KeptAlive(responsesAPI) }
