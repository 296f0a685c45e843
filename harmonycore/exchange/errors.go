package exchange

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func errBodyTooLarge(limit int) *openai.Error {
	return &openai.Error{
		Status: 413, Type: "invalid_request_error", Code: "request_too_large",
		Message: "The request body is larger than the limit of " + strconv.Itoa(limit) + " bytes.",
	}
}

func errModelNotFound(model string) *openai.Error {
	return &openai.Error{
		Status: 404, Type: "invalid_request_error", Code: "model_not_found", Param: "model",
		Message: "The model '" + clip(model) + "' does not exist here.",
	}
}

func errRawPrompt(model string) *openai.Error {
	return &openai.Error{
		Status: 403, Type: "invalid_request_error", Code: "raw_prompt_not_allowed", Param: "prompt",
		Message: "Raw prompts are not allowed for the model '" + clip(model) + "': use /v1/chat/completions or /v1/responses.",
	}
}

func errContextLength(api kind, prompt, context int) *openai.Error {
	param := "messages"
	if api == responses {
		param = "input"
	}
	return &openai.Error{
		Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Param: param,
		Message: "The prompt is " + strconv.Itoa(prompt) + " tokens long, but the model's context is " +
			strconv.Itoa(context) + " tokens, with at least one left for the answer.",
	}
}

func errRender(reason string) *openai.Error {
	return &openai.Error{Status: 400, Type: "invalid_request_error", Code: "invalid_value", Message: reason}
}

func errFull() *openai.Error {
	return &openai.Error{
		Status: 503, Type: "server_error", Code: "gateway_overloaded",
		Message: "The gateway has no memory to spare for another request. Try again.",
	}
}

func errStalled(milliseconds int64) *openai.Error {
	return &openai.Error{
		Status: 504, Type: "server_error", Code: "server_timeout",
		Message: "The inference server was silent for " + strconv.FormatInt(milliseconds, 10) + " ms.",
	}
}

func errUnfinished() *openai.Error {
	return &openai.Error{
		Status: 502, Type: "server_error", Code: "server_error",
		Message: "The inference server ended its answer before it was finished.",
	}
}

func errNotUnderstood() *openai.Error {
	return &openai.Error{
		Status: 502, Type: "server_error", Code: "server_error",
		Message: "The inference server's answer could not be understood.",
	}
}

// serverError puts a server's error into OpenAI's shape. Its status stays what it was, so that clients back off and
// retry as they would at the server itself.
func serverError(e *backend.Error) *openai.Error {
	out := &openai.Error{Status: e.Status, Message: e.Message, Param: e.Param, Code: e.Code}
	if out.Status < 400 || out.Status > 599 {
		out.Status = 502
	}
	if out.Message == "" {
		out.Message = "The inference server failed."
	}
	out.Type, out.Code = kindOf(out.Status, out.Code)
	return out
}

// localError puts the proxy's own reply into OpenAI's shape.
func localError(status int, text string, bodyLimit int) *openai.Error {
	if status == 413 {
		return errBodyTooLarge(bodyLimit)
	}
	if text == "" {
		text = "The gateway answered with status " + strconv.Itoa(status) + "."
	}
	e := &openai.Error{Status: status, Message: clip(text)}
	e.Type, e.Code = kindOf(status, "")
	return e
}

// kindOf gives the error's type, and a code where the server named none.
func kindOf(status int, code string) (kind, codeOut string) {
	fallback := "server_error"
	switch {
	case status == 429:
		kind, fallback = "rate_limit_error", "rate_limit_exceeded"
	case status == 503:
		kind, fallback = "server_error", "server_overloaded"
	case status == 504:
		kind, fallback = "server_error", "server_timeout"
	case status >= 500:
		kind = "server_error"
	case status == 401:
		kind, fallback = "authentication_error", "server_refused_credentials"
	default:
		kind, fallback = "invalid_request_error", "invalid_request"
	}
	if code != "" {
		return kind, code
	}
	return kind, fallback
}

// clip keeps what a client sent, or a proxy said, from filling an error message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
