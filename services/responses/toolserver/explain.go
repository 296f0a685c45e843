package toolserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// unreachable returns the error that a client gets for one of [net/http]. Errors of net/http have URLs in their texts.
func unreachable(err error, connect time.Duration) error {
	var (
		blocked     *egress.BlockedError
		redirect    *egress.RedirectError
		encoding    *egress.EncodingError
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
	)
	switch {
	case errors.As(err, &blocked):
		return blocked
	case errors.As(err, &redirect):
		return &HTTPError{Status: redirect.Status}
	case errors.As(err, &encoding):
		return &ProtocolError{Message: encoding.Error()}
	case errors.As(err, &name):
		return &ConnectionError{"the server's name has no address"}
	case errors.As(err, &certificate):
		return &ConnectionError{"the server's certificate is not valid"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &ConnectionError{"the server refuses connections"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &TimeoutError{After: connect, What: whatConnecting}
	}
	return &ConnectionError{"the connection to the server failed"}
}

// explain returns what went wrong with a request: what was seen on the way, or why it was given up.
func (s *session) explain(ctx context.Context, x *exchange) error {
	_, failure := x.outcome()
	switch {
	case failure != nil:
		return failure
	case ctx.Err() != nil:
		return cause(ctx, ctx.Err())
	case errors.Is(context.Cause(s.work), ErrClosed):
		return ErrClosed
	case s.fault() != nil:
		return s.fault()
	}
	return cause(s.work, &ConnectionError{connectionLost})
}

const connectionLost = "the connection to the server was lost"

// cause returns why a context has ended, if that was here, and otherwise the fallback.
func cause(ctx context.Context, fallback error) error {
	var limit *TimeoutError
	var lost *ConnectionError
	switch err := context.Cause(ctx); {
	case errors.As(err, &limit):
		return limit
	case errors.As(err, &lost):
		return lost
	case errors.Is(err, ErrClosed):
		return ErrClosed
	}
	return fallback
}

// protocolError returns the error of an answer.
func protocolError(err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) { // it is the SDK's own
		return &ConnectionError{"the server ended its answer before the result"}
	}
	return &ProtocolError{Code: e.Code, Message: clip(e.Message, maxMessage)}
}

// The codes of JSON-RPC that servers use for requests of a session that they do not know.
const (
	codeInvalidRequest = -32600
	codeServerError    = -32000
)

// isProtocolError reports whether an error is about the request, and not about its session.
func isProtocolError(err error) bool {
	var e *ProtocolError
	return errors.As(err, &e) && e.Code != codeInvalidRequest && e.Code != codeServerError
}

// clip returns a text of at most n bytes, in valid UTF-8.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
}
