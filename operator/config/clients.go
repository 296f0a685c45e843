package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

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
	// Classes are the classes of clients, the one first that goes first where requests wait. DefaultClass is the class of
	// clients that have none. Empty: the first.
	Classes      []Class `yaml:"classes"`
	DefaultClass string  `yaml:"default_class"`
}

// On reports whether clients are told apart.
func (c *Clients) On() bool { return c.KeysFile != "" || c.Header != "" }

// ByKey reports whether clients are told apart by their keys.
func (c *Clients) ByKey() bool { return c.KeysFile != "" && c.Header == "" }

// Limits determines who holds clients to the limits of [Clients.KeysFile]. The zero value holds them to the largest
// context alone.
type Limits struct {
	// Mode is "service" or "local". Empty: service if there is an URL, or nobody. Local: each Envoy by itself.
	Mode string `yaml:"mode"`
	// URL is the address of the rate limit service (harmony limits), such as http://10.0.0.9:9005.
	URL string `yaml:"url"`
	// URLs are the addresses of its replicas, which share one Redis, instead of URL. A name with several addresses is
	// as good.
	URLs []string `yaml:"urls"`
	// OnFailure is "allow" or "refuse": what becomes of requests while the service does not answer. Empty: allow.
	OnFailure string `yaml:"on_failure"`
	// Timeout is how long a request waits for the service's answer. 0 is the default.
	Timeout Duration `yaml:"timeout"`
	// ExpectedAnswer is how many tokens a request without max_tokens reserves for its answer, beside its prompt. 0 is the
	// default.
	ExpectedAnswer int `yaml:"expected_answer"`
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
func (l *Limits) resolve(r *Resolved, fail failure) {
	urls, field := l.URLs, func(i int) string { return fmt.Sprintf("urls[%d]", i) }
	switch {
	case l.URL != "" && len(urls) > 0:
		fail("urls", "is given beside limits.url; write all replicas into urls")
	case len(urls) > maxReplicas:
		fail("urls", "has %d replicas; %d is the limit", len(urls), maxReplicas)
	case len(urls) == 0:
		urls, field = []string{l.URL}, func(int) string { return "url" }
	}
	for i, text := range urls {
		if u, err := url.Parse(text); text == "" || err != nil || u.Scheme == "" {
			fail(field(i), "%q is not the address of a rate limit service; write such as http://127.0.0.1:9005", text)
			continue
		}
		e, err := ParseURL(text)
		if err != nil {
			fail(field(i), "%v", err)
			continue
		}
		if owner, ok := r.owners[e.withoutScheme()]; ok {
			fail(field(i), "%s is also a server of %s, which keeps no limits; run harmony limits, and write its address",
				text, owner)
		}
		if len(r.Limits) > 0 && e.TLS != r.Limits[0].TLS {
			fail(field(i), "%s and %s cannot both be asked; write either http:// or https:// for all", urls[0], text)
		}
		r.Limits = append(r.Limits, e)
	}
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
	if c.routesByClass() {
		f.DefaultClass = c.Clients.DefaultClass
		if f.DefaultClass == "" && len(c.Clients.Classes) > 0 {
			f.DefaultClass = c.Clients.Classes[0].Name
		}
	}
	if c.Passthrough != "" {
		f.Paths = c.PassthroughPaths
	}
	return f
}

// checkKeysOfClients checks that no server gets the clients' keys for this gateway.
func (c *Config) checkKeysOfClients(p *problems) {
	for i := range c.Models {
		if c.Clients.ByKey() && c.Models[i].ForwardAuthorization {
			p.add(modelPath(i)+"forward_authorization", "would send clients' keys for this gateway to servers; leave it out, "+
				"or leave clients.keys_file out")
		}
	}
}

// checkLimits checks who keeps limits.
func (c *Config) checkLimits(r *Resolved, p *problems) {
	l, fail := &c.Limits, p.under("limits.")
	kept := l.Kept()
	if kept == "" {
		if l.OnFailure != "" || l.Timeout != 0 || l.ExpectedAnswer != 0 {
			fail("url", "is missing; write the address of harmony limits, such as http://127.0.0.1:9005")
		}
		return
	}
	if c.Clients.KeysFile == "" {
		fail("mode", "has no limits to keep; write them in a file, and name it as clients.keys_file")
	}
	if c.Mode == contract.ModeReduced {
		fail("mode", "cannot be kept where mode is reduced, because headers are sent on before the prompt is counted")
	}
	for i := range c.Pools {
		if c.Pools[i].Prefill.Pool != "" {
			fail("mode", "cannot be kept for the pool %s: its prefill servers read a prompt before Envoy asks for limits; "+
				"leave prefill out, or limits", c.Pools[i].Name)
		}
	}
	switch {
	case kept == LimitsService:
		l.resolve(r, fail)
	case kept == LimitsLocal && (l.URL != "" || len(l.URLs) > 0 || l.OnFailure != "" || l.Timeout != 0):
		fail("mode", "local asks no service; leave url, urls, on_failure and timeout out")
	}
}
