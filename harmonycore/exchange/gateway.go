package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Model is one Harmony model and what its servers speak.
type Model struct {
	contract.Model
	Dialect backend.Dialect
}

// Options is what a Gateway is made of.
type Options struct {
	contract.Config
	Tokenizer *tokenizer.Tokenizer
	// SealKeys seal the reasoning that Responses clients carry from one request to the next; nil seals nothing.
	SealKeys *seal.Keys
	// Dialect is what the servers of every model speak; nil is that of each model's own [contract.Model.Server].
	Dialect backend.Dialect
}

// Gateway is what all exchanges share. It does not change once made.
type Gateway struct {
	options  Options
	models   []Model
	renderer *harmony.Renderer
	// reduced reports whether the host can hold no headers: neither a request's until its body is there, nor a response's
	// until the first token. There is one model then, since the route is chosen before the body names the model.
	reduced bool
	// misconfigured reports whether there are no options to go by.
	misconfigured bool
}

// New makes a Gateway of options whose kinds of servers are in [contract.ServerKinds].
func New(o Options) *Gateway {
	g := &Gateway{options: o, renderer: harmony.NewRenderer(o.Tokenizer), reduced: o.Mode == contract.ModeReduced}
	for i := range o.Models {
		m := Model{Model: o.Models[i], Dialect: o.Dialect}
		if m.Dialect == nil {
			m.Dialect, _ = backend.Named(m.Server)
		}
		g.models = append(g.models, m)
	}
	return g
}

func (g *Gateway) model(name string) *Model {
	for i := range g.models {
		if g.models[i].Name == name {
			return &g.models[i]
		}
	}
	return nil
}

// passesOtherModels reports whether a request for another model passes unchanged after its body was read.
func (g *Gateway) passesOtherModels() bool { return g.options.Passthrough && !g.reduced }

// onlyModel returns the model of a gateway with one model, whose requests can be routed before they name it, or nil.
func (g *Gateway) onlyModel() *Model {
	if len(g.models) != 1 {
		return nil
	}
	return &g.models[0]
}
