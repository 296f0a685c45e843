package config

import (
	"fmt"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func (p *Pool) fields() []Field {
	return []Field{
		{Key: "name", At: &p.Name, Required: true, Form: FormName, Check: nameReason,
			Meaning: "what models call it: letters, digits, `-` and `_`"},
		{Key: "kind", At: &p.Kind, Zero: contract.VLLM, Words: contract.ServerKinds(),
			Meaning: "the kind of its servers, one for all of them: [kinds](pools.md#kinds)"},
		{Key: "accept_text_prompts", At: &p.AcceptTextPrompts, Flag: "--accept-text-prompts",
			Meaning: "`true` allows kinds that take [prompts as text](servers.md#prompts-as-text)"},
		{Key: "servers", At: &p.Servers, Form: FormURL,
			Meaning: "URLs of its servers, by address or by a name of DNS: [pools](pools.md)"},
		{Key: "servers_file", At: &p.ServersFile, Form: FormFile,
			Meaning: "a file with more of them, read again when it changes: [pools](pools.md#the-file)"},
		{Key: "service", Block: p.Service.fields()},
		{Key: "inference_pool", Block: p.InferencePool.fields()},
		{Key: "drain", At: &p.Drain, Form: FormURL,
			Meaning: "URLs of its servers that get no new requests: [draining](pools.md#draining-a-server)"},
		{Key: "policy", At: &p.Policy, Zero: PolicyLeastRequest,
			Words: []string{PolicyLeastRequest, PolicyRoundRobin, PolicySession, PolicyPrefix, PolicyPicker},
			Meaning: "how a server is chosen: `least_request`, `round_robin`, `session`, [`prefix`](routing.md) or " +
				"`picker`"},
		{Key: "session", Block: p.Session.fields()},
		{Key: "affinity", Block: p.Affinity.fields()},
		{Key: "picker", Block: p.Picker.fields()},
		{Key: "capacity", At: &p.Capacity, Shown: "0, no limit", Range: numbers(0, 1<<20),
			Advice:  "is out of range; write how many requests one server works on at once, or 0 for no limit",
			Meaning: "how many requests a server works on at once (vLLM: `--max-num-seqs`)"},
		{Key: "queue", Block: p.Queue.fields()},
		{Key: "spares", At: &p.Spares, Form: FormName,
			Meaning: "pools whose servers help out, in their order: [spares](pools.md#spares)"},
		{Key: "retry_busy", At: &p.RetryBusy,
			Meaning: "`true`: a server's 429 is asked [elsewhere](pools.md#a-server-that-refuses), as its 503 is"},
		{Key: "tries", At: &p.Tries, Zero: DefaultTries, Range: numbers(1, 20),
			Advice:  "is out of range; write how many attempts a request has in a pool, from {min} to {max}",
			Meaning: "attempts that a request has in the pool, and then in each [spare](pools.md#spares)"},
		{Key: "health", Block: p.Health.fields()},
		{Key: "retry_until", At: &p.RetryUntil, Zero: RetryUntilFirstToken,
			Words:   []string{RetryUntilFirstToken, RetryUntilHeaders},
			Meaning: "until when another server may be asked: [`first_token`, or `headers`](pools.md#failed-attempts)"},
		{Key: "slow_start", At: &p.SlowStart, Shown: "0", Range: times(0, time.Hour),
			Advice:  "is too long; use at most {max}",
			Meaning: "the time in which a new server comes to its full share, for cold caches"},
		{Key: "load", Block: p.Load.fields()},
		{Key: "authorization", At: &p.Authorization, Form: FormToken,
			Meaning: "name of a secret for the servers, as `Authorization: Bearer …`"},
		{Key: "probe", Block: p.Probe.fields()},
		{Key: "prefill", Block: p.Prefill.fields()},
		{Key: "render", At: &p.Render, Form: FormName,
			Meaning: "pool that [renders](vllm-render.md) this pool's conversations, if not itself"},
	}
}

func (s *PoolService) fields() []Field {
	return []Field{
		{Key: "name", At: &s.Name, Form: FormName,
			Meaning: "a Service of Kubernetes whose ready endpoints are more of them: " +
				"[pools](pools.md#a-service-of-kubernetes)"},
		{Key: "namespace", At: &s.Namespace, Shown: "the control plane's own", Form: FormName,
			Meaning: "the Service's namespace"},
		{Key: "port", At: &s.Port, Shown: "the only one", Form: "name or number",
			Meaning: "name or number of the servers' port, as the EndpointSlices have it"},
		{Key: "scheme", At: &s.Scheme, Zero: "", Shown: "as in `servers`, or `http`",
			Words: []string{SchemeHTTP, SchemeHTTPS}, Meaning: "`http` or `https`"},
	}
}

func (p *InferencePool) fields() []Field {
	return []Field{
		{Key: "name", At: &p.Name, Form: FormName,
			Meaning: "an InferencePool of Kubernetes whose ready pods are more of them: [pools](pools.md#an-inferencepool)"},
		{Key: "namespace", At: &p.Namespace, Shown: "the control plane's own", Form: FormName,
			Meaning: "the InferencePool's namespace"},
	}
}

func (s *Session) fields() []Field {
	return []Field{
		{Key: "cookie", At: &s.Cookie, Form: "cookie", Check: tokenReason("cookie"),
			Meaning: "`session`: requests with one value of this cookie stay with one server"},
		{Key: "header", At: &s.Header, Form: FormHeader, Check: tokenReason("header"),
			Meaning: "`session`, `prefix`: requests with one value of this header stay with one server"},
	}
}

// tokenReason returns a check of the names of cookies or of headers.
func tokenReason(what string) func(string) string {
	return func(text string) string {
		if !httpguts.ValidHeaderFieldName(text) {
			return fmt.Sprintf("%q is not the name of a %s", text, what)
		}
		return ""
	}
}

func (a *Affinity) fields() []Field {
	return []Field{
		{Key: "blocks", At: &a.Blocks, Zero: contract.DefaultBlocks, Range: numbers(1, contract.MaxBlocks),
			Advice:  "is out of range; write how many blocks of a prompt count, from {min} to {max}",
			Meaning: "`prefix`: how many blocks of a prompt's beginning count"},
		{Key: "block_size", At: &a.BlockSize, Zero: contract.DefaultBlockSize, Range: numbers(1, contract.MaxBlockSize),
			Advice:  "is out of range; write how many tokens a block has, from {min} to {max}",
			Meaning: "`prefix`: how many tokens a block has, as in the servers' caches"},
		{Key: "max_load", At: &a.MaxLoad, Zero: DefaultMaxLoad, Range: numbers(100, 1000),
			Advice:  "is out of range; write percents of the servers' average, from {min} to {max}",
			Meaning: "`prefix`: the most requests of a server, in percent of the servers' average"},
	}
}

func (p *Picker) fields() []Field {
	return []Field{
		{Key: "url", At: &p.URL, Shown: "the header comes from in front", Form: FormURL,
			Meaning: "`picker`: the [endpoint picker](routing.md#pickers) that Envoy asks, such as `http://10.0.0.5:9002`"},
		{Key: "send", At: &p.Send, Zero: SendHeaders, Words: []string{SendHeaders, SendBodies},
			Meaning: "what the picker gets: `headers`, or `bodies` too"},
		{Key: "timeout", At: &p.Timeout, Zero: Duration(DefaultPickerTimeout),
			Range: times(time.Millisecond, 5*time.Minute), Advice: "is out of range; write a time from {min} to {max}",
			Meaning: "how long a request waits for the picker, {range}; the same for all pools"},
		{Key: "on_failure", At: &p.OnFailure, Zero: OnFailureFallback,
			Words:   []string{OnFailureFallback, OnFailureRefuse},
			Meaning: "when the picker names no server: `fallback`, or `refuse` with 503"},
		{Key: "fallback", At: &p.Fallback, Zero: PolicyLeastRequest,
			Words:   []string{PolicyLeastRequest, PolicyRoundRobin, PolicyPrefix},
			Meaning: "the policy that chooses then: `least_request`, `round_robin` or `prefix`"},
		{Key: "blocks", At: &p.Blocks, Zero: DefaultPickerBlocks, Range: numbers(1, contract.MaxBlockHashes),
			Advice:  "is out of range; write how many blocks of a prompt the picker is told, from {min} to {max}",
			Meaning: "how many of a prompt's first blocks the picker is told, as hashes"},
	}
}

func (h *Health) fields() []Field {
	return []Field{
		{Key: "path", At: &h.Path, Shown: "the kind's, `/health` for vLLM, `none` for text", Form: "path of a URL",
			Check: healthReason, Meaning: "what each Envoy asks every server for; `none` asks nothing"},
		{Key: "interval", At: &h.Interval, Zero: Duration(DefaultHealthInterval),
			Range: times(100*time.Millisecond, time.Hour), Advice: "is out of range; write a time from {min} to {max}",
			Meaning: "the time between two questions, {range}"},
	}
}

func healthReason(text string) string {
	if text != NoHealthChecks && text[0] != '/' {
		return fmt.Sprintf("%q is not a path; write for example /health, or none", text)
	}
	return ""
}

func (l *PoolLoad) fields() []Field {
	return []Field{
		{Key: "weights", At: &l.Weights,
			Meaning: "servers with more to do than the others get fewer requests: [load](pools.md#load)"},
		{Key: "interval", At: &l.Interval, Zero: Duration(DefaultLoadInterval), Shown: fmt.Sprintf("`%s` with `weights`, else none", DefaultLoadInterval),
			Range: times(500*time.Millisecond, time.Minute), Advice: "is out of range; write a time from {min} to {max}",
			Meaning: "how often each server is asked for its load, {range}"},
	}
}

func (p *PoolProbe) fields() []Field {
	return []Field{
		{Key: "ask", At: &p.Ask, Zero: ProbeStart, Words: []string{ProbeStart, ProbeNever},
			Meaning: "`start`: each server is asked after its start if it takes token ids and structural tags: " +
				"[what is asked](pools.md#what-servers-are-asked); or `never`"},
		{Key: "on_lost_tags", At: &p.OnLostTags, Zero: LostTagsDegrade,
			Words: []string{LostTagsDegrade, LostTagsRefuse, LostTagsIgnore},
			Meaning: "while a server passes tags over, its models are as with `structured_outputs: none` (`degrade`) or " +
				"`refuse`; `ignore` changes nothing"},
	}
}

func (p *Prefill) fields() []Field {
	return []Field{
		{Key: "pool", At: &p.Pool, Form: FormName,
			Meaning: "pool whose servers read this pool's prompts: [prefill](prefill.md)"},
		{Key: "bootstrap_port", At: &p.BootstrapPort, Zero: contract.DefaultBootstrapPort, Range: numbers(1, 65535),
			Advice: "is not a port", Meaning: "SGLang's `--disaggregation-bootstrap-port` there"},
		{Key: "min_tokens", At: &p.MinTokens, Range: numbers(0, contract.MaxContextLength),
			Advice:  "is out of range; write how many tokens a prompt must have, or 0 for all prompts",
			Meaning: "vLLM: tokens that a prompt must have to go there"},
		{Key: "on_failure", At: &p.OnFailure, Zero: "", Shown: "vLLM: `decode`, SGLang: `refuse`",
			Words:   []string{contract.PrefillDecode, contract.PrefillRefuse},
			Meaning: "`decode` or `refuse`: [failures](prefill.md#failures)"},
	}
}
