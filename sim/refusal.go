package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// refusal is an error with vLLM's members. Its code is the HTTP status.
type refusal struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`

	// PromptTokens and Context are of llama.cpp's refusal of a prompt that does not fit.
	PromptTokens, Context int `json:"-"`

	retryAfter string
}

func refuse(status int, kind, param, message string) *refusal {
	r := &refusal{Message: message, Type: kind, Code: status}
	if param != "" {
		r.Param = &param
	}
	return r
}

// badRequest returns a refusal by the engine or the serving layer. invalid returns one by the validation of the body.
func badRequest(param, message string) *refusal {
	return refuse(400, "BadRequestError", param, message)
}
func invalid(param, message string) *refusal  { return refuse(400, "Bad Request", param, message) }
func notFound(param, message string) *refusal { return refuse(404, "NotFoundError", param, message) }

// httpError returns an error of the HTTP framework itself.
func httpError(status int) *refusal {
	return refuse(status, http.StatusText(status), "", http.StatusText(status))
}

// failure returns an error of the server, as faults cause it.
func failure(status int) *refusal {
	kind := "InternalServerError"
	switch {
	case status == 500:
		return refuse(status, kind, "", "Internal server error")
	case status == 400:
		kind = "BadRequestError"
	case status == 404:
		kind = "NotFoundError"
	case status != 500:
		kind = strings.ReplaceAll(http.StatusText(status), " ", "") + "Error"
	}
	return refuse(status, kind, "", http.StatusText(status))
}

// flatError is an error in the flat form of SGLang and TensorRT-LLM.
type flatError struct {
	Object string `json:"object"`
	*refusal
}

func flat(r *refusal) flatError { return flatError{"error", r} }

// pydantic formats one validation error as vLLM reports it.
func pydantic(kind, loc, msg string) string {
	return fmt.Sprintf("1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': %s}", kind, loc, pyRepr(msg))
}

func invalidValue(param, msg string, fields int) *refusal {
	return invalid(param, fmt.Sprintf("1 validation error:\n  {'type': 'value_error', 'loc': 'body', 'msg': %s, "+
		"'input': '<dict of %d items>', 'ctx': {'error': VLLMValidationError(%s)}}",
		pyRepr("Value error, "+msg+" (parameter="+param+")"), fields, pyRepr(msg)))
}

// pyRepr returns Python's repr of a text without control characters.
func pyRepr(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	if !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `\'`) + "'"
}

// mustJSON encodes structures of this package without HTML escapes. They can always be encoded.
func mustJSON(v any) []byte {
	if o, ok := v.(object); ok {
		return o.appendJSON(nil)
	}
	return encodeJSON(v)
}

func encodeJSON(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
