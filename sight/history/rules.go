package history

import (
	"math"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// NACKFamily is the control plane's own counter of Envoys' answers, and Refused the value of its label result that
// counts.
const (
	NACKFamily = "harmony_controlplane_responses_total"
	Refused    = "refused"
)

// QueueFamily is the pickers' counter of requests that have left a queue, by how.
const QueueFamily = "harmony_queue_requests_total"

const (
	// streamsFamily is Envoy's own gauge of running requests, by the connection manager, which is named by
	// managerLabel.
	streamsFamily = "envoy_http_downstream_rq_active"
	managerLabel  = "envoy_http_conn_manager_prefix"
	// most is the greatest value of a counter. Greater ones are no counts, and are left out.
	most = 1e15
	// other stands for every value of a label that is not known here.
	other = "other"
)

// EnvoyStats is a regular expression that matches the whole names in Envoy's statistics that a [History] reads.
const EnvoyStats = `^(wasmcustom\.harmony_(requests|tokens|recoveries|response_chunks|failed_attempts|` +
	`pool_requests|client_requests|client_tokens)_total(\..+)?` +
	`|wasmcustom\.harmony_time_to_first_token_milliseconds|http\..+\.downstream_rq_active)$`

// The values of labels that have series of their own, so that no Envoy can take all the room.
var (
	tokenKinds = setOf("prompt", "cached", "tool_output", "reasoning", "preamble", "final", "tool_call")
	statuses   = setOf("1xx", "2xx", "3xx", "4xx", "5xx", "none")
	recoveries = recoveryKinds()
	bounds     = bucketBounds()
	queueEnds  = setOf("deadline", "no_server", "full", "client_full", "displaced")
)

func setOf(values ...string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return set
}

func recoveryKinds() map[string]bool {
	set := map[string]bool{}
	for kind := range len(harmony.Recoveries{}) {
		set[harmony.Recovery(kind).String()] = true
	}
	return set
}

func bucketBounds() map[string]bool {
	set := setOf(boundText(math.Inf(1)))
	for _, b := range contract.TimeToFirstToken.Buckets() {
		set[boundText(b)] = true
	}
	return set
}

// notClients are connection managers whose requests are no client's.
var notClients = map[string]bool{"admin": true, "harmony-stats": true}

// reading is what one Envoy's metrics come to.
type reading struct {
	// counters are cumulative, by the key of their series.
	counters map[string]counter
	streams  float64 // NaN: not known
	numbers  map[countedOf]*counted
}

type counter struct {
	name   string
	labels map[string]string
	value  float64
}

// read returns what the families come to, and how many values are no counts. pools are the pools whose failed attempts
// are counted.
func read(all Families, pools map[string]bool) (r reading, dropped int) {
	r = reading{counters: map[string]counter{}, streams: math.NaN(), numbers: map[countedOf]*counted{}}
	count := func(name string, labels map[string]string, n float64) {
		if !(n >= 0 && n <= most) {
			dropped++
			return
		}
		key := keyOf(name, labels)
		r.counters[key] = counter{name: name, labels: labels, value: r.counters[key].value + n}
	}
	for i := range all {
		f := &all[i]
		for j := range f.Samples {
			s := &f.Samples[j]
			if !countNumbers(r.numbers, f.Name, s) {
				dropped++
			}
			switch f.Name {
			case contract.TokensTotal.Info().Name:
				count(TokensPerSecond, one("kind", s.Labels["kind"], tokenKinds), s.Value)
			case contract.RequestsTotal.Info().Name:
				count(RequestsPerSecond, one("status", statusClass(s.Labels["status"]), statuses), s.Value)
			case contract.RecoveriesTotal.Info().Name:
				count(RecoveriesPerMinute, one("kind", s.Labels["kind"], recoveries), s.Value)
			case contract.FailedAttemptsTotal.Info().Name:
				if pool := s.Labels[poolLabel]; pools[pool] {
					count(failedAttempts, map[string]string{poolLabel: pool}, s.Value)
				}
			case contract.ResponseChunksTotal.Info().Name:
				count(ChunksPerSecond, nil, s.Value)
			case contract.TimeToFirstToken.Info().Name:
				for _, b := range s.Buckets {
					if le := boundText(b.Bound); bounds[le] {
						count(buckets, map[string]string{"le": le}, b.Count)
					}
				}
			case NACKFamily:
				if s.Labels["result"] == Refused {
					count(NACKsPerMinute, nil, s.Value)
				}
			case QueueFamily:
				if reason := s.Labels["result"]; queueEnds[reason] {
					count(QueueRefusals, map[string]string{"reason": reason}, s.Value)
				}
			case streamsFamily:
				if !notClients[s.Labels[managerLabel]] && s.Value >= 0 && s.Value <= most {
					if math.IsNaN(r.streams) {
						r.streams = 0
					}
					r.streams += s.Value
				}
			}
		}
	}
	return r, dropped
}

// one returns a label. Its value is other if it is not known.
func one(label, value string, known map[string]bool) map[string]string {
	if !known[value] {
		value = other
	}
	return map[string]string{label: value}
}

// statusClass returns the class of a status, such as 2xx. A value that is no status, such as none, is its own class.
func statusClass(status string) string {
	if n, err := strconv.Atoi(status); err == nil && n >= 100 && n < 600 {
		return status[:1] + "xx"
	}
	return status
}

func boundText(bound float64) string { return strconv.FormatFloat(bound, 'g', -1, 64) }
