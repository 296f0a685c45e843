package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// OllamaVersion is the version of Ollama whose contract sim follows.
const OllamaVersion = "0.33.0-rc2"

// ollama is Ollama's /api/generate with raw prompts. Requests, checks and events are those of api/types.go and
// server/routes.go in https://github.com/ollama/ollama; what is said of prompts that do not fit is llm/llama_server.go.
//
// Whether control tokens are spelled in the text depends on Ollama's runner: [Options.PrintSpecials]. The one that ends
// an answer never is.
type ollama struct{}

// newOllama returns Ollama's /api/generate.
func newOllama() protocol { return ollama{} }

func (ollama) defaults(*Options) {}

func (ollama) path() string { return "/api/generate" }

func (ollama) methods() []string { return []string{http.MethodPost} }

func (ollama) page(s *Server, path string) *page {
	switch path {
	case "/":
		return s.healthPage(http.MethodGet, http.MethodHead)
	case "/v1/models":
		return s.modelsPage("library")
	case "/api/tags":
		return s.jsonPage(map[string]any{"models": ollamaModels(s)})
	case "/api/version":
		return s.jsonPage(map[string]string{"version": OllamaVersion})
	}
	return nil
}

// ollamaModel is a model in /api/tags.
type ollamaModel struct {
	Name    string             `json:"name"`
	Model   string             `json:"model"`
	Details ollamaModelDetails `json:"details"`
}

type ollamaModelDetails struct {
	Format   string   `json:"format"`
	Family   string   `json:"family"`
	Families []string `json:"families"`
	Context  int      `json:"context_length"`
}

func ollamaModels(s *Server) []ollamaModel {
	var all []ollamaModel
	for _, name := range s.opt.Models {
		all = append(all, ollamaModel{name, name,
			ollamaModelDetails{"gguf", "gptoss", []string{"gptoss"}, s.opt.MaxModelLen}})
	}
	return all
}

// guarded reports false: Ollama has no keys.
func (ollama) guarded(string) bool { return false }

func (ollama) answerID(http.Header, *completion) string { return requestID(http.Header{}, "") }

// ollamaRequest is a request. Ollama ignores other members.
type ollamaRequest struct {
	Model    string         `json:"model"`
	Prompt   string         `json:"prompt"`
	System   string         `json:"system"`
	Template string         `json:"template"`
	Context  []int          `json:"context"`
	Stream   *bool          `json:"stream"`
	Raw      bool           `json:"raw"`
	Think    any            `json:"think"`
	Truncate *bool          `json:"truncate"`
	Shift    *bool          `json:"shift"`
	Options  map[string]any `json:"options"`
}

func (ollama) decode(s *Server, _ http.Header, body []byte) (*completion, *refusal) {
	var q ollamaRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, badRequest("", err.Error())
	}
	switch {
	case !s.serves(q.Model) && !s.serves(strings.TrimSuffix(q.Model, ":latest")):
		return nil, notFound("", "model '"+q.Model+"' not found")
	case q.Raw && (q.Template != "" || q.System != "" || len(q.Context) > 0):
		return nil, badRequest("", "raw mode does not support template, system, or context")
	case !q.Raw || q.Prompt == "":
		return nil, badRequest("", "The simulator answers raw prompts.")
	}
	c := &completion{Model: &q.Model, Stream: q.Stream, ids: s.tok.AppendEncodeSpecial(nil, q.Prompt)}
	if c.Stream == nil {
		yes := true // Ollama's default
		c.Stream = &yes
	}
	// Without think: false, text is searched for what the template puts around reasoning.
	c.splitsReasoning = q.Think != false
	hide := !s.opt.PrintSpecials
	c.SkipSpecial, c.holdsLeast = &hide, true
	if r := readOptions(c, q.Options); r != nil {
		return nil, r
	}
	return c, fit(s, c, &q)
}

// readOptions reads the options. Unknown ones have no effect, and one of another type is an error of the server:
// Options.FromMap.
func readOptions(c *completion, options map[string]any) *refusal {
	wrong := func(name, kind string) *refusal {
		return refuse(http.StatusInternalServerError, "", "", fmt.Sprintf("option %q must be of type %s", name, kind))
	}
	for _, name := range []string{"num_predict", "num_ctx", "num_keep", "seed", "top_k", "repeat_last_n"} {
		value, ok := options[name]
		n, isNumber := value.(float64)
		switch {
		case !ok || value == nil:
		case !isNumber:
			return wrong(name, "integer")
		case name == "num_predict" && n >= 0:
			limit := int(n)
			c.MaxTokens = &limit
		}
	}
	for _, name := range []string{"temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty",
		"frequency_penalty"} {
		if value := options[name]; value != nil {
			if _, ok := value.(float64); !ok {
				return wrong(name, "float32")
			}
		}
	}
	list, ok := options["stop"].([]any)
	if !ok && options["stop"] != nil {
		return wrong("stop", "array")
	}
	for _, item := range list {
		stop, ok := item.(string)
		if !ok {
			return refuse(http.StatusInternalServerError, "", "", `option "stop" must be of an array of strings`)
		}
		c.Stop = append(c.Stop, stop)
	}
	return nil
}

