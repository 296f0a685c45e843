package upstream

import (
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// Object is a Response object.
type Object map[string]json.RawMessage

// Text returns a member that is a text, or an empty string.
func (o Object) Text(name string) (s string) {
	_ = json.Unmarshal(items.OrNull(o[name]), &s)
	return s
}

// Lifecycle returns the data of an event with a whole object.
func Lifecycle(kind string, sequence int64, object []byte) []byte {
	return items.JSON(struct {
		Type     string          `json:"type"`
		Sequence int64           `json:"sequence_number"`
		Response json.RawMessage `json:"response"`
	}{kind, sequence, object})
}

// errorEvent is the data of an event error. It tells the error twice, for the clients that read either form.
type errorEvent struct {
	Type     string       `json:"type"`
	Sequence int64        `json:"sequence_number"`
	Code     *string      `json:"code"`
	Message  string       `json:"message"`
	Param    *string      `json:"param"`
	Error    errorMembers `json:"error"`
}

// errorMembers are the members of an error object.
type errorMembers struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// ErrorData returns the data of the event error.
func ErrorData(sequence int64, e *openai.Error) []byte {
	orNil := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	m := errorMembers{Message: e.Message, Type: e.Type, Param: orNil(e.Param), Code: orNil(e.Code)}
	return items.JSON(errorEvent{
		Type: "error", Sequence: sequence, Code: m.Code, Message: m.Message, Param: m.Param, Error: m,
	})
}

// ToldError returns what the gateway's event error says, or nil if it cannot be read.
func ToldError(data []byte) *openai.Error {
	var e errorEvent
	if json.Unmarshal(data, &e) != nil || e.Error.Message == "" {
		return nil
	}
	return &openai.Error{
		Type: e.Error.Type, Code: deref(e.Error.Code), Param: deref(e.Error.Param), Message: e.Error.Message,
	}
}

// CodeOfResponse returns the code of a failed response for the status with which a round of it was refused.
func CodeOfResponse(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return contract.CodeRateLimitExceeded
	case status < http.StatusInternalServerError:
		return refusal.CodeInvalidPrompt
	}
	return contract.CodeServerError
}

// ErrorCode returns the code of a response's error.
func ErrorCode(o Object) string {
	var failure struct{ Code string }
	_ = json.Unmarshal(items.OrNull(o["error"]), &failure)
	return failure.Code
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// MinTokens is the least that the gateway accepts as max_output_tokens.
const MinTokens = 16

// Usage is the usage of a response.
type Usage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
		Writes int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// FailedError returns the error of a response that failed, for a client that gets no stream: as from the gateway, it
// gets a status, and nothing is stored unless tools have run.
func FailedError(body []byte) *openai.Error {
	var o struct {
		Error struct{ Code, Message string }
	}
	e := &openai.Error{Status: http.StatusBadGateway, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The model's answer failed. Try again."}
	if json.Unmarshal(body, &o) == nil && o.Error.Message != "" {
		e.Code, e.Message = o.Error.Code, o.Error.Message
	}
	return e
}
