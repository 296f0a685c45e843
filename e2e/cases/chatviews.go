//go:build e2e

package cases

import (
	"encoding/json"
	"regexp"
	"strings"
)

// These may differ in the views of clients before two servers of which one takes conversations:
var (
	// Such models have no phases.
	phase = regexp.MustCompile(`,?"phase":("[a-z_]+"|null)`)
	// The ids of calls are the server's.
	serverCallID = regexp.MustCompile(`(?:chatcmpl|toolu)_(<|\\u003c)`)
	// The template is the server's, so the prompt has other tokens.
	countedTokens = regexp.MustCompile(
		`"(input|output|total|cached|reasoning|thinking|prompt|completion|cache_read_input)_tokens":\d+`)
	readTokens = regexp.MustCompile(`\b(\d+ messages in )?\d+ (input )?tokens|value=\d+|Input length \(\d+\)`)
	promptIDs  = regexp.MustCompile(`(prompt_token_ids":\s*"?)\[[0-9,]*\]|(prompt_token_ids: ")\[[0-9,]*\]`)
	// A model that does not speak Harmony has no effort unless the client names one.
	noEffort = regexp.MustCompile(`"effort":null`)
)

// LikeChat folds a view, and leaves out what differs between servers of which one takes conversations: clients must see
// the same of both.
func LikeChat(view string) string {
	lines := strings.Split(view, "\n")
	for i, line := range lines {
		lines[i] = withoutLogprobs(line)
	}
	view = phase.ReplaceAllString(Fold(strings.Join(lines, "\n")), "")
	view = serverCallID.ReplaceAllString(view, "call_$1")
	view = countedTokens.ReplaceAllString(view, `"${1}_tokens":0`)
	view = readTokens.ReplaceAllString(view, "0 tokens")
	view = promptIDs.ReplaceAllString(view, "$1$2[]")
	view = strings.ReplaceAll(view, `{,`, `{`)
	return noEffort.ReplaceAllString(view, `"effort":"medium"`)
}

// withoutLogprobs returns the line of a stream without the logprobs of a piece of text. All logprobs of a text come
// once more at its end, however many pieces it has had.
func withoutLogprobs(line string) string {
	const piece = `data: {"type":"response.output_text.delta"`
	var event map[string]any
	if !strings.HasPrefix(line, piece) || json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) != nil {
		return line
	}
	event["logprobs"] = nil
	encoded, _ := json.Marshal(event) // it was JSON
	return "data: " + string(encoded)
}
