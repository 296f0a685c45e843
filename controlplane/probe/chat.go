package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Chat is what a server that takes conversations can do.
type Chat struct {
	// Reasoning is where the reasoning of an answer was.
	Reasoning Place
	// History is the value of [contract.ChatServers.ReasoningHistory] for the server.
	History string
	// Developer is about messages of developers, Tools about calls of functions, Schemas about answers of a JSON schema,
	// TokenIDs about the ids of prompt and answer, and Tokenize about counts of a conversation's tokens.
	Developer, Tools, Schemas, Logprobs, TokenIDs, Tokenize Ability
}

// Ability is whether a server can do something. Problem is why not, or "" if it can.
type Ability struct{ Problem string }

// Can reports whether the server can do it.
func (a Ability) Can() bool { return a.Problem == "" }

// Place is where a server puts reasoning.
type Place string

// The places of reasoning.
const (
	// NoReasoning is the place if there was none.
	NoReasoning     Place = ""
	InContentMember Place = "reasoning_content"
	InMember        Place = "reasoning"
	InTags          Place = "think tags"
	// InOpenedTags is an answer that ends its reasoning with </think>, and has no <think>.
	InOpenedTags Place = "think tags, of which the template writes the first"
	// InHarmony is an answer as gpt-oss writes it, which nothing has parsed.
	InHarmony Place = "Harmony text"
)

// The limits of answers, in tokens. Some APIs refuse less than maxShortTokens.
const (
	maxChatTokens  = 1024
	maxShortTokens = 16
)

const (
	hello = `{"role":"user","content":"Say hello."}`
	// addTool is a function that a question is about.
	addSchema = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`
	addTool   = `{"type":"function","function":{"name":"add","description":"Adds two numbers.","parameters":` + addSchema +
		`}}`
	probeSchema = `{"type":"json_schema","json_schema":{"name":"probe","strict":true,"schema":{"type":"object",` +
		`"properties":{"probe":{"type":"integer"}},"required":["probe"],"additionalProperties":false}}}`
)

// conversation writes the members of a request with these messages.
func conversation(messages ...string) func([]byte) []byte {
	return conversationWith("", messages...)
}

// conversationWith is conversation with other members, each as ,"name":value.
func conversationWith(members string, messages ...string) func([]byte) []byte {
	return func(dst []byte) []byte {
		return append(append(dst, `,"messages":[`+strings.Join(messages, ",")+`]`...), members...)
	}
}

// askChat finds out what a server that takes conversations can do. answer is the one to hello.
func (s *session) askChat(ctx context.Context, answer *completion) {
	kind, _ := backend.Named(contract.Chat)
	ask := func(r backend.Request) (completion, error) {
		r.Model = s.report.Model
		return s.complete(ctx, kind, &r)
	}
	short := func(messages ...string) Ability {
		_, err := ask(backend.Request{Conversation: conversation(messages...), MaxTokens: maxShortTokens})
		return abilityOf(err)
	}
	c := &Chat{Reasoning: placeOf(answer), History: contract.ReasoningNone}
	histories := []struct{ name, message string }{
		{contract.ReasoningContentOnly, `"content":"Hello.","reasoning_content":"They greet."`},
		{contract.ReasoningOnly, `"content":"Hello.","reasoning":"They greet."`},
	}
	if c.Reasoning == InTags || c.Reasoning == InOpenedTags {
		// A server that does not parse reasoning may ignore those members.
		histories, c.History = nil, contract.ReasoningThinkTags
	}
	for _, history := range histories {
		if short(hello, `{"role":"assistant",`+history.message+`}`, hello).Can() {
			c.History = history.name
			break
		}
	}
	c.Developer = short(`{"role":"developer","content":"Be brief."}`, hello)

	called, err := ask(backend.Request{MaxTokens: maxChatTokens, Conversation: conversationWith(
		`,"tools":[`+addTool+`]`, `{"role":"user","content":"Call the function add with a = 2 and b = 3."}`)})
	c.Tools = abilityOf(err)
	if err == nil && called.calls == 0 {
		c.Tools.Problem = "it called none when it was told to; the text was " + engine.Clip(string(called.text))
	}
	formed, err := ask(backend.Request{MaxTokens: maxChatTokens, Conversation: conversationWith(
		`,"response_format":`+probeSchema, hello)})
	c.Schemas = abilityOf(err)
	var form struct{ Probe *int }
	if err == nil && (json.Unmarshal(formed.text, &form) != nil || form.Probe == nil) {
		c.Schemas.Problem = "it ignores them"
	}
	judged, err := ask(backend.Request{MaxTokens: maxShortTokens, Conversation: conversation(hello), Logprobs: true})
	c.Logprobs = abilityOf(err)
	if err == nil && !judged.logprobs {
		c.Logprobs.Problem = "it ignores the question for them"
	}
	named, err := ask(backend.Request{MaxTokens: maxShortTokens, Conversation: conversation(hello), TokenIDs: true})
	c.TokenIDs = abilityOf(err)
	if err == nil && named.ids == 0 {
		c.TokenIDs.Problem = "it ignores the question for them"
	}
	c.Tokenize = s.askTokenize(ctx)
	s.report.Chat = c
}

func abilityOf(err error) Ability {
	if err != nil {
		return Ability{err.Error()}
	}
	return Ability{}
}

// askTokenize asks for the tokens of a conversation, as the filter does.
func (s *session) askTokenize(ctx context.Context) Ability {
	body, err := json.Marshal(map[string]any{"model": s.report.Model, "messages": []any{json.RawMessage(hello)}})
	if err != nil {
		return Ability{err.Error()}
	}
	path := s.path(contract.TokenizePath)
	status, answer, err := s.send(ctx, path, body, questionTimeout)
	var tokens struct {
		Count  int
		Tokens []uint32
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &tokens) != nil || len(tokens.Tokens) == 0 {
		return Ability{"it has no " + path + " for conversations"}
	}
	return Ability{}
}

// placeOf returns where the reasoning of an answer is.
func placeOf(c *completion) Place {
	if len(c.reasoning) > 0 {
		return memberOf(c.raw)
	}
	text := strings.TrimSpace(string(c.text))
	switch {
	case strings.HasPrefix(text, "<think>"):
		return InTags
	case strings.Contains(text, "</think>"):
		return InOpenedTags
	case isHarmony(text):
		return InHarmony
	default:
		return NoReasoning
	}
}

// isHarmony reports whether a text begins as gpt-oss begins every answer, with control tokens or without.
func isHarmony(text string) bool {
	return strings.HasPrefix(text, "<|channel|>") ||
		strings.HasPrefix(text, "analysis") && !strings.HasPrefix(text, "analysis ")
}

// memberOf returns which member has the reasoning of an answer.
func memberOf(answer []byte) Place {
	type message struct {
		Content *string `json:"reasoning_content"`
	}
	for line := range bytes.Lines(answer) {
		var event struct {
			Choices []struct{ Delta, Message message }
		}
		if json.Unmarshal(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:"))), &event) != nil {
			continue
		}
		for _, choice := range event.Choices {
			if choice.Delta.Content != nil || choice.Message.Content != nil {
				return InContentMember
			}
		}
	}
	return InMember
}
