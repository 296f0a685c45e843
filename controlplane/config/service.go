package config

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// ResponsesPool is the value of the internal header that leads to the responses service. If there is one, no model can
// have this name.
const ResponsesPool = "responses-service"

// ResponsesService is the server for requests of the Responses API that need more than one answer of a model:
// docs/responses-service.md.
type ResponsesService struct {
	// URL is the address of the service. Empty: there is none.
	URL string `yaml:"url"`
	// Stores reports whether the service keeps responses and conversations. HostedTools reports whether it runs tools.
	// Absent: true.
	Stores      *bool `yaml:"stores"`
	HostedTools *bool `yaml:"hosted_tools"`
}

func enabled(setting *bool) bool { return setting == nil || *setting }

func (s *ResponsesService) filter() contract.ResponsesService {
	if s.URL == "" {
		return contract.ResponsesService{}
	}
	return contract.ResponsesService{Pool: ResponsesPool, Stores: enabled(s.Stores), HostedTools: enabled(s.HostedTools)}
}

// checkService checks the service. r holds the models' servers.
func (c *Config) checkService(r *Resolved) *Error {
	if field, reason := outOfRange(c.Settings.Fields()); field != "" {
		return &Error{Field: field, Reason: reason}
	}
	s := &c.ResponsesService
	if s.URL == "" {
		if s.Stores != nil || s.HostedTools != nil {
			return &Error{Field: "responses_service", Reason: "has no url; write http://host:port, or leave the block out"}
		}
		return nil
	}
	var e *Error
	if r.Service, e = r.untranslated("responses_service.url", s.URL, "name the service"); e != nil {
		return e
	}
	if !enabled(s.Stores) && !enabled(s.HostedTools) {
		return &Error{Field: "responses_service",
			Reason: "gets no requests; leave it out, or write true for stores or hosted_tools"}
	}
	if c.Mode == contract.ModeReduced {
		return &Error{Field: "responses_service", Reason: "does not work in reduced mode, which forwards a request before " +
			"its body is read; leave it out, or write mode: full"}
	}
	for i := range c.Models {
		if c.Models[i].Route() == ResponsesPool {
			return &Error{Field: fmt.Sprintf("models[%d].name", i),
				Reason: ResponsesPool + " is the name of the responses service; give the model another name"}
		}
	}
	return nil
}
