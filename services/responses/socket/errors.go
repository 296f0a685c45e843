package socket

import (
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// The codes of errors that only connections have.
const (
	codeInvalidStream   = "invalid_stream_id"
	codeStreamLimit     = "websocket_stream_limit_reached"
	codeConnectionLimit = "websocket_connection_limit_reached"
	codeQueueLimit      = "websocket_queue_limit_reached"
	codeNoSteering      = "steering_not_supported"
)

func badRequest(code, param, message string) *openai.Error {
	return &openai.Error{Status: http.StatusBadRequest, Type: contract.InvalidRequestError, Code: code, Param: param,
		Message: message}
}

func errStreamLimit(lanes int) *openai.Error {
	return badRequest(codeStreamLimit, "stream_id", "This WebSocket connection has reached its maximum number of "+
		"distinct stream IDs ("+strconv.Itoa(lanes)+"). Reuse an existing stream_id or open a new WebSocket connection.")
}

func errExpired(lifetime time.Duration) *openai.Error {
	return badRequest(codeConnectionLimit, "", "Responses websocket connection limit reached ("+
		strconv.Itoa(int(lifetime.Minutes()))+" minutes). Create a new websocket connection to continue.")
}

func errQueueLimit() *openai.Error {
	return &openai.Error{Status: http.StatusTooManyRequests, Type: contract.InvalidRequestError, Code: codeQueueLimit,
		Message: "Too many requests of this WebSocket connection wait for an answer, or too large ones. Send more after " +
			"some have been answered."}
}

func errOverloaded() *openai.Error {
	return &openai.Error{Status: http.StatusTooManyRequests, Type: contract.ServerErrorType,
		Code: contract.CodeServiceOverloaded, RetryAfter: "1",
		Message: "The responses service has no room for more WebSocket requests now. Try again."}
}

func errStopping() *openai.Error {
	return &openai.Error{Status: http.StatusServiceUnavailable, Type: contract.ServerErrorType,
		Code:    contract.CodeServerUnavailable,
		Message: "The responses service is being stopped. Open a new WebSocket connection."}
}
