package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Fields returns the settings of the file, in the order of docs/configuration.md.
func (c *Config) Fields() []Field {
	return slices.Concat([]Field{
		{Key: "listen", At: &c.Listen, Flag: "--listen", Default: DefaultListen, Required: true, Form: FormAddress,
			Check: parses(ParseListen), Start: PartUp, Meaning: "where clients connect: IP address and port"},
		{Key: "listeners", Entries: entriesOf(c.Listeners, zero, (*Listener).fields)},
		{Key: "admin", At: &c.Admin, Flag: "--admin", Default: DefaultAdmin, Required: true, Form: FormAddress,
			Check: parses(ParseAdmin), Start: PartPage,
			Meaning: "[the page](sight.md#the-page), with Envoy's admin interface behind it: on loopback"},
		{Key: "mode", At: &c.Mode, Flag: "--mode", Default: contract.ModeFull,
			Words:   []string{contract.ModeFull, contract.ModeReduced},
			Meaning: "`reduced` is for an Envoy that cannot let the filter hold headers: [modes](modes.md)"},
		{Key: "body_limit", At: &c.BodyLimit, Flag: "--body-limit", Default: Size(DefaultBodyLimit),
			Range: sizes(1<<10, contract.MaxBodyLimit), Meaning: "the largest request that is read, {range}; beyond it 413"},
		{Key: "stall_timeout", At: &c.StallTimeout, Flag: "--stall-timeout", Zero: Duration(0),
			Default: Duration(contract.DefaultStallTimeoutMS * time.Millisecond), Range: times(time.Second, 24*time.Hour),
			Advice: "is too long; use at most {max}", Below: "would end every request; use at least {min}",
			Or: "0s to wait for ever", Meaning: "how long a server may be silent, {range}; `0s` is no limit"},
		// The default is enough for the largest body of the default size at a megabit a second.
		{Key: "request_timeout", At: &c.RequestTimeout, Default: Duration(2 * time.Minute),
			Range:   times(time.Second, time.Hour),
			Advice:  "is out of range; write how long a client may take to send a request, {min} to {max}",
			Meaning: "how long a client may take to send a request, {range}; then 408"},
		{Key: "memory_limit", At: &c.MemoryLimit, Default: Size(contract.DefaultMemoryLimit),
			Range: sizes(0, contract.MaxMemoryLimit), Advice: "is out of range; use at most {max}",
			Meaning: "how much memory each worker may use in the filter, {range}"},
		{Key: "prefix_memory", At: &c.PrefixMemory, Zero: Size(0), Default: Size(contract.DefaultPrefixMemory),
			Range: sizes(64<<10, contract.MaxPrefixMemory), Advice: "is out of range; use at most {max}",
			Below: "has no room for a request; use at least {min}", Or: "0 to remember nothing",
			Meaning: "how much of it is for [agents' turns](agent-turns.md), {range}; 0 is none"},
		{Key: "cache_reasons", At: &c.CacheReasons, Zero: Size(0), Range: sizes(64<<10, contract.MaxCacheReasons),
			Advice: "is out of range; use at most {max}", Below: "has no room for a prompt; use at least {min}",
			Or:      "0 to say nothing",
			Meaning: "how much of it is to say [why caches were missed](metrics.md#missed-caches), {range}; 0 is none"},
		{Key: "access_log", At: &c.AccessLog, Form: FormPath,
			Meaning: "file for a JSON object for each request: [metrics](metrics.md#the-access-log)"},
		{Key: "tracing", Block: c.Tracing.fields()},
		{Key: "cors_origins", At: &c.CORSOrigins, Check: originReason, Form: "origin",
			Meaning: "origins whose pages browsers let call the API; `*` is any"},
		{Key: "reasoning_ratio_alert", At: &c.ReasoningRatioAlert, Default: contract.DefaultReasoningAlert,
			Range: numbers(0, 1), Advice: "is out of range; use {min} to {max}; 1 counts no answer",
			Meaning: "answers with a larger part of reasoning are counted; 1 counts none"},
		{Key: "seal", Block: c.Seal.fields()},
		{Key: "responses_service", Block: c.ResponsesService.fields()},
	}, ofContract(c.Settings.Fields(), settingMeanings), []Field{
		{Key: "clients", Block: c.Clients.fields()},
		{Key: "limits", Block: c.Limits.fields()},
		{Key: "tap", Block: c.Tap.fields()},
		{Key: "passthrough", At: &c.Passthrough, Flag: "--passthrough", Form: FormURL,
			Meaning: "URL of a server for all other models; without one they are answered 404"},
		{Key: "passthrough_paths", At: &c.PassthroughPaths, Default: DefaultPassthroughPaths(), Check: pathReason,
			Form: "path of a URL", Meaning: "the paths that reach it"},
		{Key: "ca_file", At: &c.CAFile, Shown: "the system's", Form: FormFile,
			Meaning: "certificates that https servers are checked against"},
		{Key: "envoy", Block: c.Envoy.fields()},
		{Key: "models", Entries: entriesOf(c.Models, blankModel, (*Model).fields)},
		{Key: "pools", Entries: entriesOf(c.Pools, zero, (*Pool).fields)},
		{Key: "secrets", Entries: entriesOf(c.Secrets, zero, (*Secret).fields)},
	})
}

