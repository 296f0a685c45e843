package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Clients determines how clients are told apart (docs/keys.md). Without a file and a header they are not.
type Clients struct {
	// KeysFile is a file with the clients, the hashes of their keys, and their limits. It is read again whenever it
	// changes.
	KeysFile string `yaml:"keys_file"`
	// Header is the header in which what is in front of Envoy names the client. Keys are not checked then. Clients must
	// not be able to set it.
	Header string `yaml:"header"`
	// Required reports whether requests of no known client are refused.
	Required bool `yaml:"required"`
}

// On reports whether clients are told apart.
func (c *Clients) On() bool { return c.KeysFile != "" || c.Header != "" }

// ByKey reports whether clients are told apart by their keys.
func (c *Clients) ByKey() bool { return c.KeysFile != "" && c.Header == "" }

// Limits determines who holds clients to the limits of [Clients.KeysFile]. The zero value holds them to the largest
// context alone.
type Limits struct {
	// Mode is "service" or "local". Empty: service if there is an URL, or nobody. Local: each Envoy by itself.
	Mode string `yaml:"mode" jsonschema:"enum=service,enum=local"`
	// URL is the address of the rate limit service (harmony limits), such as http://10.0.0.9:9005.
	URL string `yaml:"url"`
	// URLs are the addresses of its replicas, which share one Redis, in the place of URL. A name with several addresses is
	// as good.
	URLs []string `yaml:"urls"`
	// OnFailure is "allow" or "refuse": what becomes of requests while the service does not answer. Empty: allow.
	OnFailure string `yaml:"on_failure" jsonschema:"enum=allow,enum=refuse"`
	// Timeout is how long a request waits for the service's answer. 0 is the default.
	Timeout Duration `yaml:"timeout"`
	// ExpectedAnswer is how many tokens a request without max_tokens reserves for its answer, beside its prompt. 0 is the
	// default.
	ExpectedAnswer int `yaml:"expected_answer" jsonschema:"minimum=0"`
}

// Expected returns how many tokens a request without max_tokens reserves for its answer at most. By default that is all
// that a model may write where each Envoy keeps the limits by itself, because such an Envoy settles nothing.
func (l *Limits) Expected() int {
	switch {
	case l.ExpectedAnswer > 0:
		return l.ExpectedAnswer
	case l.Kept() == LimitsLocal:
		return contract.MaxContextLength
	default:
		return contract.DefaultExpectedAnswer
	}
}

// The values of [Limits.Mode] and of [Limits.OnFailure].
const (
	LimitsService = "service"
	LimitsLocal   = "local"
	LimitsAllow   = "allow"
	LimitsRefuse  = "refuse"
)

// DefaultLimitsTimeout is the default of [Limits.Timeout].
const DefaultLimitsTimeout = 500 * time.Millisecond

// Kept returns who keeps the limits: [LimitsService], [LimitsLocal], or "" for nobody.
func (l *Limits) Kept() string {
	if l.Mode == "" && (l.URL != "" || len(l.URLs) > 0) {
		return LimitsService
	}
	return l.Mode
}

// maxReplicas is how many replicas of a rate limit service Envoys may know.
const maxReplicas = 32

// resolve returns the addresses of the service.
func (l *Limits) resolve(r *Resolved) *Error {
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: "limits." + field, Reason: fmt.Sprintf(format, args...)}
	}
	urls, field := l.URLs, func(i int) string { return fmt.Sprintf("urls[%d]", i) }
	switch {
	case l.URL != "" && len(urls) > 0:
		return fail("urls", "is given beside limits.url; write all replicas into urls")
	case len(urls) > maxReplicas:
		return fail("urls", "has %d replicas; %d is the limit", len(urls), maxReplicas)
	case len(urls) == 0:
		urls, field = []string{l.URL}, func(int) string { return "url" }
	}
	for i, text := range urls {
		if u, err := url.Parse(text); text == "" || err != nil || u.Scheme == "" {
			return fail(field(i), "%q is not the address of a rate limit service; write such as http://127.0.0.1:9005", text)
		}
		e, err := ParseURL(text)
		if err != nil {
			return fail(field(i), "%v", err)
		}
		if owner, ok := r.owners[e.withoutScheme()]; ok {
			return fail(field(i), "%s is also a server of %s, which keeps no limits; run harmony limits, and write its address",
				text, owner)
		}
		if len(r.Limits) > 0 && e.TLS != r.Limits[0].TLS {
			return fail(field(i), "%s and %s cannot both be asked; write either http:// or https:// for all", urls[0], text)
		}
		r.Limits = append(r.Limits, e)
	}
	return nil
}

