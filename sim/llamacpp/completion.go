package llamacpp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// completion is the /completion of llama.cpp's server. Requests, checks and events follow llama.cpp b11434
// (tools/server); e2e/llamacpp/testdata has what a real one sends, and make test-llamacpp compares both.
type completion struct{}

// Completion returns llama.cpp's /completion.
func Completion() server.Protocol { return completion{} }

// Defaults: the cache compares token by token, and has one context.
func (completion) Defaults(o *server.Options) {
	if o.BlockSize <= 0 {
		o.BlockSize = 1
	}
	if o.KVCacheTokens <= 0 {
		o.KVCacheTokens = o.MaxModelLen
	}
}

func (completion) Path() string { return "/completion" }

func (completion) Methods() []string { return []string{http.MethodPost} }

func (completion) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/health", "/v1/health":
		return &server.Page{Methods: []string{http.MethodGet}, Serve: func(w http.ResponseWriter, rec *server.Request) {
			if !s.Healthy() {
				s.Refuse(w, rec, server.Refuse(http.StatusServiceUnavailable, "", "", "Loading model"))
				return
			}
			s.Respond(w, rec, http.StatusOK, []byte(`{"status":"ok"}`))
		}}
	case "/v1/models", "/models":
		return s.JSONPage(map[string]any{"object": "list", "data": []any{map[string]any{
			"id": s.Options.Models[0], "aliases": s.Options.Models, "object": "model", "created": s.Created,
			"owned_by": "llamacpp",
			"meta":     map[string]any{"vocab_type": 2, "n_vocab": tokenizer.LastSpecial, "n_ctx": s.Options.MaxModelLen},
		}}})
	case "/props":
		return s.JSONPage(map[string]any{"build_info": "b11434-pypi", "model_alias": s.Options.Models[0],
			"total_slots":                 llamaSlots(s),
			"default_generation_settings": map[string]any{"n_ctx": s.Options.MaxModelLen}})
	case "/metrics":
		return s.MetricsPage("text/plain; version=0.0.4")
	case "/tokenize":
		return llamaTokenizePage(s)
	}
	return nil
}

func (completion) Guarded(path string) bool { return path != "/health" && path != "/v1/health" }

// AnswerID returns nothing: answers have no id.
func (completion) AnswerID(http.Header, *server.Completion) string { return "" }

// llamaSlots is how many requests are answered at once.
func llamaSlots(s *server.Server) int {
	if s.Options.MaxRunning > 0 {
		return s.Options.MaxRunning
	}
	return 128
}

// llamaRequest is a request. The server ignores other members, a model and stop_token_ids among them.
type llamaRequest struct {
	Prompt         json.RawMessage    `json:"prompt"`
	Predict        *int               `json:"n_predict"`
	N              *int               `json:"n"`
	Stream         bool               `json:"stream"`
	Stop           server.StopStrings `json:"stop"`
	IgnoreEOS      bool               `json:"ignore_eos"`
	Temperature    *float64           `json:"temperature"`
	TopP           *float64           `json:"top_p"`
	TopK           *int               `json:"top_k"`
	MinP           *float64           `json:"min_p"`
	RepeatPenalty  *float64           `json:"repeat_penalty"`
	Presence       *float64           `json:"presence_penalty"`
	Frequency      *float64           `json:"frequency_penalty"`
	Seed           *int64             `json:"seed"`
	LogitBias      json.RawMessage    `json:"logit_bias"`
	Samplers       json.RawMessage    `json:"samplers"`
	Preserved      []string           `json:"preserved_tokens"`
	ReturnTokens   bool               `json:"return_tokens"`
	ResponseFields []string           `json:"response_fields"`
	Grammar        string             `json:"grammar"`
	JSONSchema     json.RawMessage    `json:"json_schema"`
	Probs          int                `json:"n_probs"`
	Progress       bool               `json:"return_progress"`
}

// llamaOptions are the parts of a request that only this kind knows.
type llamaOptions struct {
	// preserved are the ids whose text is shown although they end an answer.
	preserved []uint32
	// fields are the names of the members that the last event has. Without names it has all members.
	fields       []string
	returnTokens bool
	// shown is the result of llamaShown.
	shown []*string
}

// llamaOf returns what only this kind knows of the job's request.
func llamaOf(j *server.Job) *llamaOptions { return j.Asked.Own.(*llamaOptions) }