func (l *Listener) fields() []Field {
	return []Field{
		{Key: "address", At: &l.Address, Required: true, Form: FormAddress, Check: parses(ParseListen), Start: PartUp,
			Meaning: "several such addresses, instead of `listen`; all serve the same models"},
		{Key: "name", At: &l.Name, Zero: DefaultListener, Form: FormName, Check: nameReason, Start: PartUp,
			Meaning: "what Envoy's statistics call it"},
		{Key: "tls", At: &l.TLS, Form: FormCertificate, Start: PartUp,
			Meaning: "name of a secret with a certificate: clients speak TLS, HTTP/1.1 or HTTP/2"},
	}
}

func (t *Tracing) fields() []Field {
	return []Field{
		{Key: "url", At: &t.URL, Form: FormURL,
			Meaning: "where [spans](tracing.md) go: `http://host:4317` (gRPC), `http://host:4318/v1/traces` (HTTP)"},
		{Key: "share", At: &t.Share, Default: DefaultShare, Meaning: "the part of the traces that are sent"},
	}
}

func (s *Seal) fields() []Field {
	return []Field{
		{Key: "lifetime", At: &s.Lifetime, Zero: Duration(contract.DefaultSealLifetimeS * time.Second),
			Range:   times(time.Second, contract.MaxSealLifetimeS*time.Second),
			Advice:  "is out of range; write how long sealed reasoning can be opened, such as 720h",
			Meaning: "how long [sealed reasoning](sealed-reasoning.md) can be sent back, {range}"},
		{Key: "tenant_header", At: &s.TenantHeader, Form: FormHeader, Check: headerReason,
			Meaning: "the header whose value names the tenant; tenants cannot open each other's"},
	}
}

func (c *Clients) fields() []Field {
	return []Field{
		{Key: "keys_file", At: &c.KeysFile, Form: FormFile,
			Meaning: "a file with [clients](keys.md), hashes of their keys and limits; watched"},
		{Key: "header", At: &c.Header, Form: FormHeader, Check: clientHeaderReason,
			Meaning: "the header in which [what is in front](keys.md#what-is-in-front-names-the-client) names the client, in " +
				"place of keys"},
		{Key: "required", At: &c.Required, Default: true,
			Meaning: "false serves requests of no known client too, as `anonymous`"},
		{Key: "classes", Entries: entriesOf(c.Classes, zero, (*Class).fields)},
		{Key: "default_class", At: &c.DefaultClass, Shown: "the first", Form: FormName,
			Meaning: "the class of clients that the keys file gives none"},
	}
}

func (c *Class) fields() []Field {
	return []Field{
		{Key: "name", At: &c.Name, Required: true, Form: FormName, Check: nameReason,
			Meaning: "what the keys file calls it; the classes before it [go first](overload.md)"},
		{Key: "deadline", At: &c.Deadline, Zero: Duration(0), Shown: "the queue's", Range: times(time.Second, maxQueueTime),
			Meaning: "how long its requests wait in a queue, {range}"},
	}
}

