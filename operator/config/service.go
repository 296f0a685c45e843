package config

import (
	"cmp"
	"reflect"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// ResponsesPool is the value of the internal header that leads to the responses service. If there is one, no model can
// have this name.
const ResponsesPool = "responses-service"

// DefaultServiceListen is where the product's own responses service listens. The service of harmony up listens on a
// free port.
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
	Background int `yaml:"background"`
	// MaxRequests is how many requests a replica handles at once. 0 is the default.
	MaxRequests int `yaml:"max_requests"`
	// MemoryLimit is what all requests of a replica may take together. 0 is the default.
	MemoryLimit Size `yaml:"memory_limit"`
	// MaxConnections is how many connections a replica has to its database. 0 is the default.
	MaxConnections int `yaml:"max_connections"`
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
	// Messages reports whether the service answers requests of Anthropic's Messages API whose tools a server runs. Absent:
	// the product's own service does, and another does not.
	Messages *bool `yaml:"messages"`
}

// Persist says what of a conversation the product's own service keeps.
type Persist struct {
	// Reasoning is "keep", "until_final" or "never". until_final removes it when an answer on the final channel follows.
	// Empty: keep.
	Reasoning string `yaml:"reasoning"`
	// Commentary is "keep" or "drop": what a model says before a call. Empty: keep.
	Commentary string `yaml:"commentary"`
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

// servesMessages reports whether the service answers requests of Anthropic's Messages API. Without tools it gets none.
func (s *ResponsesService) servesMessages() bool {
	if s.Messages == nil {
		return s.Store != "" && s.runsTools()
	}
	return *s.Messages && s.runsTools()
}

func (s *ResponsesService) filter() contract.ResponsesService {
	if s.Address() == "" {
		return contract.ResponsesService{}
	}
	return contract.ResponsesService{Pool: ResponsesPool, Stores: enabled(s.Stores), HostedTools: s.runsTools(),
		WebSocket: s.ServesWebSocket(), Messages: s.servesMessages()}
}

// checkService checks the service. r holds the models' servers.
func (c *Config) checkService(r *Resolved, p *problems) {
	s := &c.ResponsesService
	s.Tools.check(p.under("responses_service.tools."))
	if s.Address() == "" {
		return // flags may still add a store
	}
	s.checkOwn(p)
	if !p.set["responses_service.listen"] { // the address, without a url
		var e *Error
		r.Service, e = r.untranslated("responses_service.url", s.Address(), "name the service")
		p.put(e)
	}
	if !enabled(s.Stores) && !s.runsTools() {
		p.add("responses_service", "gets no requests; leave it out, or write true for stores or hosted_tools")
	}
	if c.Mode == contract.ModeReduced {
		p.add("responses_service", "does not work in reduced mode, which forwards a request before its body is read; leave "+
			"it out, or write mode: full")
	}
	for i := range c.Models {
		if c.Models[i].Relay != contract.RelayOff && !enabled(s.Stores) {
			p.add(modelPath(i)+"relay", "needs a responses service that stores")
		}
		if c.Models[i].KeepAlive != 0 && s.Store == "" {
			p.add(modelPath(i)+"keep_alive", "is for this product's responses service, and responses_service has no store; "+
				"leave it out, and let your own service keep streams alive")
		}
		if c.Models[i].Route() == ResponsesPool {
			p.add(modelPath(i)+"name", "%s is the name of the responses service; give the model another name", ResponsesPool)
		}
	}
}

// checkServicePresent checks that there is a service if the configuration has settings of it, or a need of it.
func (c *Config) checkServicePresent(p *problems) {
	if c.ResponsesService.Address() != "" {
		return
	}
	if !reflect.DeepEqual(c.ResponsesService, ResponsesService{}) {
		p.add("responses_service", "has no url and no store; write url: http://host:port for a service of your own, store: "+
			"FILE for this one, or leave the block out")
		return
	}
	for i := range c.Models {
		if c.Models[i].Relay != contract.RelayOff {
			p.add(modelPath(i)+"relay", "needs the responses service; write responses_service with store: FILE, or relay: off")
		}
	}
}

// checkOwn checks the settings of the product's own service.
func (s *ResponsesService) checkOwn(p *problems) {
	if s.Store == "" {
		own := *s
		own.URL, own.Stores, own.HostedTools, own.WebSocket, own.Messages = "", nil, nil, nil, nil
		if !reflect.DeepEqual(own, ResponsesService{}) {
			p.add("responses_service", "has settings of the service that needs a store; write store: FILE, or leave them out")
		}
		return
	}
	fail := p.under("responses_service.")
	if s.HostedTools != nil && *s.HostedTools != s.runsTools() {
		fail("hosted_tools", "is %t, and tools says which tools this service runs; leave it out", *s.HostedTools)
	}
	if at, err := ParseListen(s.Listen); s.Listen != "" && err == nil {
		if at.Port() == 0 {
			fail("listen", "%s has no fixed port, by which Envoys find it", s.Listen)
		}
		if s.URL == "" && at.Addr().IsUnspecified() {
			fail("listen", "%s is no address that Envoys can connect to; write this machine's, or write in url where they find "+
				"the service", s.Listen)
		}
	}
}
