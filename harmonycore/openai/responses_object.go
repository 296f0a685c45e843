package openai

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The states of a response and of its items.
const (
	StatusInProgress = "in_progress"
	StatusCompleted  = "completed"
	StatusIncomplete = "incomplete"
	StatusFailed     = "failed"
)

// The reasons of an incomplete response.
const (
	ReasonMaxOutputTokens = "max_output_tokens"
	ReasonContentFilter   = "content_filter"
	// ReasonRepetition is written as [ReasonMaxOutputTokens], since clients know no other word, and with a stop_reason.
	ReasonRepetition = "repetition"
)

// Response is a Response object at one moment.
type Response struct {
	ID        string
	Model     string
	CreatedAt int64
	// CompletedAt is written only if Status is [StatusCompleted].
	CompletedAt      int64
	Status           string
	IncompleteReason string
	Error            *Error
	// Effort is the effort in use, which is the model's own if the client names none.
	Effort string
	// Output holds the finished items, as [OutputItem.AppendJSON] writes them, separated by commas.
	Output []byte
	// Usage is nil until it is known.
	Usage *Usage
	Echo  ResponsesEcho
	// Messages are the messages that the model has read and written, or nil if the client did not ask for them.
	Messages *HarmonyMessages
}

// AppendJSON appends the object in OpenAI's order of members. It has every member that OpenAI's API, its clients or the
// Open Responses specification require.
func (r *Response) AppendJSON(dst []byte) []byte {
	e := &r.Echo
	dst = appendMember(dst, `{"id":`, r.ID)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = rawjson.AppendInt(dst, r.CreatedAt)
	dst = appendMember(dst, `,"status":`, r.Status)
	dst = append(dst, `,"background":false,"completed_at":`...)
	if r.Status == StatusCompleted {
		dst = rawjson.AppendInt(dst, r.CompletedAt)
	} else {
		dst = append(dst, "null"...)
	}
	dst = r.appendError(append(dst, `,"error":`...))
	dst = appendText(dst, `,"frequency_penalty":`, string(e.FrequencyPenalty), "0")
	dst = append(dst, `,"incomplete_details":`...)
	switch r.IncompleteReason {
	case "":
		dst = append(dst, "null"...)
	case ReasonRepetition:
		dst = append(appendMember(dst, `{"reason":`, ReasonMaxOutputTokens), stoppedByRepetition+"}"...)
	default:
		dst = append(appendMember(dst, `{"reason":`, r.IncompleteReason), '}')
	}
	dst = appendText(dst, `,"instructions":`, e.Instructions, "null")
	dst = appendText(dst, `,"max_output_tokens":`, e.MaxOutputTokens, "null")
	dst = appendText(dst, `,"max_tool_calls":`, e.MaxToolCalls, "null")
	dst = appendMember(dst, `,"model":`, r.Model)
	dst = append(dst, `,"output":[`...)
	dst = append(dst, r.Output...)
	dst = appendText(dst, `],"parallel_tool_calls":`, e.ParallelToolCalls, "true")
	dst = appendText(dst, `,"presence_penalty":`, string(e.PresencePenalty), "0")
	dst = append(dst, `,"previous_response_id":null`...)
	dst = appendText(dst, `,"prompt_cache_key":`, e.PromptCacheKey, "null")
	dst = append(dst, `,"reasoning":{"effort":`...)
	dst = appendStringOrNull(dst, r.Effort)
	dst = appendText(dst, `,"summary":`, e.Summary, "null")
	if e.ReasoningContext {
		dst = append(dst, `,"context":"current_turn"`...)
	}
	if e.ReasoningMode {
		dst = append(dst, `,"mode":"standard"`...)
	}
	dst = appendText(dst, `},"safety_identifier":`, e.SafetyIdentifier, "null")
	dst = append(dst, `,"service_tier":"default","store":false`...)
	dst = appendText(dst, `,"temperature":`, string(e.Temperature), "1")
	dst = appendText(dst, `,"text":{"format":`, e.TextFormat, `{"type":"text"}`)
	dst = appendText(dst, `,"verbosity":`, e.Verbosity, `"medium"`)
	dst = appendText(dst, `},"tool_choice":`, e.ToolChoice, `"auto"`)
	dst = appendText(dst, `,"tools":`, e.Tools, "[]")
	dst = appendText(dst, `,"top_logprobs":`, e.TopLogprobs, "0")
	dst = appendText(dst, `,"top_p":`, string(e.TopP), "1")
	dst = appendText(dst, `,"truncation":`, e.Truncation, `"disabled"`)
	dst = append(dst, `,"usage":`...)
	if r.Usage == nil {
		dst = append(dst, "null"...)
	} else {
		dst = r.Usage.appendResponses(dst)
	}
	dst = appendText(dst, `,"user":`, e.User, "null")
	dst = appendText(dst, `,"metadata":`, e.Metadata, "{}")
	return append(r.Messages.append(dst), '}')
}

// appendError writes the failure. A response has only a few codes; every other one becomes server_error.
func (r *Response) appendError(dst []byte) []byte {
	if r.Error == nil {
		return append(dst, "null"...)
	}
	code := contract.CodeServerError
	switch r.Error.Code {
	case contract.CodeRateLimitExceeded, "invalid_prompt":
		code = r.Error.Code
	case contract.CodeServerOverloaded, contract.CodeGatewayOverloaded, contract.CodeServiceOverloaded:
		code = contract.CodeRateLimitExceeded // which clients wait for, and then ask again
	}
	dst = appendMember(dst, `{"code":`, code)
	dst = appendMember(dst, `,"message":`, r.Error.Message)
	return append(dst, '}')
}

func appendMember(dst []byte, before, s string) []byte {
	return rawjson.AppendString(append(dst, before...), s)
}

// appendText appends JSON text, or other if json is empty.
func appendText(dst []byte, before, json, other string) []byte {
	dst = append(dst, before...)
	if json == "" {
		json = other
	}
	return append(dst, json...)
}
