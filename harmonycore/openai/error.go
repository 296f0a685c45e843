package openai

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Error is the error that a client gets: the HTTP status and the members of the error object.
type Error struct {
	Status  int
	Type    string
	Code    string
	Param   string
	Message string
	// RetryAfter is the value of the header retry-after, or empty.
	RetryAfter string
}

// Error implements [error].
func (e *Error) Error() string {
	if e.Param == "" {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

// InStream returns the error as it is told within a stream, where no header says when to try again: in the words that
// clients look for in the message.
func (e *Error) InStream() *Error {
	if e.RetryAfter == "" || strings.Trim(e.RetryAfter, "0123456789") != "" {
		return e
	}
	told := *e
	told.Message, told.RetryAfter = e.Message+" Please try again in "+e.RetryAfter+"s.", ""
	return &told
}

// AppendJSON appends the body {"error":{…}}. It always has all four members. An empty param or code is null.
func (e *Error) AppendJSON(dst []byte) []byte {
	return append(e.appendMembers(append(dst, '{')), '}')
}

// appendMembers appends the member "error" of a body.
func (e *Error) appendMembers(dst []byte) []byte {
	dst = append(dst, `"error":{"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = rawjson.AppendString(dst, e.Type)
	dst = append(dst, `,"param":`...)
	dst = appendStringOrNull(dst, e.Param)
	dst = append(dst, `,"code":`...)
	dst = appendStringOrNull(dst, e.Code)
	return append(dst, '}')
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, s)
}

// Invalid returns a 400 for a value that the API does not allow at param.
func Invalid(param, message string) *Error {
	return badRequest(contract.CodeInvalidValue, param, message)
}

func badRequest(code, param, message string) *Error {
	return &Error{Status: 400, Type: contract.InvalidRequestError, Code: code, Param: param, Message: message}
}

// InvalidEncryptedContent returns a 400 for an encrypted_content that cannot be opened.
func InvalidEncryptedContent(param, message string) *Error {
	return badRequest(contract.CodeInvalidEncryptedContent, param, message)
}

// Unsupported returns a 400 for what the API allows and this translation does not support.
func Unsupported(param, message string) *Error {
	return badRequest(contract.CodeUnsupportedParameter, param, message)
}

func missing(param string) *Error {
	return badRequest(contract.CodeMissingParameter, param, "Missing required parameter: '"+param+"'.")
}

func wrongType(param, want string, got value) *Error {
	return badRequest(contract.CodeInvalidType, param,
		"Invalid type for '"+param+"': expected "+want+", but got "+got.describe()+" instead.")
}

// NoFinalChannel returns a 502 for a model that ended without an answer.
func NoFinalChannel() *Error {
	return &Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeNoFinalChannel,
		Message: "The model ended without a message on its final channel and without a call. Ask again.",
	}
}

// notOneOf returns a 400 for a string outside a closed set. supported lists the set, quoted, for the message.
func notOneOf(param, got, supported string) *Error {
	return Invalid(param, "Invalid value: '"+clip(got)+"'. Supported values are: "+supported+".")
}

// maxQuoted is the maximum length of a client's value in an error message, in bytes.
const maxQuoted = 64

func clip(s string) string { return Clip(s, maxQuoted) }

// Clip returns at most maxBytes bytes of s, without cutting a character in half. It keeps foreign text from filling an
// error message.
func Clip(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	cut := maxBytes
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
