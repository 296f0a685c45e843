//go:build e2e

package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// mark is a text that the gateway renders as it is, and that no case has.
const mark = "Says the puppet."

// Carry returns a case of the suite with its script in the text of the request's last message, before a server of a
// kind, or why it cannot carry it. If the gateway refuses the request for servers of the kind, the text is any.
func Carry(t *testing.T, c *cases.Case, kind string) (*cases.Case, string) {
	t.Helper()
	script, why := scriptToCarry(c)
	if why != "" {
		return nil, why
	}
	marked, ok := withText(c, mark)
	if !ok {
		return nil, "the last message is not a user's text or a tool's result"
	}
	sent, there := sentFor(t, marked), sentFor(t, marked.On(kind))
	if sent.refused || there.refused {
		return marked.On(kind), "" // the refusal is looked at
	}
	prompt := strings.Split(sent.prompt, mark)
	if len(prompt) != 2 {
		return nil, "the text is not rendered as it is"
	}
	if there.prompt != "" && there.prompt != sent.prompt {
		return nil, "a call that begins in the prompt, which the cases with structured_outputs: none have"
	}
	ids := Spell(script)
	if !slices.ContainsFunc(ids, isEnd) && sent.limit >= len(ids) {
		return nil, "the script has no end"
	}
	text, err := Text(script, prompt[1])
	if err != nil {
		return nil, "no text can spell the script"
	}
	with, _ := withText(c, text)
	return with.On(kind), ""
}

// isEnd reports whether a token ends an answer.
func isEnd(id uint32) bool {
	return id == tokenizer.Return || id == tokenizer.Call || id == tokenizer.EndOfText
}

// UntilEnd returns the ids of a script up to the first that ends an answer, where every engine stops.
func UntilEnd(ids []uint32) []uint32 {
	if at := slices.IndexFunc(ids, isEnd); at >= 0 {
		return ids[:at+1]
	}
	return ids
}

// scriptToCarry returns the script of a case, with control tokens spelled, or why a real server does not play it.
func scriptToCarry(c *cases.Case) (script, why string) {
	switch {
	case c.API() == "" || !strings.HasPrefix(c.Member("want"), "200"):
		return "", "no answer of a model"
	case c.Settings["server_fault"] != "" || c.Settings["server_context"] != "" || c.Settings["front_end"] != "":
		return "", "about a server's fault, context or front end"
	case c.Settings["context_length"] != "" || c.Settings["thinking_token_budget"] != "":
		return "", "about the context's length, or a server's limit on reasoning"
	case c.ByChannels() && strings.Contains(c.Member("want"), `"conversation"`),
		strings.Contains(c.Member("want"), `"input_messages":[`):
		return "", "an answer that repeats the request's text"
	case strings.Contains(c.Member("want"), "\uFFFD"):
		return "", "a part of a character, of which no text shows anything"
	}
	lines := strings.Split(strings.TrimSpace(c.Member("script")), "\n")
	var line struct {
		Text   string          `json:"text"`
		Tokens []uint32        `json:"tokens"`
		Fault  json.RawMessage `json:"fault"`
		Finish string          `json:"finish"`
	}
	if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &line) != nil {
		return "", "no script of one line"
	}
	switch {
	case line.Fault != nil || line.Finish != "":
		return "", "about a server's fault, context or front end"
	case line.Text != "":
		return line.Text, ""
	}
	script = lab.Vocabulary.DecodeString(line.Tokens)
	if !slices.Equal(Spell(script), line.Tokens) {
		return "", "tokens that no text is encoded as"
	}
	return script, ""
}

// sentRequest is what a server gets of a case's request.
type sentRequest struct {
	// prompt is its text. It is empty if the server gets a conversation.
	prompt string
	limit  int
	// refused reports whether it gets nothing, because the gateway refuses the request.
	refused bool
}

// sentFor returns what the case's server gets.
func sentFor(t *testing.T, c *cases.Case) sentRequest {
	t.Helper()
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	config.Mode = contract.ModeFull
	action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
	if action.Forward == nil {
		return sentRequest{refused: true}
	}
	var body struct {
		Prompt json.RawMessage `json:"prompt"`
		IDs    []uint32        `json:"token_ids"`
		Limit  int             `json:"max_tokens"`
	}
	if action.Forward.Body == nil || json.Unmarshal(action.Forward.Body, &body) != nil {
		return sentRequest{}
	}
	sent := sentRequest{limit: body.Limit}
	if json.Unmarshal(body.Prompt, &sent.prompt) != nil {
		_ = json.Unmarshal(body.Prompt, &body.IDs) // there may be none
	}
	if sent.prompt == "" {
		sent.prompt = lab.Vocabulary.DecodeString(body.IDs)
	}
	return sent
}

// withText returns the case with another text of its last message. It reports false if that is not a user's text or a
// tool's result. The rest of the request stays as it is, since answers repeat parts of it.
func withText(c *cases.Case, text string) (*cases.Case, bool) {
	at := lastText(c)
	if at == nil {
		return nil, false
	}
	body, err := jsonparser.Set(bytes.Clone(c.Body), []byte(lab.Quote(text)), at...)
	with := *c
	with.Body = body
	return &with, err == nil
}

// lastText returns where the text of the last message is, or nil if that is not a user's text or a tool's result.
func lastText(c *cases.Case) []string {
	at := "messages"
	if c.API() == "responses" {
		at = "input"
	}
	if _, kind, _, err := jsonparser.Get(c.Body, at); err == nil && kind == jsonparser.String {
		return []string{at}
	}
	last, count := []byte(nil), 0
	if _, err := jsonparser.ArrayEach(c.Body, func(item []byte, _ jsonparser.ValueType, _ int, _ error) {
		last, count = item, count+1
	}, at); err != nil || count == 0 {
		return nil
	}
	role, _ := jsonparser.GetString(last, "role")
	kind, _ := jsonparser.GetString(last, "type")
	path := []string{at, fmt.Sprintf("[%d]", count-1), "content"}
	switch {
	case role == "user" || role == "tool":
	case kind == "function_call_output" || kind == "custom_tool_call_output":
		path[2] = "output"
	default:
		return nil
	}
	switch content, kind, _, _ := jsonparser.Get(last, path[2]); kind {
	case jsonparser.String:
		return path
	case jsonparser.Array:
		_, _, _, err := jsonparser.Get(content, "[1]")
		if _, alone := jsonparser.GetString(content, "[0]", "text"); alone == nil && err != nil {
			return append(path, "[0]", "text")
		}
	}
	return nil
}
