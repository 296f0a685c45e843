package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

type errorBody struct {
	Error struct {
		Message string
		Type    string
		Param   *string
		Code    int
	}
}

func TestRefusals(t *testing.T) {
	_, url := start(t, Options{MaxModelLen: 200})
	long := strings.Repeat("1,", 300) + "1"
	small := `{"model":"gpt-oss-120b","prompt":[200006,173781]`
	for _, tc := range []struct {
		name, body         string
		status             int
		kind, param, about string
	}{
		{"bad JSON", `{"model":`, 400, "Bad Request", "body.9", "JSON decode error"},
		{"no object", `[1]`, 400, "Bad Request", "body", "Input should be a valid dictionary"},
		{"unknown model", `{"model":"other","prompt":[1]}`, 404, "NotFoundError", "model",
			"The model `other` does not exist."},
		{"no prompt", `{"model":"gpt-oss-120b"}`, 400, "Bad Request", "prompt",
			"Either prompt or prompt_embeds must be provided and non-empty."},
		{"null prompt", `{"prompt":null}`, 400, "Bad Request", "prompt", "Either prompt"},
		{"empty text", `{"prompt":""}`, 400, "Bad Request", "prompt", "Either prompt"},
		{"empty ids", `{"prompt":[]}`, 400, "BadRequestError", "", "The decoder prompt cannot be empty"},
		{"negative id", `{"prompt":[200006,-1]}`, 400, "Bad Request", "body.prompt.1",
			"Input should be greater than or equal to 0"},
		{"unknown id", `{"prompt":[201088]}`, 400, "BadRequestError", "", "Token id 201088 is out of vocabulary"},
		{"huge id", `{"prompt":[99999999999]}`, 400, "BadRequestError", "", "out of vocabulary"},
		{"fraction id", `{"prompt":[1.5]}`, 400, "Bad Request", "body.prompt.0", "valid integer"},
		{"two prompts", `{"prompt":[[1],[2]]}`, 400, "BadRequestError", "prompt", "one prompt"},
		{"object prompt", `{"prompt":{}}`, 400, "Bad Request", "body.prompt", "valid list"},
		{"too long", `{"prompt":[` + long + `],"max_tokens":1}`, 400, "BadRequestError", "input_tokens",
			"This model's maximum context length is 200 tokens. However, your prompt contains 301 input tokens, which " +
				"exceeds this limit even without any output tokens."},
		{"fills the context", `{"prompt":[1` + strings.Repeat(",1", 199) + `],"max_tokens":1}`, 400, "BadRequestError",
			"max_tokens", "max_tokens must be at least 1, got 0."},
		{"max_tokens too large", `{"prompt":[1],"max_tokens":201}`, 400, "BadRequestError", "max_tokens",
			"max_model_len=200"},
		{"max_tokens 0", `{"prompt":[1],"max_tokens":0}`, 400, "BadRequestError", "max_tokens",
			"max_tokens must be at least 1, got 0."},
		{"max_tokens text", `{"prompt":[1],"max_tokens":"many"}`, 400, "Bad Request", "body.max_tokens",
			"Input should be a valid int"},
		{"stream options", small + `,"stream_options":{"include_usage":true}}`, 400, "Bad Request", "stream_options",
			"Stream options can only be defined when `stream=True`."},
		{"top_p", small + `,"top_p":0}`, 400, "BadRequestError", "top_p", "top_p must be in (0, 1], got 0."},
		{"temperature", small + `,"temperature":-1}`, 400, "BadRequestError", "temperature",
			"temperature must be non-negative, got -1."},
		{"high temperature", small + `,"temperature":2.5}`, 400, "BadRequestError", "temperature",
			"temperature must be in [0, 2], got 2.5."},
		{"top_k", small + `,"top_k":-2}`, 400, "BadRequestError", "top_k",
			"top_k must be 0 (disable), or at least 1, got -2."},
		{"min_p", small + `,"min_p":1.5}`, 400, "BadRequestError", "min_p", "min_p must be in [0, 1], got 1.5."},
		{"repetition_penalty", small + `,"repetition_penalty":0}`, 400, "BadRequestError", "repetition_penalty",
			"greater than zero"},
		{"seed", small + `,"seed":1.5}`, 400, "Bad Request", "body.seed", "valid int"},
		{"bias of unknown id", small + `,"logit_bias":{"201088":1}}`, 400, "BadRequestError", "logit_bias", "out-of-vocab"},
		{"bias of a word", small + `,"logit_bias":{"a":1}}`, 400, "BadRequestError", "logit_bias", "must be an integer"},
		{"bias as text", small + `,"logit_bias":{"1":"x"}}`, 400, "Bad Request", "body.logit_bias", "valid float64"},
		{"priority", small + `,"priority":1}`, 400, "BadRequestError", "", "Priority scheduling is not enabled"},
		{"beam", small + `,"use_beam_search":true,"stream":true}`, 400, "BadRequestError", "", "beam search"},
		{"no Harmony", `{"prompt":[1,2,3]}`, 400, "BadRequestError", "prompt",
			"not well-formed Harmony: token 1 at 0 where <|start|> belongs"},
		{"text", `{"prompt":"<|start|>user<|message|>x<|end|><|start|>assistant"}`, 400, "BadRequestError", "prompt",
			"not well-formed Harmony"},
		{"text in a list", `{"prompt":["hello"]}`, 400, "BadRequestError", "prompt", "not well-formed Harmony"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := post(t, url, tc.body)
			b, _ := io.ReadAll(resp.Body)
			var e errorBody
			if err := json.Unmarshal(b, &e); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			param := ""
			if e.Error.Param != nil {
				param = *e.Error.Param
			}
			if resp.StatusCode != tc.status || e.Error.Code != tc.status || e.Error.Type != tc.kind || param != tc.param ||
				!strings.Contains(e.Error.Message, tc.about) {
				t.Errorf("%d %s", resp.StatusCode, b)
			}
			if !strings.Contains(string(b), `"param":`) || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("shape %s", b)
			}
		})
	}
}

