package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Kind is what came of one completion that the server was asked for as a kind of server.
type Kind struct {
	// Name is the kind's name in configurations.
	Name string
	// Prompt is how many ids were sent, and Counted is how many tokens the server says that the prompt has. Counted is 0
	// if it does not say.
	Prompt, Counted int
	// Tokens are the ids that came back. Text is what came back from a kind that answers in text.
	Tokens []uint32
	Text   string
	// Problem is why the gateway cannot use the server as this kind, or "".
	Problem string
	// TextPrompts reports whether servers of the kind take prompts as text, StructuralTags whether they have structural
	// tags, and Conversations whether they take conversations.
	TextPrompts, StructuralTags, Conversations bool
	// TagProblem is why the server cannot be held to a form of the answer by a structural tag, or "". It is only for a
	// kind that works and has structural tags.
	TagProblem string
}

// Works reports whether the gateway can use the server as this kind.
func (k *Kind) Works() bool { return k.Problem == "" }

// FirstToken returns the spelling of the first token that came back, or its id.
func (k *Kind) FirstToken() string {
	if len(k.Tokens) == 0 {
		return ""
	}
	if name, ok := tokenizer.SpecialName(k.Tokens[0]); ok {
		return name
	}
	if text, ok := o200k.Text(k.Tokens[:1]); ok {
		return strconv.Quote(text)
	}
	return strconv.FormatUint(uint64(k.Tokens[0]), 10)
}

// Expected reports whether the answer begins as gpt-oss begins every answer.
func (k *Kind) Expected() bool {
	if k.Text != "" {
		return isHarmony(k.Text)
	}
	return k.FirstToken() == "<|channel|>"
}

// askKind asks for a completion of one token as a kind of server, with the request that the filter would send.
func (s *session) askKind(ctx context.Context, name string) {
	kind, ok := backend.Named(name)
	if !ok || s.report.Model == "" {
		return
	}
	if kind.Facts().Conversations {
		s.askConversation(ctx, kind)
		return
	}
	ids, ends := engine.Greeting()
	facts := kind.Facts()
	k := Kind{Name: name, Prompt: len(ids), TextPrompts: facts.TextPrompts, StructuralTags: facts.StructuralTags}
	request := backend.Request{Model: s.report.Model, Prompt: ids, MaxTokens: 1, Choices: 1, StopTokens: ends}
	if facts.TextPrompts {
		request.PromptText = []byte(engine.Spelling(ids))
	}
	if facts.TextAnswers {
		request.MaxTokens = maxTextTokens
	}
	a, err := s.complete(ctx, kind, &request)
	k.Tokens, k.Text, k.Counted = a.tokens, engine.Clip(string(a.text)), a.counted
	switch {
	case err != nil:
		k.Problem = err.Error()
	case facts.TextAnswers && len(a.text) == 0:
		k.Problem = "its answer has no text"
	case !facts.TextAnswers && len(k.Tokens) == 0:
		k.Problem = "its answer has no token ids"
	case !facts.TextPrompts && k.Counted != 0 && k.Counted != k.Prompt:
		k.Problem = fmt.Sprintf("it counts %d tokens in a prompt of %d ids, so it does not read them as ids", k.Counted,
			k.Prompt)
	case facts.StructuralTags:
		k.TagProblem = s.tryTag(ctx, kind, request)
	}
	s.report.Kinds = append(s.report.Kinds, k)
}

// askConversation asks for an answer to a conversation, which may begin with reasoning.
func (s *session) askConversation(ctx context.Context, kind backend.Kind) {
	k := Kind{Name: kind.Facts().Name, Conversations: true}
	a, err := s.complete(ctx, kind,
		&backend.Request{Model: s.report.Model, Conversation: conversation(hello), MaxTokens: maxChatTokens})
	k.Text, k.Counted = engine.Clip(string(a.text)), a.counted
	switch {
	case err != nil:
		k.Problem = err.Error()
	case len(a.text) == 0 && len(a.reasoning) == 0:
		k.Problem = "its answer has no text"
	case !kind.Facts().Renders:
		s.greeting = &a
	}
	s.report.Kinds = append(s.report.Kinds, k)
}

// maxTextTokens is enough for some text beside control tokens, which some servers do not show.
const maxTextTokens = 16

// maxTagTokens is enough for some reasoning and the form that the tag requires.
const maxTagTokens = 512

