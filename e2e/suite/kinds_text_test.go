//go:build e2e

package suite

import (
	"bytes"
	"regexp"
	"strings"

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
	return ambiguous[c.Name]
}

// ambiguous are the cases whose answers say something else when control tokens are hidden, each with the reason. Text
// with control tokens says the same as ids in all of them.
var ambiguous = map[string]string{}

func init() {
	for why, names := range map[string]string{
		"nothing separates the name of a custom tool from its input": "chat_custom_lark chat_custom_tool_model " +
			"chat_custom_tool_stream chat_custom_tool_whole events_custom_tool responses_custom_length " +
			"responses_custom_regex_shown responses_custom_regex_whole responses_custom_stream responses_custom_whole " +
			"responses_namespace_allowed responses_namespace_custom",
		"a message without its <|start|>assistant is a part of the one before": "chat_missing_start responses_missing_start",
		"a channel that gpt-oss does not have is a word":                       "chat_unknown_channel responses_unknown_channel",
		"a header that is cut short is the end of the message before it":       "chat_length_header",
		"a stray control token leaves no trace":                                "events_broken",
	} {
		for name := range strings.FieldsSeq(names) {
			ambiguous[name] = why
		}
	}
}