func (completion) Decode(s *server.Server, _ http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var q llamaRequest
	if r := decodeLlama(body, &q); r != nil {
		return nil, r
	}
	own := &llamaOptions{fields: q.ResponseFields, returnTokens: q.ReturnTokens}
	c := &server.Completion{Stream: &q.Stream, N: q.N, IgnoreEOS: q.IgnoreEOS, Own: own}
	switch slots := llamaSlots(s); {
	case q.Prompt == nil:
		return nil, server.BadRequest("", "[json.exception.out_of_range.403] key 'prompt' not found")
	case c.Choices() < 1 || c.Choices() > slots:
		return nil, server.BadRequest("", fmt.Sprintf("Field 'n': Value must be between 1 <= value <= %d, but got %d", slots,
			c.Choices()))
	case len(q.Stop) > 0 || q.JSONSchema != nil || q.Probs > 0 || q.Progress:
		return nil, server.BadRequest("", NotSimulated)
	}
	for _, name := range q.Preserved {
		// The real server ignores what is not one token.
		if id, size, _ := tokenizer.MatchSpecial([]byte(name)); size > 0 && size == len(name) {
			own.preserved = append(own.preserved, id)
		}
	}
	var r *server.Refusal
	if c.IDs, r = readLlamaPrompt(q.Prompt); r != nil {
		return nil, r
	}
	if q.Grammar != "" {
		g, r := readGrammar(q.Grammar)
		if r != nil {
			return nil, r
		}
		c.Holds.Form = g
	}
	room := s.Options.MaxModelLen - len(c.IDs)
	if room < 1 {
		return nil, &server.Refusal{Code: http.StatusBadRequest, Type: "exceed_context_size_error",
			Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it",
				len(c.IDs), s.Options.MaxModelLen), PromptTokens: len(c.IDs), Context: s.Options.MaxModelLen}
	}
	// -1, the default, is the rest of the context. 0 gives one token.
	if q.Predict != nil && *q.Predict >= 0 {
		room = min(room, max(*q.Predict, 1))
	}
	c.MaxTokens = &room
	return c, nil
}

// NotSimulated is the refusal of what the simulator leaves out.
const NotSimulated = "The simulator has no stop strings, schemas, probabilities and progress."

// decodeLlama decodes a body as nlohmann's JSON library does: malformed JSON is a failure of the server.
func decodeLlama(body []byte, q *llamaRequest) *server.Refusal {
	err := json.Unmarshal(body, q)
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return server.BadRequest("", fmt.Sprintf("[json.exception.parse_error.101] parse error at line 1, column %d: syntax error: %v",
			syntax.Offset+1, err))
	case errors.As(err, &wrong):
		expected := "number"
		switch wrong.Type.String() {
		case "bool":
			expected = "boolean"
		case "string":
			expected = "string"
		}
		return server.BadRequest("", fmt.Sprintf("Field '%s': [json.exception.type_error.302] type must be %s, but is %s",
			wrong.Field, expected, wrong.Value))
	case err != nil:
		return server.BadRequest("", err.Error())
	}
	return nil
}

// readLlamaPrompt reads a prompt of ids.
func readLlamaPrompt(raw json.RawMessage) ([]uint32, *server.Refusal) {
	if text := strings.TrimSpace(string(raw)); text == "[]" || text == `""` {
		return nil, server.BadRequest("", `"prompt" must not be empty`)
	}
	ids, r := server.ReadIDs("prompt", raw)
	if r != nil || slices.ContainsFunc(ids, func(id uint32) bool { return id >= tokenizer.LastSpecial }) {
		return nil, server.BadRequest("", "Prompt contains invalid tokens")
	}
	return ids, nil
}

// llamaError is an error in the server's form.
type llamaError struct {
	Code         int    `json:"code"`
	Message      string `json:"message"`
	Type         string `json:"type"`
	PromptTokens int    `json:"n_prompt_tokens,omitempty"`
	Context      int    `json:"n_ctx,omitempty"`
}

func llamaErrorOf(r *server.Refusal) map[string]llamaError {
	e := llamaError{Code: r.Code, Message: r.Message, PromptTokens: r.PromptTokens, Context: r.Context}
	switch {
	case r.Context > 0:
		e.Type = r.Type
	case r.Code == http.StatusNotFound:
		e.Type, e.Message = "not_found_error", "File Not Found"
	case r.Code == http.StatusServiceUnavailable:
		e.Type = "unavailable_error"
	case r.Code >= http.StatusInternalServerError:
		e.Type = "server_error"
	default:
		e.Type = "invalid_request_error"
	}
	return map[string]llamaError{"error": e}
}

func (completion) Refusal(r *server.Refusal) []byte { return server.MustJSON(llamaErrorOf(r)) }

func (completion) ErrorEvent(r *server.Refusal) []byte { return server.Frame(llamaErrorOf(r)) }

func (completion) StreamsRefusals() bool { return false }

func (completion) StreamType() string { return "text/event-stream" }

// Terminator is nothing: the stream ends with its last event.
func (completion) Terminator() []byte { return nil }

// SingleUse: the server says that it keeps the connection, and closes it when it is used again.
func (completion) SingleUse() bool { return true }

func (completion) Meets() bool { return false }

// llamaTokenizePage returns /tokenize of llama.cpp. Its add_special and parse_special change nothing for this
// vocabulary, and a request without content has no tokens. Any other request is a failure of the server.
func llamaTokenizePage(s *server.Server) *server.Page {
	return &server.Page{Methods: []string{http.MethodPost}, Serve: func(w http.ResponseWriter, rec *server.Request) {
		var q struct {
			Content string `json:"content"`
		}
		err := json.Unmarshal(rec.Body, &q)
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			s.Refuse(w, rec, server.BadRequest("", "[json.exception.type_error.302] type must be string, but is "+wrong.Value))
		case err != nil:
			s.Refuse(w, rec, server.BadRequest("", err.Error()))
		default:
			s.Respond(w, rec, http.StatusOK, server.MustJSON(map[string]any{"tokens": server.List(s.Tokenize(q.Content))}))
		}
	}}
}
