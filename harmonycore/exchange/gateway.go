package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/seal"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// PoolHeader carries the pool of a translated request to the proxy's routes. Nobody else may set it: a Harmony
// server is reachable only by a route that wants it (DESIGN.md decision 5).
const PoolHeader = InternalPrefix + "pool"

// InternalPrefix begins the name of every header between the parts of the gateway. None is taken from a client.
const InternalPrefix = "x-harmony-internal-"

// Model is one Harmony model and how its servers are spoken to.
type Model struct {
	translate.Model
	// Pool is the value of PoolHeader that leads to the model's servers.
	Pool string
	// Server is the servers' dialect, and ServerModel their name for the model.
	Server      backend.Dialect
	ServerModel string
	// ThinkingBudget says that the servers can hold a limit on reasoning by themselves.
	ThinkingBudget bool
	// DrainTokens is how many tokens more a server may generate for a stream that has ended before it, in the hope that it
	// ends by itself, before it is cut off.
	DrainTokens int
	// StructuralTags says that the servers hold an answer to one, from its first token on.
	StructuralTags bool
	// AllowRawPrompts lets clients send prompts of their own making.
	AllowRawPrompts bool
	// ChannelEvents makes channel events the form of Chat's streams where the client names none.
	ChannelEvents bool
	// Date decides the system message's date.
	Date DatePolicy
	// Strict ends every answer at the first thing that the reference would refuse, and not only where StrictHeader asks
	// for it.
	Strict bool
}

// Options is what a Gateway is made of.
type Options struct {
	Tokenizer *tokenizer.Tokenizer
	Models    []Model
	// Reduced says that the host can hold no headers: neither a request's until its body is there, nor a response's until
	// the first token. It wants one model, since the way is chosen before the body says which.
	Reduced bool
	// Passthrough says that requests for other models have somewhere to go.
	Passthrough bool
	// Service takes what is no single answer of a model's; a gateway that is Reduced has none. RefuseHostedTools is for the
	// tools that nobody runs, which are passed over without it.
	Service           Service
	RefuseHostedTools bool
	// BodyLimit is the largest request body accepted, in bytes.
	BodyLimit int
	// StallTimeout is how long a server may be silent, in milliseconds; 0 is for ever.
	StallTimeout int64
	// SealKeys, SealLifetime in seconds, and the header TenantHeader, in lower case: with what the reasoning is sealed that
	// Responses clients carry from one request to the next, for how long, and what tells the clients apart. No keys seal
	// nothing, and no header is one client for all.
	SealKeys     *seal.Keys
	SealLifetime int64
	TenantHeader string
	// ReasoningAlert is the part of an answer's tokens above which Report tells that reasoning took too many.
	ReasoningAlert float64
}

// Gateway is what all exchanges share. It does not change once made.
type Gateway struct {
	options  Options
	renderer *harmony.Renderer
	// misconfigured says that there are no options to go by.
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

// leavesOthers reports whether a request for another model goes on as it came, once its body has been read.
func (g *Gateway) leavesOthers() bool { return g.options.Passthrough && !g.options.Reduced }

// only is the one model of a gateway whose way must be chosen before a request names its model.
func (g *Gateway) only() *Model {
	if len(g.options.Models) != 1 {
		return nil
	}
	return &g.options.Models[0]
}

// completionsPath is the API's path for raw prompts.
const completionsPath = "/v1/completions"

// Begin starts the exchange of a request, or returns nil for one that is none of ours: it is to be left alone
// altogether. path may carry a query.
func (g *Gateway) Begin(method, path string) *Exchange {
	if at := strings.IndexByte(path, '?'); at >= 0 {
		path = path[:at]
	}
	if g.misconfigured {
		return g.beginMisconfigured(path)
	}
	if ambiguous(path) || oddMethod(method) && below(resolved(path), apiRoots[:]) {
		return &Exchange{gateway: g, kind: badPath, state: reading}
	}
	if e := g.beginStored(method, path); e != nil {
		return e
	}
	if method == "GET" {
		return g.beginModels(path)
	}
	if method != "POST" {
		return nil
	}
	k, ok := kindAt(path)
	if !ok {
		if _, about := storedResponse(method, path); about || !mayPrompt(path) {
			return nil
		}
		k = rawPrompt
	}
	// A host may read what comes later into the memory that the path lies in, as ours does with large ones.
	return &Exchange{gateway: g, path: strings.Clone(path), kind: k, state: reading}
}

// BeginUpgrade is Begin for a request that asks for another protocol on its connection, such as WebSocket, in a proxy that lets
// it through. What is ours is refused, and so is GET at the paths that take a body, which agents dial: such a request has no end.
func (g *Gateway) BeginUpgrade(method, path string) *Exchange {
	e := g.Begin(method, path)
	if e == nil {
		path, _, _ := strings.Cut(path, "?")
		if _, ok := kindAt(path); !ok || method != "GET" {
			return nil
		}
		e = &Exchange{gateway: g, state: reading}
	}
	if e.kind != badPath {
		e.kind = upgrade
	}
	return e
}

// kindAt is what is asked for by POST at a path.
func kindAt(path string) (k kind, ok bool) {
	switch path {
	case "/v1/chat/completions":
		return chat, true
	case "/v1/responses":
		return responses, true
	case "/v1/responses/input_tokens":
		return inputTokens, true
	case "/tokenize":
		return tokenizing, true
	case "/detokenize":
		return detokenizing, true
	case completionsPath, "/generate", "/completion", "/inference/v1/generate":
		return rawPrompt, true
	default:
		return 0, false
	}
}
