package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// Render is what a server's template makes of conversations that it renders.
type Render struct {
	// Speaks is the value of [contract.ModelSettings.Speaks] for the form in which the template writes calls. "" if none
	// reads its call, and Call is then what the template has written.
	Speaks, Call string
	// Opened reports whether the prompt ends in <think>, so that an answer begins with reasoning.
	Opened bool
	// History is the value of [contract.ChatServers.ReasoningHistory] with which earlier reasoning reaches the prompt.
	History string
	// Spellings are the texts that the tokenizer reads as control tokens. They are empty if the server does not list them,
	// or lists more than maxSpellings.
	Spellings []string
	// Problem is why the prompts could not be read, or "".
	Problem string
}

// maxSpellings is how many control tokens are worth a list. Those of a larger one are mostly reserved for later.
const maxSpellings = 64

// What the questions about a template have in them, to be found in the prompt.
const (
	askedToAdd  = "Call the function add with a = 2 and b = 3."
	sumIsKnown  = "The sum is known."
	thoughtOfIt = "They want a sum."
)

// askRender finds out how a model's template writes calls and reasoning, and which control tokens the model has.
func (s *session) askRender(ctx context.Context) {
	r := &Render{History: contract.ReasoningNone}
	s.report.Render = r
	messages := func(thought string) []string {
		return []string{`{"role":"user","content":"` + askedToAdd + `"}`,
			`{"role":"assistant","content":"",` + thought + `"tool_calls":[{"id":"call00001","type":"function","function":` +
				`{"name":"add","arguments":"{\"a\": 2, \"b\": 3}"}}]}`,
			`{"role":"tool","tool_call_id":"call00001","content":"` + sumIsKnown + `"}`}
	}
	// Without parsers of its own a vLLM refuses the choice "auto".
	const tools = `,"tools":[` + addTool + `],"tool_choice":"none"`
	prompt, err := s.prompt(ctx, conversationWith(tools, messages("")...))
	if err != nil {
		r.Problem = err.Error()
		return
	}
	_, after, _ := strings.Cut(prompt, askedToAdd)
	call, end, _ := strings.Cut(after, sumIsKnown)
	if r.Speaks = formOf(call); r.Speaks == "" {
		r.Call = engine.Clip(call)
	}
	r.Opened = strings.HasSuffix(strings.TrimSpace(end), "<think>")
	for _, history := range []struct{ name, member string }{
		{contract.ReasoningContentOnly, `"reasoning_content":"` + thoughtOfIt + `",`},
		{contract.ReasoningOnly, `"reasoning":"` + thoughtOfIt + `",`},
		{contract.ReasoningThinkTags, `"content":"<think>` + thoughtOfIt + `</think>",`},
	} {
		turns := messages(history.member)
		if history.name == contract.ReasoningThinkTags {
			turns[1] = strings.Replace(turns[1], `"content":"",`, "", 1)
		}
		if prompt, err := s.prompt(ctx, conversationWith(tools, turns...)); err == nil && strings.Contains(prompt, thoughtOfIt) {
			r.History = history.name
			break
		}
	}
	r.Spellings = s.askSpellings(ctx)
}

// prompt has the server render a conversation, and returns the text of its tokens.
func (s *session) prompt(ctx context.Context, conversation func([]byte) []byte) (string, error) {
	kind, _ := backend.Named(contract.VLLMRender)
	body := kind.AppendRequest(nil, &backend.Request{Model: s.report.Model, Conversation: conversation,
		MaxTokens: maxShortTokens})
	ids, _, err := s.renderIDs(ctx, body)
	if err != nil {
		return "", err
	}
	ask, err := json.Marshal(map[string]any{"model": s.report.Model, "tokens": ids})
	if err != nil {
		return "", err
	}
	const path = "/detokenize"
	status, answer, err := s.send(ctx, path, ask, questionTimeout)
	var text struct{ Prompt string }
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &text) != nil {
		return "", fmt.Errorf("%s does not tell the text of a prompt (status %d)", path, status)
	}
	return text.Prompt, nil
}

// askSpellings returns the model's control tokens, if the server lists them and they are not too many. <think> and its
// end do not count: people may write about them.
func (s *session) askSpellings(ctx context.Context) []string {
	var info struct {
		Added map[string]json.RawMessage `json:"added_tokens_decoder"`
	}
	if !s.get(ctx, "/tokenizer_info", &info) {
		return nil
	}
	var all []string
	for _, raw := range info.Added {
		var text string
		var token struct{ Content string }
		if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &token) == nil {
			text = token.Content
		}
		if text == "<think>" || text == "</think>" || strings.TrimSpace(text) == "" {
			continue // white space spells no control token
		}
		if !contract.ValidSpelling(text) {
			return nil // the list would not be whole
		}
		all = append(all, text)
	}
	if slices.Sort(all); len(all) > maxSpellings {
		return nil
	}
	return slices.Compact(all)
}

// formOf returns the form of calls in which a text has the call of [addTool] that was asked for, or "". Some forms read
// what others write, so those are tried first whose marks are in the text.
func formOf(text string) string {
	forms := contract.CallForms()
	for _, of := range []struct{ mark, form string }{
		{"<function=", contract.SpeaksQwen3Coder}, {"<arg_key>", contract.SpeaksGLM45},
	} {
		if strings.Contains(text, of.mark) {
			forms = append([]string{of.form}, forms...)
		}
	}
	for _, name := range forms {
		if readsCall(name, text) {
			return name
		}
	}
	// An answer may be a bare object. In a prompt the mark of the turn is before it.
	if at := strings.Index(text, `{"name"`); at >= 0 && readsCall(contract.SpeaksLlama3JSON, text[at:]) {
		return contract.SpeaksLlama3JSON
	}
	return ""
}

func readsCall(form, text string) bool {
	var found foundCall
	a := structure.NewCalls(form)(&found, structure.Options{ThinkTags: contract.ThinkLeading, Tools: &found})
	a.Write([]byte(text), 0)
	a.Finish(true)
	return found.isAsked()
}

// foundCall is the sink of the messages in a text: it keeps the arguments of its calls.
type foundCall struct {
	calls []string
	open  bool
	// others reports whether there is a call of another function.
	others bool
}

// Function implements [structure.Tools].
func (f *foundCall) Function(name string) (schema []byte, declared bool) {
	return []byte(addSchema), name == "add"
}

// Open implements [harmony.Sink].
func (f *foundCall) Open(h harmony.Header) {
	f.open = h.Recipient == "functions.add"
	f.others = f.others || h.Recipient != "" && !f.open
	if f.open {
		f.calls = append(f.calls, "")
	}
}

// Content implements [harmony.Sink].
func (f *foundCall) Content(text []byte, _ int) {
	if f.open {
		f.calls[len(f.calls)-1] += string(text)
	}
}

// Close implements [harmony.Sink].
func (f *foundCall) Close(harmony.End) { f.open = false }

// isAsked reports whether the text has the call and no other.
func (f *foundCall) isAsked() bool {
	if len(f.calls) != 1 || f.others {
		return false
	}
	var numbers struct{ A, B json.Number }
	err := json.Unmarshal([]byte(f.calls[0]), &numbers)
	return err == nil && cmp.Or(numbers.A, "0") == "2" && numbers.B == "3"
}
