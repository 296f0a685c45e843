package server

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// checkThinkingBudget refuses a budget if the server was started without a reasoning config, as vLLM does.
func (s *Server) checkThinkingBudget(c *Completion) *Refusal {
	switch {
	case c.ThinkingBudget == nil:
		return nil
	case *c.ThinkingBudget < -1:
		return BadRequest("thinking_token_budget",
			fmt.Sprintf("thinking_token_budget must be -1 (unlimited) or a non-negative "+
				"integer, got %d. (parameter=thinking_token_budget, value=%d)", *c.ThinkingBudget, *c.ThinkingBudget))
	case !s.Options.ReasoningConfig:
		return BadRequest("", "thinking_token_budget is set but reasoning_config is not configured. "+
			"Please set --reasoning-parser and/or --reasoning-config to use thinking_token_budget.")
	}
	return nil
}

// applyThinkingBudget returns what the model writes under a thinking budget. If the budget ends inside an analysis
// message, the server forces the end of that message, and the model continues as it would have after it.
func (c *Completion) applyThinkingBudget(t *tokenizer.Tokenizer, generated []uint32) []uint32 {
	if c.ThinkingBudget == nil || *c.ThinkingBudget < 0 {
		return generated
	}
	analysis := t.AppendEncode(nil, "analysis")
	var out []uint32
	left, channel, thinking := *c.ThinkingBudget, false, false
	for i, id := range generated {
		switch {
		case id == tokenizer.Channel:
			channel = len(analysis) == 1 && i+1 < len(generated) && generated[i+1] == analysis[0]
		case id == tokenizer.Message:
			thinking, channel = channel, false
		case id == tokenizer.End || id == tokenizer.Return || id == tokenizer.Call || id == tokenizer.Start:
			thinking = false
		case thinking && left == 0:
			continue
		case thinking:
			left--
		}
		out = append(out, id)
	}
	return out
}
