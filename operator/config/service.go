package config

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// ResponsesPool is the value of the internal header that leads to the responses service. If there is one, no model can
// have this name.
const ResponsesPool = "responses-service"

// DefaultServiceListen is where the product's own responses service listens. That of harmony up listens on a free port.
const DefaultServiceListen = "127.0.0.1:8090"

// ResponsesService is the server for requests of the Responses API that need more than one answer of a model:
// docs/responses-service.md. With Store it is the product's own.
type ResponsesService struct {
	// URL is the address of the service. Empty: the program that reads this file runs the service, if there is a Store.
	URL string `yaml:"url"`
	// Store is the database of the product's own service: a file's path for SQLite, or postgres://HOST/DATABASE.
	Store string `yaml:"store"`
	// Listen is where the product's own service listens. It trusts what it is sent: keep it where only Envoys connect.
	Listen string `yaml:"listen"`
	// Gateway is the URL at which the product's own service asks the models. Empty: the first listener of this file.
	Gateway string `yaml:"gateway"`
	// Retention is how long responses are kept. 0 is the default.
	Retention Duration `yaml:"retention"`
	// EventRetention is how long a stream in the background can be resumed. 0 is the default.
	EventRetention Duration `yaml:"event_retention"`
	Persist        Persist  `yaml:"persist"`
	// Background is how many responses a replica makes in the background at once. 0 is the default.
	Background int `yaml:"background" jsonschema:"minimum=0,maximum=10000"`
	// MaxRequests is how many requests a replica handles at once. 0 is the default.
	MaxRequests int `yaml:"max_requests" jsonschema:"minimum=0,maximum=100000"`
	// MemoryLimit is what all requests of a replica may take together. 0 is the default.
	MemoryLimit Size `yaml:"memory_limit"`
	// MaxConnections is how many connections a replica has to its database. 0 is the default.
	MaxConnections int `yaml:"max_connections" jsonschema:"minimum=0,maximum=1000"`
	// AccessLog is the file of the access log: a line for each request. Empty: no log is written.
	AccessLog string `yaml:"access_log"`
	// Tools are the tools that the product's own service runs.
	Tools Tools `yaml:"tools"`
	// Stores reports whether the service keeps responses and conversations. Absent: true. HostedTools reports whether a
	// service of your own runs tools. Absent: true.
	Stores      *bool `yaml:"stores"`
	HostedTools *bool `yaml:"hosted_tools"`
	// WebSocket reports whether clients may connect by WebSocket, in the API's mode for that. Absent: the product's own
	// service serves it, and another does not.
	WebSocket *bool `yaml:"websocket"`
}

// Persist says what of a conversation the product's own service keeps.
type Persist struct {
	// Reasoning is "keep", "until_final" or "never". until_final removes it when an answer on the final channel follows.
	// Empty: keep.
	Reasoning string `yaml:"reasoning" jsonschema:"enum=keep,enum=until_final,enum=never"`
	// Commentary is "keep" or "drop": what a model says before a call. Empty: keep.
	Commentary string `yaml:"commentary" jsonschema:"enum=keep,enum=drop"`
}

// The values of [Persist].
const (
	PersistKeep       = "keep"
	PersistUntilFinal = "until_final"
	PersistNever      = "never"
	PersistDrop       = "drop"
)

func enabled(setting *bool) bool { return setting == nil || *setting }

// Address returns the URL of the service, or empty if there is none.
func (s *ResponsesService) Address() string {
	if s.URL == "" && s.Store != "" {
		return "http://" + s.ListenAddress()
	}
	return s.URL
}

// ListenAddress returns where the product's own service listens.
func (s *ResponsesService) ListenAddress() string { return cmp.Or(s.Listen, DefaultServiceListen) }

// Runs reports whether the program that reads the file runs the service.
func (s *ResponsesService) Runs() bool { return s.Store != "" && s.URL == "" }

// runsTools reports whether the service gets requests because of their tools: to run those, or to refuse them.
func (s *ResponsesService) runsTools() bool {
	if s.Store != "" {
		return s.Tools.Served() || s.Tools.Others == contract.HostedToolsRefuse
	}
	return enabled(s.HostedTools)
}

// ServesWebSocket reports whether the service serves the API's WebSocket mode.
func (s *ResponsesService) ServesWebSocket() bool {
	if s.WebSocket == nil {
		return s.Store != ""
	}
	return *s.WebSocket
}

func (s *ResponsesService) filter() contract.ResponsesService {
	if s.Address() == "" {
		return contract.ResponsesService{}
	}
	return contract.ResponsesService{Pool: ResponsesPool, Stores: enabled(s.Stores), HostedTools: s.runsTools(),
		WebSocket: s.ServesWebSocket()}
}

