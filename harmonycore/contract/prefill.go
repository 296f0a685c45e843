package contract

import "strings"

// Prefill determines which servers read the prompts of a model before the model's own servers write the answers
// (docs/prefill.md). With the zero value the model's own servers do both.
type Prefill struct {
	// Cluster is the proxy's name of the cluster of the prefill servers. Pool is the operator's name of their pool, for
	// metrics and logs.
	Cluster, Pool string
	// Servers are the addresses of the prefill servers, as host:port. Only kinds with [PrefillBootstrap] have them: the
	// filter chooses a server before it asks, and tells both servers of a request where the other one is.
	Servers []string
	// BootstrapPort is the port on which each of Servers hands over what it has read.
	BootstrapPort int
	// MinTokens is how long a prompt must be to go to a prefill server, in tokens.
	MinTokens int
	// OnFailure is [PrefillDecode] or [PrefillRefuse]: what happens to a request whose prefill has failed.
	OnFailure string
}

// The values of [Prefill.OnFailure]: the model's own servers read the prompt too, or the client gets an error.
const (
	PrefillDecode = "decode"
	PrefillRefuse = "refuse"
)

// The values of [Kind.Prefill]: how a prompt that one server has read comes to another.
const (
	// PrefillParams is vLLM's: the answer of the prefill server has kv_transfer_params, which the request to the other
	// server repeats.
	PrefillParams = "kv_transfer_params"
	// PrefillBootstrap is SGLang's: both servers get the request at once, with the place where they meet.
	PrefillBootstrap = "bootstrap"
)

// DefaultBootstrapPort is SGLang's own default (--disaggregation-bootstrap-port).
const DefaultBootstrapPort = 8998

// MaxPrefillAnswer is how much is read of the answer of a server that reads a prompt, in bytes. vLLM's names each block
// of the prompt, which takes some bytes for 16 tokens. A part of it goes to the other server behind the request's body.
const MaxPrefillAnswer = 1 << 20

// PoolClusterPrefix begins the name of a pool's cluster where the control plane configures the proxy.
const PoolClusterPrefix = "harmony-pool-"

// PoolCluster returns the name of a pool's cluster.
func PoolCluster(pool string) string { return PoolClusterPrefix + pool }

// Fields returns the settings of the block.
func (p *Prefill) Fields() []Field {
	return []Field{
		text("cluster", &p.Cluster, "").required(),
		text("pool", &p.Pool, ""),
		texts("servers", &p.Servers, validAuthority, "must be host:port"),
		number("bootstrap_port", &p.BootstrapPort, DefaultBootstrapPort, 1, 65535),
		number("min_tokens", &p.MinTokens, 0, 0, MaxContextLength),
		word("on_failure", &p.OnFailure, PrefillDecode, PrefillDecode, PrefillRefuse),
	}
}

// validAuthority reports whether a text is host:port. It checks only what the filter needs to know.
func validAuthority(s string) bool {
	at := strings.LastIndexByte(s, ':')
	return at > 0 && at < len(s)-1 && !strings.ContainsAny(s, " \",/")
}

// CannotPrefill returns the reason why a model of this kind and these settings cannot have prefill servers, or "".
func CannotPrefill(m *ModelSettings, kind *Kind, mode string) string {
	switch {
	case kind == nil:
		return ""
	case kind.Prefill == "":
		return "is not known for servers of the kind " + kind.Name + "; use servers of the kind " +
			strings.Join(prefillKinds(), ", ")
	case mode == ModeReduced:
		return `cannot be where mode is "reduced": a request is sent on there before its prompt is known`
	case m.TranslatedShare() != 100:
		return "is for translated requests; leave translate out, because others would reach the decode servers alone"
	case m.RawPrompts == RawPromptsAllow:
		return "is for translated requests; leave raw_prompts out, because clients' own prompts would reach the decode " +
			"servers alone"
	}
	return ""
}

// prefillKinds returns the names of the kinds whose servers can divide the work.
func prefillKinds() []string {
	var names []string
	for i := range kinds {
		if kinds[i].Prefill != "" {
			names = append(names, kinds[i].Name)
		}
	}
	return names
}