func (l *Limits) fields() []Field {
	return []Field{
		{Key: "mode", At: &l.Mode, Zero: "", Shown: "`service` with `limits.url` or `limits.urls`, else none",
			Words:   []string{LimitsService, LimitsLocal},
			Meaning: "who keeps the [limits](keys.md#limits): `service`, or `local` for each Envoy by itself"},
		{Key: "url", At: &l.URL, Form: FormURL, Meaning: "URL of the [rate limit service](limits-service.md)"},
		{Key: "urls", At: &l.URLs, Form: FormURL, Meaning: "URLs of its replicas, instead of `limits.url`"},
		{Key: "on_failure", At: &l.OnFailure, Zero: LimitsAllow, Words: []string{LimitsAllow, LimitsRefuse},
			Meaning: "`refuse` answers 503 while the service does not answer"},
		{Key: "timeout", At: &l.Timeout, Zero: Duration(DefaultLimitsTimeout), Range: times(0, time.Minute),
			Advice:  "is too long for each request to wait; use at most {max}",
			Meaning: "how long a request waits for the service"},
		{Key: "expected_answer", At: &l.ExpectedAnswer, Zero: contract.DefaultExpectedAnswer,
			Shown: fmt.Sprintf("%d, or with `mode: local` the rest of the context", contract.DefaultExpectedAnswer),
			Range: numbers(1, contract.MaxContextLength),
			Advice: fmt.Sprintf("is out of range; write how many tokens an answer is expected to have, such as %d",
				contract.DefaultExpectedAnswer),
			Meaning: "tokens that a request without `max_tokens` [reserves](keys.md#what-is-reserved) for its answer"},
	}
}

func (t *Tap) fields() []Field {
	return []Field{{Key: "url", At: &t.URL, Form: FormURL,
		Meaning: "URL of the recorder of requests that ask for it: [a fleet](sight.md#a-fleet)"}}
}

func (e *Envoy) fields() []Field {
	return []Field{
		{Key: "path", At: &e.Path, Flag: "--envoy", Shown: "[the first that is found](installing.md#which-envoy)",
			Form: FormPath, Start: PartEnvoy, Meaning: "the Envoy to run, 1.37 or newer"},
		{Key: "concurrency", At: &e.Concurrency, Flag: "--concurrency", Zero: 0, Shown: "0, one per CPU",
			Range: numbers(1, 1024), Or: "0 for one per CPU", Start: PartEnvoy,
			Meaning: "Envoy's worker threads; each has its own VM with the filter"},
		{Key: "max_heap", At: &e.MaxHeap, Default: Size(DefaultMaxHeap), Range: sizes(128<<20, 1<<40), Start: PartEnvoy,
			Meaning: "how much memory Envoy may have in use itself, {range}"},
		{Key: "max_connections", At: &e.MaxConnections, Default: DefaultMaxConnections, Range: numbers(1, 1_000_000),
			Start:   PartEnvoy,
			Meaning: "how many connections of clients there may be at once; others are closed"},
		{Key: "expect", At: &e.Expect, Zero: 0, Shown: "0, any number", Range: numbers(1, 100_000), Or: "0 for any number",
			Meaning: "how many Envoys a control plane should have; `harmony status` fails while fewer are connected"},
	}
}

func (s *Secret) fields() []Field {
	return []Field{
		{Key: "name", At: &s.Name, Required: true, Form: FormName, Check: nameReason,
			Meaning: "what pools and listeners call it"},
		{Key: "file", At: &s.File, Form: FormFile, Meaning: "a token: a file with it"},
		{Key: "env", At: &s.Env, Form: "variable", Meaning: "a token: the variable of the control plane's environment that holds it"},
		{Key: "certificate", At: &s.Certificate, Form: FormFile, Meaning: "a certificate: a file with its chain, in PEM"},
		{Key: "key", At: &s.Key, Form: FormFile, Meaning: "a certificate: a file with its private key, in PEM"},
	}
}

// parses returns a check of texts that parse accepts.
func parses[T any](parse func(string) (T, error)) func(string) string {
	return func(text string) string {
		if _, err := parse(text); err != nil {
			return err.Error()
		}
		return ""
	}
}

func nameReason(text string) string {
	if !validName(text) {
		return fmt.Sprintf("%q is not a name; use %s", text, nameRule)
	}
	return ""
}

func headerReason(text string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(text):
		return fmt.Sprintf("%q is not the name of a header", text)
	case strings.Contains(text, "_"):
		return fmt.Sprintf("%q has an underscore, and requests with such headers are refused; use dashes", text)
	}
	return ""
}

func clientHeaderReason(text string) string {
	lower := strings.ToLower(text)
	if contract.IsInternalHeader(lower) || lower == "authorization" || lower == "host" {
		return text + " has another meaning; let what is in front set one of its own"
	}
	return headerReason(text)
}

func originReason(text string) string {
	if !validOrigin(text) {
		return fmt.Sprintf("%q is not an origin; write one as browsers do, such as https://chat.example.com, or * for any",
			text)
	}
	return ""
}

func pathReason(text string) string {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "?#* ") {
		return fmt.Sprintf("%q is not a path; write /path for one, or /path/ for everything below it", text)
	}
	return ""
}
