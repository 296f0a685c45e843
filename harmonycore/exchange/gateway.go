package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/seal"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Model is one Harmony model and how its servers are spoken to.
type Model struct {
	translate.Model
	// Pool is the value of [contract.PoolHeader] that leads to the model's servers.
	Pool string
	// Server is the servers' dialect, and ServerModel their name for the model.
	Server      backend.Dialect
	ServerModel string
	// ThinkingBudget reports whether the servers can hold a limit on reasoning by themselves.
	ThinkingBudget bool
	// DrainTokens is how many more tokens a server may generate after a stream that ended early. The server may end by
	// itself until then, and is cut off after that.
	DrainTokens int
	// StructuralTags reports whether the servers hold an answer to a structural tag, from its first token on.
	StructuralTags bool
	// AllowRawPrompts lets clients send prompts of their own making.
	AllowRawPrompts bool
	// ChannelEvents makes channel events the form of Chat's streams where the client names none.
	ChannelEvents bool
	// Date decides the system message's date.
	Date DatePolicy
	// Strict ends every answer at the first thing that the reference would refuse, and not only where
	// [contract.StrictHeader] asks for it.
	Strict bool
}

// Options is what a Gateway is made of.
type Options struct {
	Tokenizer *tokenizer.Tokenizer
	Models    []Model
	// Reduced reports whether the host can hold no headers: neither a request's until its body is there, nor a response's
	// until the first token. It wants one model, since the route is chosen before the body names the model.
	Reduced bool
	// Passthrough reports whether there is a server for other models.
	Passthrough bool
	// Service takes what is more than a single answer of a model; a Reduced gateway has none. RefuseHostedTools refuses
	// requests for hosted tools that no service runs; without it such tools are passed over.
	Service           Service
	RefuseHostedTools bool
	// BodyLimit is the largest request body accepted, in bytes.
	BodyLimit int
	// StallTimeout is how long a server may be silent, in milliseconds; 0 is for ever.
	StallTimeout int64
	// SealKeys seal the reasoning that Responses clients carry from one request to the next; nil seals nothing.
	// SealLifetime is for how long, in seconds. TenantHeader is the header by which clients are told apart, in lower case;
	// without one all clients are one tenant.
	SealKeys     *seal.Keys
	SealLifetime int64
	TenantHeader string
	// ReasoningAlert is the share of an answer's tokens above which [Report.ReasoningAlert] is set.
	ReasoningAlert float64
}

// Gateway is what all exchanges share. It does not change once made.
type Gateway struct {
	options  Options
	renderer *harmony.Renderer
	// misconfigured reports whether there are no options to go by.
	misconfigured bool
}

// New makes a Gateway.
func New(o Options) *Gateway {
	return &Gateway{options: o, renderer: harmony.NewRenderer(o.Tokenizer)}
}

func (g *Gateway) model(name string) *Model {
	for i := range g.options.Models {
		if g.options.Models[i].Name == name {
			return &g.options.Models[i]
		}
	}
	return nil
}

// leavesOthers reports whether a request for another model goes on as it came after its body has been read.
func (g *Gateway) leavesOthers() bool { return g.options.Passthrough && !g.options.Reduced }

// only is the model of a gateway with one model, whose requests can be routed before they name it; else it is nil.
func (g *Gateway) only() *Model {
	if len(g.options.Models) != 1 {
		return nil
	}
	return &g.options.Models[0]
}