func TestHTTPRefusals(t *testing.T) {
	_, url := start(t, Options{APIKey: "secret"})
	for _, tc := range []struct {
		method, path, key, ctype string
		status                   int
		want                     string
	}{
		{"GET", "/v1/completions", "secret", "", 405,
			`{"error":{"message":"Method Not Allowed","type":"Method Not Allowed","param":null,"code":405}}`},
		{"GET", "/nothing", "", "", 404, `{"error":{"message":"Not Found","type":"Not Found","param":null,"code":404}}`},
		{"POST", "/health", "", "", 405, `"code":405`},
		{"GET", "/v1/models", "wrong", "", 401, `{"error":"Unauthorized"}`},
		{"POST", "/v1/completions", "secret", "text/plain", 400,
			"Unsupported Media Type: Only 'application/json' is allowed"},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), tc.method, url+tc.path, strings.NewReader("{}"))
		req.Header.Set("Authorization", "Bearer "+tc.key)
		req.Header.Set("Content-Type", tc.ctype)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.status || !strings.Contains(string(b), tc.want) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, resp.StatusCode, b)
		}
	}
}

// The prompt may come as a list with one prompt; text becomes Harmony only where the server reads specials out of it,
// and anything is answered where the server does not mind.
func TestPromptForms(t *testing.T) {
	ids, _ := json.Marshal(encode(hello))
	text, _ := json.Marshal(hello)
	for name, tc := range map[string]struct {
		o      Options
		prompt string
		want   string
	}{
		"list":        {Options{}, "[" + string(ids) + "]", "You said: Hello there."},
		"text":        {Options{TextSpecials: true}, string(text), "You said: Hello there."},
		"text list":   {Options{TextSpecials: true}, "[" + string(text) + "]", "You said: Hello there."},
		"any":         {Options{AnyPrompt: true}, `"what"`, "This prompt is not Harmony."},
		"no model":    {Options{}, string(ids), "You said: Hello there."},
		"other types": {Options{}, string(ids) + `,"unknown_field":{"a":1}`, "You said: Hello there."},
	} {
		_, url := start(t, tc.o)
		got := read(t, post(t, url, `{"stream":true,"max_tokens":100,"prompt":`+tc.prompt+"}"))
		if !strings.Contains(got.text, tc.want) {
			t.Errorf("%s: %q", name, got.text)
		}
	}
}
