package server

import (
	"context"
	"errors"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// EngineRequest is a request to an engine from a front end outside this package.
type EngineRequest struct {
	Prompt []uint32
	// MaxTokens and MinTokens bound the answer. StopTokens are all ids that end it.
	MaxTokens, MinTokens int
	StopTokens           []uint32
	// StructuralTag is the tag that the answer must fit. If it is empty, any answer fits.
	StructuralTag string
	// ThinkingBudget is the greatest number of reasoning tokens. If it is nil, there is no limit.
	ThinkingBudget *int
}

// EngineAnswer is the model's answer, and its division into pieces.
type EngineAnswer struct {
	Tokens []uint32
	// Finish is "stop", "length" or, by a script, "abort".
	Finish string
	// Stop is the token that ended the answer, or 0.
	Stop uint32
	// Cached is how many tokens of the prompt were in the cache.
	Cached int
	job    *Job
}

// Engine answers as the model of this server would, without HTTP: by the same script and the same built-in model. It
// records the request as the server records its own. An error is the engine's refusal.
func (s *Server) Engine(r EngineRequest) (EngineAnswer, error) {
	rec := &Request{Path: "engine", Model: s.Options.Models[0], Stream: true}
	s.rec.add(rec)
	c := &Completion{MaxTokens: &r.MaxTokens, MinTokens: r.MinTokens, StopTokenIDs: r.StopTokens, IgnoreEOS: true,
		ThinkingBudget: r.ThinkingBudget, IDs: r.Prompt}
	if r.StructuralTag != "" {
		var refused *Refusal
		c.Structured = &StructuredOutputs{Tag: &r.StructuralTag}
		if c.Holds.Tag, refused = c.Structured.ReadTag(); refused != nil {
			return EngineAnswer{}, errors.New(refused.Message)
		}
	}
	j, refused := s.accept(nil, c, rec)
	if refused != nil {
		return EngineAnswer{}, errors.New(refused.Message)
	}
	if s.batching != nil {
		j.place = s.batching.enter(j)
	}
	a := EngineAnswer{Tokens: j.Answer.IDs, Finish: j.Answer.Finish, Cached: j.Cached, job: j}
	a.Stop, _ = j.Answer.Stop.(uint32)
	return a, nil
}

// Size returns how many tokens the piece with this index holds. There may be fewer left.
func (a *EngineAnswer) Size(piece int) int { return a.job.size(piece, len(a.Tokens)) }

// Wait waits for as long as the server's options require before n tokens that come after pos others.
func (a *EngineAnswer) Wait(ctx context.Context, pos, n int) error {
	if after := a.job.Server.Options.HoldAfter; after > 0 && pos >= after {
		if err := a.job.Server.hold(ctx, nil); err != nil {
			return err
		}
	}
	err := a.job.pace(ctx, n)
	a.Cached = a.job.Cached
	return err
}

// Sent records that n more tokens have been sent.
func (a *EngineAnswer) Sent(n int) { a.job.sent(n) }

// Done records the end of the request.
func (a *EngineAnswer) Done(aborted bool) {
	a.job.leave()
	a.job.Server.rec.update(func() {
		a.job.rec.Aborted, a.job.rec.Finish, a.job.rec.Done = aborted, a.Finish, true
	})
}

// Alternative is a token that could have come at a place, with its logprob.
type Alternative struct {
	Token   uint32
	Logprob float64
}

// Alternatives returns the token at a place of the answer, and after it the n likeliest tokens. rank is the rank of the
// token itself, from 1.
func (a *EngineAnswer) Alternatives(at, n int) (all []Alternative, rank int) {
	own, sampled, others := Alternatives(a.Tokens[at], at, n)
	return append([]Alternative{{a.Tokens[at], sampled}}, others...), own + 1
}

// Alternatives returns the rank of the token at a place, from 0, its logprob, and the n likeliest tokens in their
// order. The token itself is among them at its rank. The result is always the same. One of the other tokens is a
// control token.
func Alternatives(id uint32, at, n int) (rank int, sampled float64, all []Alternative) {
	value := func(rank int) float64 { return -0.125 - 0.75*float64(rank) }
	rank = at % 4
	for r := range n {
		switch r {
		case rank:
			all = append(all, Alternative{id, value(r)})
		case 5:
			control := uint32(tokenizer.Return)
			if id == control {
				control = tokenizer.Call // no token is its own alternative
			}
			all = append(all, Alternative{control, value(r)})
		default:
			all = append(all, Alternative{(id + uint32(r)*7919 + 13) % tokenizer.StartOfText, value(r)})
		}
	}
	return rank, value(rank), all
}