// tryTag asks for the request's answer in a form that the model would not choose by itself, by a structural tag like
// the gateway's. It returns why the answer does not have that form, or "".
func (s *session) tryTag(ctx context.Context, kind backend.Kind, r backend.Request) string {
	const final = "<|channel|>final<|message|>"
	tag := backend.NewTag(nil)
	tag.Sequence()
	tag.Star()
	tag.Sequence()
	tag.Const("<|channel|>analysis<|message|>")
	tag.Text("<|end|>", "<|start|>", "<|channel|>", "<|message|>", "<|call|>")
	tag.Const("<|end|><|start|>assistant")
	tag.Close()
	tag.Close()
	tag.Const(final)
	tag.JSON(`{"type":"object","properties":{"probe":{"type":"integer"}},"required":["probe"],` +
		`"additionalProperties":false}`)
	tag.Close()
	r.StructuralTag, r.MaxTokens = tag.Bytes(), maxTagTokens
	a, err := s.complete(ctx, kind, &r)
	if err != nil {
		return err.Error()
	}
	_, text, _ := strings.Cut(engine.Spelling(a.tokens), final)
	var form struct{ Probe *int }
	if json.Unmarshal([]byte(strings.TrimSuffix(text, "<|return|>")), &form) != nil || form.Probe == nil {
		return "it ignores structural tags"
	}
	return ""
}

// completion is the answer to a request for a completion.
type completion struct {
	tokens []uint32
	// text has the answer, and reasoning what a server sends beside it.
	text, reasoning []byte
	// calls is the number of pieces of calls, and ids how many ids of tokens of the answer came with the prompt's ids.
	calls, ids int
	logprobs   bool
	// raw is the answer as it came.
	raw []byte
	// counted is the number of tokens that the server counts in the prompt, or 0.
	counted int
}

// render has the server render a conversation, and returns what asks it for the answer.
func (s *session) render(ctx context.Context, conversation []byte, r *backend.Request) ([]byte, error) {
	ids, out, err := s.renderIDs(ctx, conversation)
	if err != nil {
		return nil, err
	}
	return backend.AppendRendered(nil, r.Model, ids, r.MaxTokens, &out, nil), nil
}

// renderIDs has the server render a conversation, and returns the ids of its prompt, and the rest.
func (s *session) renderIDs(ctx context.Context, conversation []byte) ([]uint32, backend.Rendered, error) {
	var out backend.Rendered
	path := s.path(contract.RenderPath)
	status, answer, err := s.send(ctx, path, conversation, completionTimeout)
	switch {
	case err != nil:
		return nil, out, errors.New(pools.Cause(err, err.Error()))
	case status != http.StatusOK:
		return nil, out, fmt.Errorf("%s answers %d: %s", path, status, engine.Clip(backend.ReadError(status, answer).Message))
	}
	ids, out, ok := backend.ReadRendered(nil, answer, contract.MaxContextLength)
	if !ok || out.More {
		return nil, out, fmt.Errorf("the answer of %s is not a rendered conversation", path)
	}
	return ids, out, nil
}

// complete asks for a completion.
func (s *session) complete(ctx context.Context, kind backend.Kind, r *backend.Request) (c completion, err error) {
	path := s.path(kind.Facts().Path)
	body := kind.AppendRequest(nil, r)
	if kind.Facts().Renders {
		if body, err = s.render(ctx, body, r); err != nil {
			return c, err
		}
	}
	status, answer, err := s.send(ctx, path, body, completionTimeout)
	if err != nil {
		return c, errors.New(pools.Cause(err, err.Error()))
	}
	if status != http.StatusOK {
		failure := backend.ReadError(status, answer)
		advice := ""
		switch kind.Cause(failure) {
		case backend.TagsRefused, backend.TagRefused: // it is no fault of the probe's tag
			advice = "; start vLLM without the structured outputs backend guidance"
		}
		return c, fmt.Errorf("%s answers %d: %s%s", path, status, engine.Clip(failure.Message), advice)
	}
	if e := backend.BodyError(answer); e != nil {
		return c, fmt.Errorf("its answer is an error: %s", engine.Clip(e.Message))
	}
	reader := kind.NewReader()
	if kind.Facts().Conversations && bytes.HasPrefix(answer, []byte("{")) {
		reader = backend.NewWholeReader() // some servers do not stream
	}
	prompt := false
	c.raw = bytes.Clone(answer) // the reader overwrites it
	reader.Write(answer)
	for ended := false; ; {
		var e backend.Event
		switch reader.Next(&e) {
		case backend.Read:
		case backend.Drained:
			if !ended {
				return c, errors.New("its answer is not a stream of this kind, or breaks off")
			}
			return c, nil
		default:
			return c, errors.New("its answer is not a stream of this kind")
		}
		if e.Error != nil {
			return c, fmt.Errorf("its answer is an error: %s", engine.Clip(e.Error.Message))
		}
		c.tokens, c.text = append(c.tokens, e.Tokens...), append(c.text, e.Text...)
		c.reasoning, c.calls = append(c.reasoning, e.Reasoning...), c.calls+len(e.Calls)
		c.logprobs = c.logprobs || len(e.TextLogprobs) > 0
		if prompt = prompt || len(e.PromptIDs) > 0; prompt {
			c.ids += len(e.SampledIDs)
		}
		if e.HasUsage {
			c.counted = e.Usage.Prompt
		}
		ended = ended || e.Done || e.Finish != backend.Running
	}
}
