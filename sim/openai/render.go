package openai

import (
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/sim/server"
	"github.com/harmonyedge/harmonyedge/sim/vllm"
)

// renders is a vLLM with --enable-scale-out: conversations are rendered at /v1/chat/completions/render, and
// /inference/v1/generate takes what comes of that, and answers with text beside the ids. It follows vLLM 0.32,
// vllm/entrypoints/scale_out. The model and its template are those of [Chat], and the text has Harmony's control tokens.
type renders struct{ server.Protocol }

// Render returns a vLLM that renders conversations.
func Render() server.Protocol { return renders{vllm.GenerateText()} }

func (renders) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/v1/chat/completions/render":
		return &server.Page{Methods: []string{http.MethodPost}, Serve: func(w http.ResponseWriter, rec *server.Request) {
			out, refused := renderChat(s, rec)
			if refused != nil {
				s.Refuse(w, rec, refused)
				return
			}
			s.Respond(w, rec, http.StatusOK, out)
		}}
	case "/tokenize":
		return tokenizePage(s)
	case "/detokenize":
		return detokenizePage(s)
	}
	return vllm.GenerateText().Page(s, path)
}

// asked are the members of a conversation that say what the answer must be. A vLLM makes a grammar of them. The
// simulator hands them on as they are, in a member that vLLM leaves to plugins.
type asked struct {
	Tools          json.RawMessage `json:"tools,omitempty"`
	ToolChoice     json.RawMessage `json:"tool_choice,omitempty"`
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
	Structured     json.RawMessage `json:"structured_outputs,omitempty"`
}

// renderChat returns the request to generate an answer to a conversation.
func renderChat(s *server.Server, rec *server.Request) ([]byte, *server.Refusal) {
	c, refused := chat{}.Decode(s, rec.Header, rec.Body)
	if refused != nil {
		return nil, refused
	}
	var q asked
	var given struct {
		Temperature json.RawMessage `json:"temperature"`
		TopP        json.RawMessage `json:"top_p"`
		Seed        json.RawMessage `json:"seed"`
		LogitBias   json.RawMessage `json:"logit_bias"`
	}
	if json.Unmarshal(rec.Body, &q) != nil || json.Unmarshal(rec.Body, &given) != nil {
		return nil, server.Invalid("body", "JSON decode error")
	}
	one := func(raw json.RawMessage) any {
		if raw == nil || string(raw) == "null" {
			return 1.0
		}
		return raw
	}
	sampling := server.Object{{"n", c.Choices()}, {"presence_penalty", 0.0}, {"temperature", one(given.Temperature)},
		{"top_p", one(given.TopP)}, {"stop", append([]string{}, c.Stop...)},
		{"stop_token_ids", server.List(c.StopTokenIDs)}, {"max_tokens", c.TokenLimit()}, {"min_tokens", c.MinTokens},
		{"output_kind", 1}, {"skip_clone", true}}
	for _, m := range []server.Member{{"seed", given.Seed}, {"logit_bias", given.LogitBias}} {
		if raw, _ := m.Value.(json.RawMessage); raw != nil {
			sampling = append(sampling, m)
		}
	}
	if c.Logprobs != nil {
		sampling = append(sampling, server.Member{"logprobs", *c.Logprobs})
	}
	if c.IgnoreEOS {
		sampling = append(sampling, server.Member{"ignore_eos", true})
	}
	sampling = append(sampling, server.Member{"extra_args", map[string]asked{"sim": q}})
	return server.MustJSON(server.Object{{"request_id", "chatcmpl-" + server.RequestID(rec.Header, c.RequestID)},
		{"token_ids", server.List(c.IDs)}, {"token_offsets", nil}, {"features", nil}, {"content_parts", nil},
		{"sampling_params", sampling}, {"model", c.Model}, {"reasoning_ended", nil}, {"reasoning_parser_kwargs", nil},
		{"return_token_ids", nil}, {"output_mode", "tokens"}, {"stream", c.Streams()}, {"stream_options", c.StreamOptions},
		{"cache_salt", c.CacheSalt}, {"priority", c.Priority}, {"kv_transfer_params", nil}, {"ec_transfer_params", nil}}), nil
}

func (k renders) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	c, refused := k.Protocol.Decode(s, h, body)
	if refused != nil {
		return c, refused
	}
	var q struct {
		OutputMode string `json:"output_mode"`
		Sampling   struct {
			SkipSpecial *bool `json:"skip_special_tokens"`
			Extra       struct {
				Sim *chatRequest `json:"sim"`
			} `json:"extra_args"`
		} `json:"sampling_params"`
	}
	if json.Unmarshal(body, &q) != nil {
		return nil, server.Invalid("body.sampling_params", "Input should be valid sampling parameters")
	}
	c.SkipSpecial, c.Own = q.Sampling.SkipSpecial, q.OutputMode
	if from := q.Sampling.Extra.Sim; from != nil {
		if r := from.readTools(s); r != nil {
			return nil, r
		}
		c.Holds.Form, c.Declared = from.Holds.Form, from.Declared
	}
	return c, nil
}

func (k renders) Event(j *server.Job, index, from, to int) []byte {
	if j.Asked.Own != "text" {
		return k.Protocol.Event(j, index, from, to)
	}
	choice := server.Object{{"index", index}, {"finish_reason", nil}, {"stop_reason", nil},
		{"token_ids", server.List(j.Answer.IDs[from:to])}, {"routed_experts", nil}, {"sampling_mask", nil},
		{"weight_versions", nil}, {"text", j.Text(from, to)}, {"logprobs", nil}}
	if to == len(j.Answer.IDs) {
		choice[1].Value, choice[2].Value = j.Answer.Finish, j.Answer.Stop
	}
	if j.Asked.Logprobs != nil {
		choice[8].Value = textLogprobs(j, from, to)
	}
	return server.Frame(server.Object{{"request_id", j.ID}, {"usage", nil}, {"output_mode", "text"},
		{"choices", []any{choice}}})
}
