package refusal

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// MaxQuoted is the maximum length of a client's value in an error message, in bytes.
const MaxQuoted = 64

// MaxLogged is the maximum length of a client's value in logs and spans, in bytes.
const MaxLogged = 128

// Quote returns a client's value as an error message has it.
func Quote(s string) string { return "'" + openai.Clip(s, MaxQuoted) + "'" }

// Bad returns the error of a request that is wrong.
func Bad(code, param, message string) *openai.Error {
	return &openai.Error{Status: http.StatusBadRequest, Type: contract.InvalidRequestError, Code: code, Param: param,
		Message: message}
}

// WrongType returns the error of a member of another type. want says which it should have.
func WrongType(param, want string) *openai.Error {
	return Bad(contract.CodeInvalidType, param, "Invalid type for '"+param+"': expected "+want+".")
}

// NotFound returns the error for a record that does not exist. what is its kind, in words.
func NotFound(what, id string) *openai.Error {
	return &openai.Error{Status: http.StatusNotFound, Type: contract.InvalidRequestError,
		Message: what + " with id " + Quote(id) + " not found."}
}

// PreviousNotFound returns the error for a response that cannot be continued.
func PreviousNotFound(id string) *openai.Error {
	return Bad(contract.CodePreviousResponseNotFound, "previous_response_id",
		"Previous response with id "+Quote(id)+" not found.")
}

// errBusy is what OpenAI's API answers while a response is made for the conversation. Clients know the code and try
// again.
func errBusy() *openai.Error {
	return Bad(codeConversationLocked, "conversation",
		"Another process is currently operating on this conversation. Please retry in a few seconds.")
}

// The codes that only the service uses.
const (
	codeConversationLocked = "conversation_locked"
	codeStoreUnavailable   = "store_unavailable"
	codeStoreFull          = "store_full"
	codeStoredDataInvalid  = "stored_data_unreadable"
	// CodeInvalidPrompt is one of the few that a failed response can have.
	CodeInvalidPrompt = "invalid_prompt"
)

// TooLarge returns the error for a request that is larger than the limit.
func TooLarge(limit int64) *openai.Error {
	return &openai.Error{Status: http.StatusRequestEntityTooLarge, Type: contract.InvalidRequestError,
		Code: contract.CodeRequestTooLarge, Message: "The request is larger than " + strconv.FormatInt(limit,
			10) + " bytes."}
}

// NoSockets is the error for a request on a connection that is older than the setting by which there is none.
func NoSockets() *openai.Error {
	return Bad(contract.CodeInvalidRequest, "", "This gateway no longer serves connections by WebSocket. Send the "+
		"request by HTTP.")
}

// TooLong is the error for a request that fits, and whose conversation with what it continues does not.
func TooLong(size int) *openai.Error {
	return Bad(contract.CodeContextLengthExceeded, "input", fmt.Sprintf("The conversation has %d bytes with "+
		"what it continues and the ids of its items, which is more than the gateway takes. Send less, compact it, or begin "+
		"a new one.", size))
}

// AnswerCut returns the error of an answer whose stream the model's server has cut.
func AnswerCut() *openai.Error {
	return &openai.Error{Status: http.StatusBadGateway, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The model's server ended the stream before the answer was complete. Try again."}
}

// StoreAway returns the error of a store that does not answer.
func StoreAway() *openai.Error {
	return &openai.Error{Status: http.StatusServiceUnavailable, Type: contract.ServerErrorType,
		Code: codeStoreUnavailable,
		Message: "The store of responses does not answer. Try again, or set 'store' to false and send the whole " +
			"conversation."}
}

// errFull is the error for a store without room. SQLite removes all the same while it has its reserve.
func errFull() *openai.Error {
	return &openai.Error{Status: http.StatusInsufficientStorage, Type: contract.ServerErrorType, Code: codeStoreFull,
		Message: "The disk of the store of responses is full. Reading works; delete what is not needed, tell the operator, " +
			"or set 'store' to false and send the whole conversation."}
}

// OfStore returns the error that a client gets for an error of the store, and logs one that is not the client's.
// missing is the error for a record that does not exist.
func OfStore(log *slog.Logger, err error, param string, missing *openai.Error) *openai.Error {
	var large *store.TooLargeError
	var corrupt *store.CorruptError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quota.ErrNoMemory):
		return Overloaded("no memory for what is stored now")
	case errors.Is(err, store.ErrNotFound):
		return missing
	case errors.Is(err, store.ErrNoAfter):
		return Bad(contract.CodeInvalidValue, "after", "Invalid 'after': the list has no item with this id.")
	case errors.Is(err, store.ErrGap):
		return Bad(contract.CodePreviousResponseNotFound, param,
			"An earlier response that this one continues has been deleted. Send the conversation without '"+param+"'.")
	case errors.Is(err, store.ErrRunning):
		return Bad(contract.CodeInvalidValue, param, "The response has not ended. Wait until it has.")
	case errors.Is(err, store.ErrQueueFull):
		return Overloaded("too many responses of yours in the background, which are not done")
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrLost):
		return errBusy()
	case errors.As(err, &large):
		return Bad(contract.CodeContextLengthExceeded, param, fmt.Sprintf(
			"The stored conversation has %d bytes, and a request may have %d. Begin a new one.", large.Bytes, large.Limit))
	case errors.As(err, &corrupt):
		log.Error("a stored record cannot be read", "record", corrupt.Record, "reason", corrupt.Err)
		return &openai.Error{Status: http.StatusInternalServerError, Type: contract.ServerErrorType,
			Code: codeStoredDataInvalid, Message: "What is stored cannot be read. Ask the operator; the log has the record."}
	}
	log.Warn("the store failed", "error", err)
	if errors.Is(err, store.ErrFull) {
		return errFull()
	}
	return StoreAway()
}

// Overloaded returns the error of a service that cannot take another request. what is why, after "The responses
// service has". Its status is the one for which clients wait before they ask again (RATIONALE.md#230).
func Overloaded(what string) *openai.Error {
	return &openai.Error{Status: http.StatusTooManyRequests, Type: contract.ServerErrorType,
		Code: contract.CodeServiceOverloaded, RetryAfter: "1",
		Message: "The responses service has " + what + ". Try again."}
}
