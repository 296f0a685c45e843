package anthropic

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The beginnings of messages on which clients act. They are the whole message, with nothing before them.
const (
	tooLong  = "prompt is too long: "
	rejected = "capability_rejected: "
)

// The beginnings of messages about what a server does not take. Claude Code leaves it out, and asks again.
const (
	NoImage  = "Could not process image: "
	NoEffort = "This model does not support the effort parameter: "
	NoFormat = "output_config.format: Extra inputs are not permitted: "
	NoSystem = "The role 'system' is not supported within a conversation: "
)

// TooLong returns the message about a prompt of this many tokens that does not fit. Claude Code reads both numbers, and
// compacts the conversation by the difference.
func TooLong(tokens, maximum int) string {
	return tooLong + strconv.Itoa(tokens) + " tokens > " + strconv.Itoa(maximum) + " maximum"
}

// AppendError appends the body of an error, or the data of an error event: {"type":"error","error":{…}}. An empty
// requestID is left out.
func AppendError(dst []byte, e *openai.Error, requestID string) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = rawjson.AppendString(dst, ErrorType(e.Status))
	dst = append(dst, `,"message":`...)
	dst = append(rawjson.AppendString(dst, errorMessage(e)), '}')
	if requestID != "" {
		dst = append(dst, `,"request_id":`...)
		dst = rawjson.AppendString(dst, requestID)
	}
	return append(dst, '}')
}

// ErrorType returns the type of an error with a status.
func ErrorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 501:
		return "not_supported"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 400 && status <= 499 {
		return "invalid_request_error"
	}
	return "api_error"
}

// errorMessage returns the message of an error, which names the place of what is wrong.
func errorMessage(e *openai.Error) string {
	if e.Param == "" || strings.HasPrefix(e.Message, tooLong) || strings.HasPrefix(e.Message, rejected) {
		return e.Message
	}
	if e.Code == contract.CodeUnsupportedParameter && (e.Param == schemaAt || e.Param == olderSchemaAt) {
		return rejected + "structured_outputs_unsupported"
	}
	place := placeOf(e.Param)
	if e.Code == contract.CodeMissingParameter {
		return place + ": Field required"
	}
	if strings.Contains(e.Message, e.Param) {
		return strings.ReplaceAll(e.Message, e.Param, place)
	}
	return place + ": " + e.Message
}

// placeOf writes a place in a request as Anthropic does: messages.1.content.0 for messages[1].content[0].
func placeOf(param string) string {
	if strings.IndexByte(param, '[') < 0 {
		return param
	}
	return strings.ReplaceAll(strings.ReplaceAll(param, "[", "."), "]", "")
}
