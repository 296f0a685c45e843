package responses

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// maxQuoted is the maximum length of a client's value in an error message, in bytes.
const maxQuoted = 64

func quote(s string) string { return "'" + openai.Clip(s, maxQuoted) + "'" }

func badRequest(code, param, message string) *openai.Error {
	return &openai.Error{Status: http.StatusBadRequest, Type: contract.InvalidRequestError, Code: code, Param: param,
		Message: message}
}

func wrongType(param, want string) *openai.Error {
	return badRequest(contract.CodeInvalidType, param, "Invalid type for '"+param+"': expected "+want+".")
}

func notFound(what, id string) *openai.Error {
	return &openai.Error{Status: http.StatusNotFound, Type: contract.InvalidRequestError,
		Message: what + " with id " + quote(id) + " not found."}
}

func previousNotFound(id string) *openai.Error {
	return badRequest(contract.CodePreviousResponseNotFound, "previous_response_id",
		"Previous response with id "+quote(id)+" not found.")
}

// errBusy is what OpenAI's API answers while a response is made for the conversation. Clients know the code and try
// again.
func errBusy() *openai.Error {
	return badRequest(codeConversationLocked, "conversation",
		"Another process is currently operating on this conversation. Please retry in a few seconds.")
}

// The codes that only the service uses.
const (
	codeConversationLocked = "conversation_locked"
	codeStoreUnavailable   = "store_unavailable"
	codeStoreFull          = "store_full"
	codeStoredDataInvalid  = "stored_data_unreadable"
	codeServiceOverloaded  = "service_overloaded"
	// codeInvalidPrompt is one of the few that a failed response can have.
	codeInvalidPrompt = "invalid_prompt"
)

func errTooLarge(limit int64) *openai.Error {
	return &openai.Error{Status: http.StatusRequestEntityTooLarge, Type: contract.InvalidRequestError,
		Code: contract.CodeRequestTooLarge, Message: "The request is larger than " + strconv.FormatInt(limit, 10) + " bytes."}
}

// errNoSockets is the error for a request on a connection that is older than the setting by which there is none.
func errNoSockets() *openai.Error {
	return badRequest(contract.CodeInvalidRequest, "", "This gateway no longer serves connections by WebSocket. Send the "+
		"request by HTTP.")
}

// errTooLong is the error for a request that fits, and whose conversation with what it continues does not.
func errTooLong(size int) *openai.Error {
	return badRequest(contract.CodeContextLengthExceeded, "input", fmt.Sprintf("The conversation has %d bytes with "+
		"what it continues and the ids of its items, which is more than the gateway takes. Send less, compact it, or begin "+
		"a new one.", size))
}

func errStore() *openai.Error {
	return &openai.Error{Status: http.StatusServiceUnavailable, Type: contract.ServerErrorType, Code: codeStoreUnavailable,
		Message: "The store of responses does not answer. Try again, or set 'store' to false and send the whole " +
			"conversation."}
}

// errFull is the error for a store without room. SQLite removes all the same while it has its reserve.
func errFull() *openai.Error {
	return &openai.Error{Status: http.StatusInsufficientStorage, Type: contract.ServerErrorType, Code: codeStoreFull,
		Message: "The disk of the store of responses is full. Reading works; delete what is not needed, tell the operator, " +
			"or set 'store' to false and send the whole conversation."}
}

// failure returns the error that a client gets for an error of the store, and logs one that is not the client's.
// notFound is the error for a record that does not exist.
func (s *Service) failure(err error, param string, notFound *openai.Error) *openai.Error {
	var large *store.TooLargeError
	var corrupt *store.CorruptError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoMemory):
		return errOverloaded("no memory for what is stored now")
	case errors.Is(err, store.ErrNotFound):
		return notFound
	case errors.Is(err, store.ErrNoAfter):
		return badRequest(contract.CodeInvalidValue, "after", "Invalid 'after': the list has no item with this id.")
	case errors.Is(err, store.ErrGap):
		return badRequest(contract.CodePreviousResponseNotFound, param,
			"An earlier response that this one continues has been deleted. Send the conversation without '"+param+"'.")
	case errors.Is(err, store.ErrRunning):
		return badRequest(contract.CodeInvalidValue, param, "The response has not ended. Wait until it has.")
	case errors.Is(err, store.ErrQueueFull):
		return errOverloaded("too many responses of yours in the background, which are not done")
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrLost):
		return errBusy()
	case errors.As(err, &large):
		return badRequest(contract.CodeContextLengthExceeded, param, fmt.Sprintf(
			"The stored conversation has %d bytes, and a request may have %d. Begin a new one.", large.Bytes, large.Limit))
	case errors.As(err, &corrupt):
		s.log.Error("a stored record cannot be read", "record", corrupt.Record, "reason", corrupt.Err)
		return &openai.Error{Status: http.StatusInternalServerError, Type: contract.ServerErrorType,
			Code: codeStoredDataInvalid, Message: "What is stored cannot be read. Ask the operator; the log has the record."}
	}
	s.log.Warn("the store failed", "error", err)
	if errors.Is(err, store.ErrFull) {
		return errFull()
	}
	return errStore()
}

func writeError(w http.ResponseWriter, e *openai.Error) {
	w.Header().Set("content-type", "application/json")
	retry := e.RetryAfter
	if retry == "" && e.Status == http.StatusServiceUnavailable {
		retry = "1"
	}
	if retry != "" {
		w.Header().Set("retry-after", retry)
	}
	w.WriteHeader(e.Status)
	w.Write(e.AppendJSON(nil))
}
