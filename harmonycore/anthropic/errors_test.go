package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func TestAppendError(t *testing.T) {
	for _, c := range []struct {
		name      string
		e         openai.Error
		requestID string
		want      string
	}{
		{"without a place", openai.Error{Status: 502, Message: "Broken."}, "",
			`{"type":"error","error":{"type":"api_error","message":"Broken."}}`},
		{"with an id", openai.Error{Status: 504, Message: "Late."}, `req "1"`,
			`{"type":"error","error":{"type":"timeout_error","message":"Late."},"request_id":"req \"1\""}`},
		{"a missing member", openai.Error{Status: 400, Code: contract.CodeMissingParameter, Param: "max_tokens",
			Message: "Missing required parameter: 'max_tokens'."}, "",
			`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"}}`},
		{"a place that the message names", openai.Error{Status: 400, Param: "messages[1].content[0]",
			Message: "Invalid type for 'messages[1].content[0]': expected an object."}, "",
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"Invalid type for 'messages.1.content.0': expected an object."}}`},
		{"a place that it does not name", openai.Error{Status: 400, Param: "messages[1].content[0].text",
			Message: "Not UTF-8."}, "",
			`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.text: Not UTF-8."}}`},
		{"a whole message", openai.Error{Status: 400, Param: "messages", Message: TooLong(140000, 131072)}, "",
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"prompt is too long: 140000 tokens > 131072 maximum"}}`},
		{"a class", openai.Error{Status: 400, Param: "messages", Message: "capability_rejected: image_block"}, "",
			`{"type":"error","error":{"type":"invalid_request_error","message":"capability_rejected: image_block"}}`},
		{"a form that servers cannot be held to", openai.Error{Status: 400, Code: contract.CodeUnsupportedParameter,
			Param: "output_config.format.schema", Message: "The model's servers cannot be held to it."}, "",
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"capability_rejected: structured_outputs_unsupported"}}`},
		{"a form that is wrong", openai.Error{Status: 400, Code: contract.CodeInvalidType,
			Param: "output_config.format.schema", Message: "Input should be a valid object"}, "",
			`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"output_config.format.schema: Input should be a valid object"}}`},
	} {
		got := string(AppendError(nil, &c.e, c.requestID))
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

func TestErrorType(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 405: "invalid_request_error", 413: "request_too_large", 422: "invalid_request_error",
		429: "rate_limit_error", 500: "api_error", 501: "not_supported", 502: "api_error", 503: "api_error",
		504: "timeout_error", 529: "overloaded_error", 0: "api_error",
	} {
		if got := ErrorType(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