// ollamaKeep is how many tokens of a prompt that does not fit are kept at its beginning: the default of num_keep.
const ollamaKeep = 4

// fit makes prompt and answer fit the context: llamaServerRunner.completionPromptForRequest. A prompt that is too
// long loses its middle, unless the request says otherwise.
func fit(s *Server, c *completion, q *ollamaRequest) *refusal {
	context, have := s.opt.MaxModelLen, len(c.ids)
	no := func(b *bool) bool { return b != nil && !*b }
	switch {
	case have < context:
	case no(q.Truncate):
		return badRequest(
			"", fmt.Sprintf(`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context `+
				`size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`,
				have, context, have, context))
	case no(q.Shift):
		return badRequest("", "the prompt is longer than the context length currently available to the model; shorten the "+
			"prompt, adjust the context length in settings, or use a model with a longer context length")
	default:
		from := have - context/2
		c.ids = append(append([]uint32{}, c.ids[:min(ollamaKeep, from)]...), c.ids[from:]...)
	}
	room := max(context-len(c.ids), 1)
	if c.MaxTokens == nil || no(q.Shift) && *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	return nil
}

// refusal has the message alone.
func (ollama) refusal(r *refusal) []byte { return mustJSON(map[string]string{"error": r.Message}) }

func (k ollama) errorEvent(r *refusal) []byte { return line(map[string]string{"error": r.Message}) }

func (ollama) streamsRefusals() bool { return false }

func (ollama) streamType() string { return "application/x-ndjson" }

func (ollama) leading(*job) []byte { return nil }

func (ollama) terminator() []byte { return nil }

func (ollama) singleUse() bool { return false }

func (ollama) meets() bool { return false }

// The members of answers, in Ollama's order. The durations are of no machine.
type (
	ollamaAnswer struct {
		Model     string `json:"model"`
		CreatedAt string `json:"created_at"`
		Response  string `json:"response"`
		Thinking  string `json:"thinking,omitempty"`
		Done      bool   `json:"done"`
		*ollamaEnd
	}
	ollamaEnd struct {
		Reason         string `json:"done_reason"`
		TotalDuration  int64  `json:"total_duration"`
		LoadDuration   int64  `json:"load_duration"`
		PromptCount    int    `json:"prompt_eval_count"`
		PromptDuration int64  `json:"prompt_eval_duration"`
		Count          int    `json:"eval_count"`
		Duration       int64  `json:"eval_duration"`
	}
)

// event has the text. Tokens without text make no event. The last event has no text.
func (k ollama) event(j *job, _, from, to int) []byte {
	var out []byte
	if text := j.text(from, to); text != "" {
		out = line(k.answer(j, text, from))
	}
	if to == len(j.gen.ids) {
		end := k.answer(j, "", from)
		end.Done, end.ollamaEnd = true, endOf(j)
		out = append(out, line(end)...)
	}
	return out
}

// answer returns an event with text of the tokens after from.
func (ollama) answer(j *job, text string, from int) ollamaAnswer {
	a := ollamaAnswer{Model: *j.c.Model, CreatedAt: time.Unix(j.created, 0).UTC().Format(time.RFC3339Nano), Response: text}
	if j.c.splitsReasoning && inReasoning(j.gen.ids[:from]) {
		a.Response, a.Thinking = "", text
	}
	return a
}

// inReasoning reports whether what comes after the ids is in the first message.
func inReasoning(ids []uint32) bool {
	for _, id := range ids {
		if id == tokenizer.End {
			return false
		}
	}
	return true
}

func endOf(j *job) *ollamaEnd {
	return &ollamaEnd{Reason: j.gen.finish, TotalDuration: 3, LoadDuration: 1, PromptCount: len(j.c.ids),
		PromptDuration: 1,
		Count:          len(j.gen.ids), Duration: 1}
}

func (ollama) trailing(*job) []byte { return nil }

func (k ollama) whole(j *job) []byte {
	a := k.answer(j, j.text(0, len(j.gen.ids)), len(j.gen.ids))
	a.Done, a.ollamaEnd = true, endOf(j)
	return mustJSON(a)
}

// metrics writes none. Ollama has no such page.
func (ollama) metrics(io.Writer, *metrics, string, int) {}

// line returns a value as a line of NDJSON.
func line(v any) []byte { return append(mustJSON(v), '\n') }