// filterClients returns what the filter is told about clients, without the file's content.
func (c *Config) filterClients() contract.Clients {
	if !c.Clients.On() {
		return contract.Clients{}
	}
	f := contract.Clients{By: contract.ClientsByKey, Required: c.Clients.Required, Reserve: c.Limits.Kept() != "",
		ExpectedAnswer: c.Limits.Expected()}
	if c.Clients.Header != "" {
		f.By, f.Header = contract.ClientsByHeader, strings.ToLower(c.Clients.Header)
	}
	if c.Passthrough != "" {
		f.Paths = c.PassthroughPaths
	}
	return f
}

func (c *Config) checkClients() *Error {
	h := c.Clients.Header
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch lower := strings.ToLower(h); {
	case h != "" && !httpguts.ValidHeaderFieldName(h):
		return fail("clients.header", "%q is not the name of a header", h)
	case strings.Contains(h, "_"):
		return fail("clients.header", "%q has an underscore, and requests with such headers are refused; use dashes", h)
	case contract.IsInternalHeader(lower), lower == "authorization", lower == "host":
		return fail("clients.header", "%s has another meaning; let what is in front set one of its own", h)
	}
	if c.Clients.ByKey() {
		for i := range c.Models {
			if c.Models[i].ForwardAuthorization {
				return failModel(i)("forward_authorization", "would send clients' keys for this gateway to servers; leave it out, "+
					"or leave clients.keys_file out")
			}
		}
	}
	return nil
}

// checkLimits checks who keeps limits.
func (c *Config) checkLimits(r *Resolved) *Error {
	l := &c.Limits
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: "limits." + field, Reason: fmt.Sprintf(format, args...)}
	}
	switch l.Kept() {
	case "":
		if l.OnFailure != "" || l.Timeout != 0 || l.ExpectedAnswer != 0 {
			return fail("url", "is missing; write the address of harmony limits, such as http://127.0.0.1:9005")
		}
		return nil
	case LimitsService, LimitsLocal:
	default:
		return fail("mode", "%q is not known; write service or local", l.Mode)
	}
	switch {
	case c.Clients.KeysFile == "":
		return fail("mode", "has no limits to keep; write them in a file, and name it as clients.keys_file")
	case c.Mode == contract.ModeReduced:
		return fail("mode", "cannot be kept where mode is reduced, because headers are sent on before the prompt is counted")
	case l.OnFailure != "" && l.OnFailure != LimitsAllow && l.OnFailure != LimitsRefuse:
		return fail("on_failure", "%q is not known; write allow or refuse", l.OnFailure)
	case l.ExpectedAnswer < 0 || l.ExpectedAnswer > contract.MaxContextLength:
		return fail("expected_answer", "%d is out of range; write how many tokens an answer is expected to have, such as %d",
			l.ExpectedAnswer, contract.DefaultExpectedAnswer)
	case time.Duration(l.Timeout) > time.Minute:
		return fail("timeout", "%v is too long for each request to wait; use at most 1m", &l.Timeout)
	}
	for i := range c.Pools {
		if c.Pools[i].Prefill.Pool != "" {
			return fail("mode", "cannot be kept for the pool %s: its prefill servers read a prompt before Envoy asks for limits; "+
				"leave prefill out, or limits", c.Pools[i].Name)
		}
	}
	if l.Kept() == LimitsLocal {
		if l.URL != "" || len(l.URLs) > 0 || l.OnFailure != "" || l.Timeout != 0 {
			return fail("mode", "local asks no service; leave url, urls, on_failure and timeout out")
		}
		return nil
	}
	return l.resolve(r)
}