// checkService checks the service. r holds the models' servers.
func (c *Config) checkService(r *Resolved) *Error {
	if field, reason := outOfRange(c.Settings.Fields()); field != "" {
		return &Error{Field: field, Reason: reason}
	}
	s := &c.ResponsesService
	if s.Address() == "" {
		return s.Tools.check() // flags may still add a store
	}
	e := s.checkOwn()
	if e != nil {
		return e
	}
	if r.Service, e = r.untranslated("responses_service.url", s.Address(), "name the service"); e != nil {
		return e
	}
	if !enabled(s.Stores) && !s.runsTools() {
		return &Error{Field: "responses_service",
			Reason: "gets no requests; leave it out, or write true for stores or hosted_tools"}
	}
	if c.Mode == contract.ModeReduced {
		return &Error{Field: "responses_service", Reason: "does not work in reduced mode, which forwards a request before " +
			"its body is read; leave it out, or write mode: full"}
	}
	for i := range c.Models {
		if c.Models[i].Relay != contract.RelayOff && !enabled(s.Stores) {
			return &Error{Field: fmt.Sprintf("models[%d].relay", i), Reason: "needs a responses service that stores"}
		}
		if c.Models[i].Route() == ResponsesPool {
			return &Error{Field: fmt.Sprintf("models[%d].name", i),
				Reason: ResponsesPool + " is the name of the responses service; give the model another name"}
		}
	}
	return nil
}

// checkServicePresent returns an error if the configuration has settings of the service, or a need of it, and no
// service.
func (c *Config) checkServicePresent() *Error {
	if c.ResponsesService.Address() != "" {
		return nil
	}
	if !reflect.DeepEqual(c.ResponsesService, ResponsesService{}) {
		return &Error{Field: "responses_service", Reason: "has no url and no store; write url: http://host:port for a " +
			"service of your own, store: FILE for this one, or leave the block out"}
	}
	for i := range c.Models {
		if c.Models[i].Relay != contract.RelayOff {
			return &Error{Field: fmt.Sprintf("models[%d].relay", i), Reason: "needs the responses service; write " +
				"responses_service with store: FILE, or relay: off"}
		}
	}
	return nil
}

// checkOwn checks the settings of the product's own service.
func (s *ResponsesService) checkOwn() *Error {
	if s.Store == "" {
		own := *s
		own.URL, own.Stores, own.HostedTools, own.WebSocket = "", nil, nil, nil
		if !reflect.DeepEqual(own, ResponsesService{}) {
			return &Error{Field: "responses_service", Reason: "has settings of the service that needs a store; write store: " +
				"FILE, or leave them out"}
		}
		return nil
	}
	if s.HostedTools != nil && *s.HostedTools != s.runsTools() {
		return &Error{Field: "responses_service.hosted_tools", Reason: fmt.Sprintf("is %t, and tools says which tools this "+
			"service runs; leave it out", *s.HostedTools)}
	}
	if u, err := url.Parse(s.Store); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return &Error{Field: "responses_service.store", Reason: "has a password, and this file is no place for secrets; " +
				"set PGPASSWORD, or PGPASSFILE"}
		}
	}
	if s.Listen != "" {
		at, err := ParseListen(s.Listen)
		if err != nil {
			return &Error{Field: "responses_service.listen", Reason: err.Error()}
		}
		if at.Port() == 0 {
			return &Error{Field: "responses_service.listen", Reason: s.Listen + " has no fixed port, by which Envoys find it"}
		}
		if s.URL == "" && at.Addr().IsUnspecified() {
			return &Error{Field: "responses_service.listen", Reason: s.Listen + " is no address that Envoys can connect to; write " +
				"this machine's, or write in url where they find the service"}
		}
	}
	if u, err := url.Parse(s.Gateway); s.Gateway != "" && (err != nil || u.Host == "" || u.Scheme != "http" &&
		u.Scheme != "https" || strings.Trim(u.Path, "/") != "") {
		return &Error{Field: "responses_service.gateway", Reason: fmt.Sprintf("%q is not the URL of a gateway; write "+
			"http://host:port", s.Gateway)}
	}
	for _, d := range []struct {
		field string
		value Duration
	}{{"retention", s.Retention}, {"event_retention", s.EventRetention}} {
		if v := time.Duration(d.value); v < 0 || v > 0 && v < time.Second {
			return &Error{Field: "responses_service." + d.field, Reason: v.String() + " is out of range; write at least 1s"}
		}
	}
	for _, n := range []struct {
		field      string
		value, max int
	}{{"background", s.Background, 10_000}, {"max_requests", s.MaxRequests, 100_000},
		{"max_connections", s.MaxConnections, 1000}} {
		if n.value < 0 || n.value > n.max {
			return &Error{Field: "responses_service." + n.field, Reason: fmt.Sprintf("%d is out of range; use 1 to %d, or 0 "+
				"for the default", n.value, n.max)}
		}
	}
	if e := s.Persist.check(); e != nil {
		return e
	}
	return s.Tools.check()
}

func (p *Persist) check() *Error {
	switch p.Reasoning {
	case "", PersistKeep, PersistUntilFinal, PersistNever:
	default:
		return &Error{Field: "responses_service.persist.reasoning", Reason: fmt.Sprintf("%q is not known; write keep, "+
			"until_final or never", p.Reasoning)}
	}
	switch p.Commentary {
	case "", PersistKeep, PersistDrop:
	default:
		return &Error{Field: "responses_service.persist.commentary", Reason: fmt.Sprintf("%q is not known; write keep or "+
			"drop", p.Commentary)}
	}
	return nil
}
