// Package gateway turns a configuration into a gateway at work, the same in every host.
//
// It knows the contract's words and the core's settings, not proxy-wasm nor any proxy.
package gateway

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/seal"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// New makes the gateway that c describes; t is shared by all gateways.
// keys are those that reasoning is sealed with, and may be nil.
func New(c *contract.Config, t *tokenizer.Tokenizer, keys *seal.Keys) *exchange.Gateway {
	o := exchange.Options{
		Tokenizer:   t,
		Reduced:     c.Mode == contract.ModeReduced,
		Passthrough: c.Passthrough,
		Service: exchange.Service{
			Pool: c.ResponsesService.Pool, Stores: c.ResponsesService.Stores, HostedTools: c.ResponsesService.HostedTools,
		},
		RefuseHostedTools: c.HostedTools == contract.HostedToolsRefuse,

		BodyLimit:    c.BodyLimit,
		StallTimeout: int64(c.StallTimeoutMS),

		ReasoningAlert: c.ReasoningRatioAlert,

		SealKeys: keys, SealLifetime: int64(c.Seal.LifetimeS), TenantHeader: c.Seal.TenantHeader,
	}
	for i := range c.Models {
		m := &c.Models[i]
		// Parse has refused every kind of server that has no dialect.
		server, _ := backend.Named(m.Server)
		o.Models = append(o.Models, exchange.Model{
			Model: translate.Model{
				Name:            m.Name,
				Identity:        present(m.System.Identity),
				KnowledgeCutoff: present(m.System.KnowledgeCutoff),
				Effort:          effort(m.System.Effort),
				Efforts: translate.Efforts{
					None: standIn(m.ReasoningEfforts.None), Minimal: standIn(m.ReasoningEfforts.Minimal),
					XHigh: standIn(m.ReasoningEfforts.XHigh), Max: standIn(m.ReasoningEfforts.Max),
				},
				DropCommentary: m.DropCommentaryFromHistory,
				DropUnreadable: m.UnsupportedContent == contract.ContentDrop,
				Extras:         m.ServerExtras,
				ContextLength:  m.ContextLength,
				MaxReasoning:   m.MaxReasoningTokens,
				Answers: translate.Answers{
					Reasoning:          reasoningFields(&m.Answers),
					HideReasoning:      m.Answers.HideReasoning,
					ReasoningAsSummary: m.Answers.ReasoningAsSummary,
					UndeclaredContent:  m.Answers.UndeclaredCalls == "content",
					MaxChoices:         m.Answers.MaxChoices,
					HarmonyMessages:    m.Answers.HarmonyMessages,
					RequireFinal:       m.Answers.RequireFinalChannel,
				},
			},
			Strict:          m.Answers.Strict,
			ChannelEvents:   m.Answers.Events == contract.EventsChannels,
			Pool:            m.Pool,
			Server:          server,
			ServerModel:     m.ServerModel,
			ThinkingBudget:  m.ThinkingTokenBudget,
			DrainTokens:     m.DrainTokens,
			StructuralTags:  m.StructuredOutputs == contract.StructuralTags,
			AllowRawPrompts: m.RawPrompts == "allow",
			Date:            date(m.System.Date),
		})
	}
	return exchange.New(o)
}

func present(s string) harmony.Optional {
	if s == "" {
		return harmony.Optional{}
	}
	return harmony.Some(s)
}

func effort(word string) harmony.Effort {
	switch word {
	case "low":
		return harmony.Low
	case "high":
		return harmony.High
	default:
		return harmony.Medium
	}
}

// standIn is the effort that another one is told the model as; none where it is refused.
func standIn(word string) harmony.Effort {
	if word == contract.EffortRefuse {
		return 0
	}
	return effort(word)
}

func reasoningFields(a *contract.Answers) openai.ReasoningFields {
	if a.HideReasoning {
		return openai.NoReasoning
	}
	switch a.ReasoningFields {
	case "reasoning":
		return openai.OnlyReasoning
	case "reasoning_content":
		return openai.OnlyReasoningContent
	case "none":
		return openai.NoReasoning
	default:
		return openai.BothReasoningFields
	}
}

func date(setting string) exchange.DatePolicy {
	switch setting {
	case contract.DateUTC:
		return exchange.DatePolicy{}
	case contract.DateOmit:
		return exchange.DatePolicy{Omit: true}
	default:
		return exchange.DatePolicy{Fixed: setting}
	}
}
