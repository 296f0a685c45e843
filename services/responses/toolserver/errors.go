package toolserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrClosed means that the pool has been closed.
var ErrClosed = errors.New("the service is shutting down")

// The texts of all errors here may be shown to clients. They have no secret, no header and no part of a URL.

// ArgumentsError means that the arguments of a call are not a JSON object. Nothing has been sent. Its text is for the
// model.
type ArgumentsError struct{}

// Error implements the error interface.
func (*ArgumentsError) Error() string {
	return "The call has failed: its arguments are not a JSON object. Call the tool again with a JSON object."
}

// ServerError means that a server is described wrongly.
type ServerError struct{ Field, Reason string }

// Error implements the error interface.
func (e *ServerError) Error() string { return e.Field + ": " + e.Reason }

// HTTPError means that a server has answered with a status other than 2xx.
type HTTPError struct{ Status int }

// Error implements the error interface.
func (e *HTTPError) Error() string {
	if e.Status >= 300 && e.Status < 400 {
		return fmt.Sprintf("Http status code: %d (%s); redirects are not followed", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("Http status code: %d (%s)", e.Status, http.StatusText(e.Status))
}

// ProtocolError is the JSON-RPC error of a server. With code 0, the server's answer was not MCP.
type ProtocolError struct {
	Code int64
	// Message is the server's, cut to 1 KiB.
	Message string
}

// Error implements the error interface.
func (e *ProtocolError) Error() string {
	if e.Code == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// ConnectionError means that a server could not be asked, or that its answer was lost.
type ConnectionError struct{ Reason string }

// Error implements the error interface.
func (e *ConnectionError) Error() string { return e.Reason }

// TimeoutError means that a server took longer than a limit of ours. It is a [context.DeadlineExceeded].
type TimeoutError struct {
	After time.Duration
	// What took too long.
	What string
}

// Error implements the error interface.
func (e *TimeoutError) Error() string { return fmt.Sprintf("%s took longer than %s", e.What, e.After) }

// Unwrap returns [context.DeadlineExceeded].
func (*TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// LimitError means that a server has sent more than it may, or that more is asked of servers than may be.
type LimitError struct {
	// What is limited, such as "bytes of an answer".
	What  string
	Limit int64
}

// Error implements the error interface.
func (e *LimitError) Error() string {
	return fmt.Sprintf("too many %s: the limit is %d", e.What, e.Limit)
}
