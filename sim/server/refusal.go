package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Refusal is an error with vLLM's members. Its code is the HTTP status.
type Refusal struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`

	// PromptTokens and Context are of llama.cpp's refusal of a prompt that does not fit.
	PromptTokens, Context int `json:"-"`

	retryAfter string
}

// Refuse returns a refusal with this status, type, parameter and message. An empty parameter is none.
func Refuse(status int, kind, param, message string) *Refusal {
	r := &Refusal{Message: message, Type: kind, Code: status}
	if param != "" {
		r.Param = &param
	}
	return r
}

// BadRequest returns a refusal by the engine or the serving layer.
func BadRequest(param, message string) *Refusal {
	return Refuse(400, "BadRequestError", param, message)
}

// Invalid returns a refusal by the validation of the body.
func Invalid(param, message string) *Refusal { return Refuse(400, "Bad Request", param, message) }

// NotFound returns a refusal of a name that the server does not have.
func NotFound(param, message string) *Refusal { return Refuse(404, "NotFoundError", param, message) }

// HTTPError returns an error of the HTTP framework itself.
func HTTPError(status int) *Refusal {
	return Refuse(status, http.StatusText(status), "", http.StatusText(status))
}

// failure returns an error of the server, as faults cause it. For 403, 500 and 503 the words are vLLM's.
func failure(status int) *Refusal {
	kind := "InternalServerError"
	switch {
	case status == 403:
		return Refuse(status, "PermissionDeniedError", "",
			"Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.")
	case status == 500:
		return Refuse(status, kind, "", "Internal server error")
	case status == 503:
		return Refuse(status, http.StatusText(status), "", "The engine is currently busy and cannot accept new requests. "+
			"Please try again later or on a different instance.")
	case status == 400:
		kind = "BadRequestError"
	case status == 404:
		kind = "NotFoundError"
	case status != 500:
		kind = strings.ReplaceAll(http.StatusText(status), " ", "") + "Error"
	}
	return Refuse(status, kind, "", http.StatusText(status))
}

// FlatError is an error in the flat form of SGLang and TensorRT-LLM.
type FlatError struct {
	Object string `json:"object"`
	*Refusal
}

// Flat returns a refusal in the flat form.
func Flat(r *Refusal) FlatError { return FlatError{"error", r} }

// Pydantic formats one validation error as vLLM reports it.
func Pydantic(kind, loc, msg string) string {
	return fmt.Sprintf("1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': %s}", kind, loc, pyRepr(msg))
}

// InvalidValue returns a refusal by a check of vLLM's request model. fields is the number of the request's members.
func InvalidValue(param, msg string, fields int) *Refusal {
	return Invalid(param, fmt.Sprintf("1 validation error:\n  {'type': 'value_error', 'loc': 'body', 'msg': %s, "+
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

// MustJSON encodes structures of this package without HTML escapes. They can always be encoded.
func MustJSON(v any) []byte {
	if o, ok := v.(Object); ok {
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
