package ollama

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Version is the version of Ollama whose contract sim follows.
const Version = "0.33.0-rc2"

// generate is Ollama's /api/generate with raw prompts. Requests, checks and events follow api/types.go and
// server/routes.go in https://github.com/ollama/ollama; the words about prompts that do not fit come from
// llm/llama_server.go.
//
// Whether control tokens are spelled in the text depends on Ollama's runner: [server.Options.PrintSpecials]. The one
// that ends an answer never is.
type generate struct{}

// Generate returns Ollama's /api/generate.
func Generate() server.Protocol { return generate{} }

func (generate) Defaults(*server.Options) {}

func (generate) Path() string { return "/api/generate" }

func (generate) Methods() []string { return []string{http.MethodPost} }

func (generate) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/":
		return s.HealthPage(http.MethodGet, http.MethodHead)
	case "/v1/models":
		return s.ModelsPage("library")
	case "/api/tags":
		return s.JSONPage(map[string]any{"models": ollamaModels(s)})
	case "/api/version":
		return s.JSONPage(map[string]string{"version": Version})
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

func ollamaModels(s *server.Server) []ollamaModel {
	var all []ollamaModel
	for _, name := range s.Options.Models {
		all = append(all, ollamaModel{name, name,
			ollamaModelDetails{"gguf", "gptoss", []string{"gptoss"}, s.Options.MaxModelLen}})
	}
	return all
}

// Guarded reports false: Ollama has no keys.
func (generate) Guarded(string) bool { return false }

func (generate) AnswerID(http.Header, *server.Completion) string {
	return server.RequestID(http.Header{}, "")
}

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

func (generate) Decode(s *server.Server, _ http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var q ollamaRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, server.BadRequest("", err.Error())
	}
	switch {
	case !s.Serves(q.Model) && !s.Serves(strings.TrimSuffix(q.Model, ":latest")):
		return nil, server.NotFound("", "model '"+q.Model+"' not found")
	case q.Raw && (q.Template != "" || q.System != "" || len(q.Context) > 0):
		return nil, server.BadRequest("", "raw mode does not support template, system, or context")
	case !q.Raw || q.Prompt == "":
		return nil, server.BadRequest("", "The simulator answers raw prompts.")
	}
	c := &server.Completion{Model: &q.Model, Stream: q.Stream, IDs: s.Tokenizer.AppendEncodeSpecial(nil, q.Prompt)}
	if c.Stream == nil {
		yes := true // Ollama's default
		c.Stream = &yes
	}
	// Without think: false, text is searched for what the template puts around reasoning.
	c.SplitsReasoning = q.Think != false
	hide := !s.Options.PrintSpecials
	c.SkipSpecial, c.HoldsLeast = &hide, true
	if r := readOptions(c, q.Options); r != nil {
		return nil, r
	}
	return c, fit(s, c, &q)
}

// readOptions reads the options. Unknown ones have no effect, and one of another type is an error of the server:
// Options.FromMap.
func readOptions(c *server.Completion, options map[string]any) *server.Refusal {
	wrong := func(name, kind string) *server.Refusal {
		return server.Refuse(http.StatusInternalServerError, "", "", fmt.Sprintf("option %q must be of type %s", name, kind))
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
			return server.Refuse(http.StatusInternalServerError, "", "", `option "stop" must be of an array of strings`)
		}
		c.Stop = append(c.Stop, stop)
	}
	return nil
}

// ollamaKeep is how many tokens of a prompt that does not fit are kept at its beginning: the default of num_keep.
const ollamaKeep = 4

// fit makes prompt and answer fit the context: llamaServerRunner.completionPromptForRequest. A prompt that is too
// long loses its middle, unless the request says otherwise.
func fit(s *server.Server, c *server.Completion, q *ollamaRequest) *server.Refusal {
	context, have := s.Options.MaxModelLen, len(c.IDs)
	no := func(b *bool) bool { return b != nil && !*b }
	switch {
	case have < context:
	case no(q.Truncate):
		return server.BadRequest(
			"", fmt.Sprintf(`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context `+
				`size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`,
				have, context, have, context))
	case no(q.Shift):
		return server.BadRequest("",
			"the prompt is longer than the context length currently available to the model; shorten the "+
				"prompt, adjust the context length in settings, or use a model with a longer context length")
	default:
		from := have - context/2
		c.IDs = append(append([]uint32{}, c.IDs[:min(ollamaKeep, from)]...), c.IDs[from:]...)
	}
	room := max(context-len(c.IDs), 1)
	if c.MaxTokens == nil || no(q.Shift) && *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	return nil
}

// Refusal has the message alone.
func (generate) Refusal(r *server.Refusal) []byte {
	return server.MustJSON(map[string]string{"error": r.Message})
}

func (k generate) ErrorEvent(r *server.Refusal) []byte {
	return line(map[string]string{"error": r.Message})
}

func (generate) StreamsRefusals() bool { return false }

func (generate) StreamType() string { return "application/x-ndjson" }

func (generate) Leading(*server.Job) []byte { return nil }

func (generate) Terminator() []byte { return nil }

func (generate) SingleUse() bool { return false }

func (generate) Meets() bool { return false }

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

// Event has the text. Tokens without text make no event. The last event has no text.
func (k generate) Event(j *server.Job, _, from, to int) []byte {
	var out []byte
	if text := j.Text(from, to); text != "" {
		out = line(k.answer(j, text, from))
	}
	if to == len(j.Answer.IDs) {
		end := k.answer(j, "", from)
		end.Done, end.ollamaEnd = true, endOf(j)
		out = append(out, line(end)...)
	}
	return out
}

// answer returns an event with text of the tokens after from.
func (generate) answer(j *server.Job, text string, from int) ollamaAnswer {
	a := ollamaAnswer{Model: *j.Asked.Model, CreatedAt: time.Unix(j.Created, 0).UTC().Format(time.RFC3339Nano),
		Response: text}
	if j.Asked.SplitsReasoning && inReasoning(j.Answer.IDs[:from]) {
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

func endOf(j *server.Job) *ollamaEnd {
	return &ollamaEnd{Reason: j.Answer.Finish, TotalDuration: 3, LoadDuration: 1, PromptCount: len(j.Asked.IDs),
		PromptDuration: 1,
		Count:          len(j.Answer.IDs), Duration: 1}
}

func (generate) Trailing(*server.Job) []byte { return nil }

func (k generate) Whole(j *server.Job) []byte {
	a := k.answer(j, j.Text(0, len(j.Answer.IDs)), len(j.Answer.IDs))
	a.Done, a.ollamaEnd = true, endOf(j)
	return server.MustJSON(a)
}

// Metrics writes none. Ollama has no such page.
func (generate) Metrics(io.Writer, *server.Metrics, string, int) {}

// line returns a value as a line of NDJSON.
func line(v any) []byte { return append(server.MustJSON(v), '\n') }
