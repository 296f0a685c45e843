package exchange

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Model is one Harmony model, and the kind of its servers.
type Model struct {
	contract.Model
	Kind    backend.Kind
	servers servers
	// defaults come from [contract.ModelSettings.ExtraBody] for servers that take prompts. Otherwise they are nil.
	defaults *openai.Defaults
	// overrides come from [contract.ModelSettings.SamplingOverrides]. They may be nil.
	overrides *openai.Defaults
	// seed is the hash of the empty prompt.
	seed affinity.Hash
	// branches is the model for each of its further pools ([contract.Model.Route]).
	branches []*Model
	// overflow is the model that gets the requests whose prompts do not fit, or nil.
	overflow *Model
	// recalls reports whether the beginnings of its requests may be remembered.
	recalls bool
	// spellings are those of its control tokens, if its servers render conversations, or nil.
	spellings *chatserver.Spellings
}

// Options are the parts of a [Gateway].
type Options struct {
	contract.Config
	Tokenizer *tokenizer.Tokenizer
	// SealKeys seal the reasoning that Responses clients carry from one request to the next. If it is nil, nothing is
	// sealed.
	SealKeys *seal.Keys
	// Kind is the kind of all models' servers. If it is nil, each model has the kind that its [contract.Model.Server]
	// names.
	Kind backend.Kind
	// Prefixes remembers the beginnings of requests, for a host that makes one call at a time. It may be nil. Several
	// gateways may share it: none finds what another one has remembered.
	Prefixes *prefixmemory.Memory
	// Turns keeps outlines of prompts, for a host that makes one call at a time. It may be nil, and be shared as Prefixes.
	Turns *segments.Memory
	// Adapters are further values of [contract.ModelSettings.Speaks], by name. Each begins with [contract.ForeignPrefix].
	Adapters map[string]structure.New
}

// UnknownAdapter returns the index of the first model that speaks what no adapter reads, or -1.
func (o *Options) UnknownAdapter() int {
	for i := range o.Models {
		if _, ok := structure.Named(o.Models[i].Speaks, o.Adapters); !ok {
			return i
		}
	}
	return -1
}

// Gateway is shared by all exchanges. It never changes after [New].
type Gateway struct {
	options  Options
	models   []Model
	names    contract.Names
	renderer *harmony.Renderer
	// promptContext is the shortest context of the models whose servers take prompts, or 0 if there are no such models.
	promptContext int
	// userID is the token of the user's role in the header of a message.
	userID uint32
	// sessionHeaders are the names of the headers that name a session of some model's clients.
	sessionHeaders []string
	// guardedPaths come from [contract.Clients.Paths], in the form of [resolved].
	guardedPaths []string
	// reduced reports whether the host cannot hold headers: neither a request's until its body has come, nor a response's
	// until the first token. There is only one model then, since the route is chosen before the body names the model.
	reduced bool
	// spares reports whether there is a model of which no request is translated.
	spares bool
	// misconfigured reports whether the gateway has no valid options.
	misconfigured bool
	// owner is what the gateway's part of the memory of prefixes is known by.
	owner prefixmemory.Tag
	// leastRecalled and leastCut are the constants of these names.
	leastRecalled, leastCut int
}

// New returns a [Gateway]. The kinds of servers in its options must be in [contract.ServerKinds]. An
// [contract.ModelSettings.ExtraBody] that [openai.ReadDefaults] refuses is ignored, and so are such overrides.
func New(o Options) *Gateway {
	g := &Gateway{options: o, renderer: harmony.NewRenderer(o.Tokenizer), reduced: o.Mode == contract.ModeReduced}
	for i := range o.Models {
		m := Model{Model: o.Models[i], Kind: o.Kind}
		if m.Kind == nil {
			m.Kind, _ = backend.Named(m.Server)
		}
		if m.Kind != nil {
			g.choose(&m)
		}
		m.seed = affinity.Seed(m.ServerModel)
		m.recalls = o.Prefixes != nil && m.mayRecall()
		m.branches = branchesOf(&m)
		g.models = append(g.models, m)
		g.spares = g.spares || m.TranslatedShare() == 0
	}
	g.linkOverflows()
	g.names, g.sessionHeaders = namesOf(g.models), sessionHeaders(g.models)
	g.guardedPaths = guardedPaths(&o.Clients)
	g.userID = g.renderer.RoleID(harmony.User)
	if o.Prefixes != nil {
		g.leastRecalled, g.leastCut = leastRecalled, leastCut
		g.owner = o.Prefixes.Identity(prefixmemory.Tag{}, strconv.FormatUint(o.Prefixes.Owner(), 10))
	}
	return g
}

// choose sets what hangs on the kind of a model's servers.
func (g *Gateway) choose(m *Model) {
	facts := m.Kind.Facts()
	if facts.Conversations {
		m.servers = conversationServers{}
		if facts.Renders {
			calls, turns := structure.Tokens(m.Speaks)
			m.spellings = chatserver.NewSpellings(m.ControlSpellings, calls, turns)
		}
	} else {
		m.servers = promptServers{}
		if g.promptContext == 0 || m.ContextLength < g.promptContext {
			g.promptContext = m.ContextLength
		}
		if m.ExtraBody != "" {
			m.defaults, _ = openai.ReadDefaults(m.ExtraBody, facts)
		}
	}
	if m.SamplingOverrides != "" {
		m.overrides, _ = openai.ReadOverrides(m.SamplingOverrides, facts)
	}
}

// passesOtherModels reports whether a request for another model is sent on unchanged after its body has been read.
func (g *Gateway) passesOtherModels() bool { return g.options.Passthrough && !g.reduced }

// onlyModel returns the model of a gateway with one model, or nil. Requests for such a model can be routed before they
// name it.
func (g *Gateway) onlyModel() *Model {
	if len(g.models) != 1 {
		return nil
	}
	return &g.models[0]
}
