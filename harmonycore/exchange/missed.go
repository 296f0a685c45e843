package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
)

// maxOutlined is how many tokens a prompt has at most of which an outline is kept.
const maxOutlined = 1 << 17

// outline keeps an outline of the prompt, to say at the end why the server's cache was missed. Ids that are remembered
// as text are read back for it, before the scratch memory has the headers. broken is how many control tokens were
// broken in it.
func (g *generation) outline(a *modelRequest, scratch *Scratch, tokens, broken int) {
	options := &g.x.gateway.options
	g.turn.Unanswered() // it is another pool's now
	g.turn = nil
	m := a.model
	if options.Turns == nil || tokens > maxOutlined || broken > 0 || m.Kind.Facts().TextPrompts || m.Prefill.Cluster != "" {
		return // where another pool reads prompts, the server's count is not what was cached
	}
	prompt := scratch.prompt
	if a.recall.resumed() {
		prompt = a.recall.firstIDs(tokens, prompt)
	}
	who := segments.Asker{Client: g.x.report.Client, Conversation: g.x.report.Conversation}
	g.turn = options.Turns.Begin(options.Tokenizer, who, m.Name, m.PoolName, prompt, contract.CacheBlock(m.Server))
}

// AwaitsServer reports whether [Exchange.Answered] is to be called at the end.
func (e *Exchange) AwaitsServer() bool { return e.generation != nil && e.generation.turn != nil }

// Answered notes the address of the server that has answered, at the end of its answer. Further calls change nothing.
func (e *Exchange) Answered(server string) {
	if !e.AwaitsServer() {
		return
	}
	g := e.generation
	if e.report.FirstToken < 0 || server == "" {
		g.turn.Unanswered()
		return
	}
	g.turn.Ended(segments.Outcome{Server: server, Counted: g.counted, Reports: g.counts.HasCached,
		Cached: min(g.counts.Cached, g.promptTokens)})
}
