package messages

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
)

// places are the places in a request to Responses that have other names in Messages.
var places = []struct{ from, to string }{
	{"input", "messages"}, {"instructions", "system"}, {"max_output_tokens", "max_tokens"},
	{"reasoning.effort", "output_config.effort"}, {"text.format", "output_config.format"},
	{"thinking_token_budget", "thinking.budget_tokens"},
}

// bytesPerToken is how many bytes of a request a token has at least, as prompts are estimated that are too long to be
// counted.
const bytesPerToken = 4

// Explain returns an error as the client gets it, whose places are those of its own request. size is how long that is.
func (r *Request) Explain(e *openai.Error, by *settings.Snapshot, size int) *openai.Error {
	told := *e
	if e.Code == contract.CodeContextLengthExceeded && e.Status < 500 {
		if most := by.Model(r.Response.Model).ContextLength; most > 0 {
			told.Message, told.Param = anthropic.TooLong(max(size/bytesPerToken, most+1), most), ""
		}
		return &told
	}
	to := r.tools.place(e.Param)
	for _, p := range places {
		if rest, ok := strings.CutPrefix(to, p.from); ok && (rest == "" || rest[0] == '[' || rest[0] == '.') {
			if to = p.to + rest; p.from == "input" {
				to = p.to // items are no messages
			}
			break
		}
	}
	if to != e.Param && e.Param != "" {
		told.Message, told.Param = strings.ReplaceAll(e.Message, e.Param, to), to
	}
	return &told
}

// statusOf returns the status of an error that comes within a stream, by its code.
func statusOf(code string) int {
	switch code {
	case contract.CodeRateLimitExceeded, contract.CodeServiceOverloaded:
		return 429
	case refusal.CodeInvalidPrompt, contract.CodeContextLengthExceeded:
		return 400
	}
	return 500
}
