//go:build e2e

package suite

import (
	"bytes"
	"regexp"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
)

// The views of clients of answers in text are compared with the views of answers in ids, both folded. These may differ:
var (
	// Reasoning tokens are estimated.
	reasoningEstimate = regexp.MustCompile(`"reasoning_tokens":\d+`)
	// All tokens of an answer are estimated if the gateway ends it before the server's usage comes: at a stop string, or
	// at the one call that was wanted.
	endedEarly     = regexp.MustCompile(`"stop":|"parallel_tool_calls":false`)
	answerEstimate = regexp.MustCompile(`"(completion_tokens|output_tokens|total_tokens)":\d+`)
	// Ollama does not say how much of a prompt was in its cache.
	cachedTokens = regexp.MustCompile(`"prompt_tokens_details":\{"cached_tokens":\d+\},?`)
)

// withoutEstimates folds what a client sees of a text server's answer to a request, and leaves out estimates.
func withoutEstimates(view string, request []byte) string {
	view = reasoningEstimate.ReplaceAllString(cases.Fold(view), `"reasoning_tokens":0`)
	view = cachedTokens.ReplaceAllString(view, "")
	if endedEarly.Match(request) {
		view = answerEstimate.ReplaceAllString(view, `"$1":0`)
	}
	return view
}

var brokenOff = regexp.MustCompile(`^(error-event|no-finish):[1-9]`)

// onlyPrinted returns the reason why a case is not run with hidden control tokens, or an empty string.
func onlyPrinted(c *cases.Case) string {
	if brokenOff.MatchString(c.Settings["server_fault"]) && bytes.Contains(c.Body, []byte(`"stream":true`)) {
		return "an answer that breaks off, of which vLLM holds back the last characters"
	}
	return c.Ambiguous()
}
