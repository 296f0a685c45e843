package config

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ResponsesService is the server for what the Responses API has beyond one answer of a model (docs/responses-service.md).
// The zero value is none.
type ResponsesService struct {
	// Pool is the value of the internal header that routes to it. No model may have the same.
	Pool string
	// Stores says that it keeps responses and conversations, HostedTools that it runs tools, or has them run.
	Stores, HostedTools bool
}

// The settings of Config.HostedTools: what becomes of a tool that the model is not shown, where no service runs it.
const (
	HostedToolsIgnore = "ignore"
	HostedToolsRefuse = "refuse"
)

// responsesService reads the service. One that is named takes everything, unless it is said to take less.
func (p *parser) responsesService(path string, v *rawjson.Value, s *ResponsesService) {
	s.Stores, s.HostedTools = true, true
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "pool":
			s.Pool = p.text(key, value)
		case "stores":
			s.Stores = p.boolean(key, value)
		case "hosted_tools":
			s.HostedTools = p.boolean(key, value)
		default:
			return false
		}
		return true
	})
	if s.Pool == "" {
		p.fail(path+".pool", "is required")
	}
	if !s.Stores && !s.HostedTools {
		p.fail(path, "takes nothing: stores or hosted_tools must be true")
	}
}

// checkService holds the service against the rest of the configuration.
func (p *parser) checkService(c *Config) {
	if c.ResponsesService.Pool == "" {
		return
	}
	if c.Mode == ModeReduced {
		p.fail("responses_service", `cannot be where mode is "reduced": a request's way is chosen there before its body says what it needs`)
	}
	for i := range c.Models {
		if c.Models[i].Pool == c.ResponsesService.Pool {
			p.fail("responses_service.pool", "is the pool of the model "+c.Models[i].Name+" too")
		}
	}
}

func (s *ResponsesService) write(w *writer) {
	w.text("pool", s.Pool, "")
	w.flag("stores", s.Stores, true)
	w.flag("hosted_tools", s.HostedTools, true)
}
