package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
)

// traceHeaders are how the trace of a call goes to its server: in the request's _meta, and in headers of HTTP.
var traceHeaders propagation.TraceContext

// Call is a call of a tool.
type Call struct {
	Name string
	// Arguments are a JSON object. Empty: {}.
	Arguments json.RawMessage
	// ClientID is the request's _meta.client_id, by which some servers tell their callers apart. Empty: none.
	ClientID string
}

// Call calls a tool, and returns its result. A session that turns out to be broken is made anew once, if the server has
// not seen the call, or says that it did not run it. An error that the tool itself reports is a result.
func (p *Pool) Call(ctx context.Context, server *Server, tenant string, call *Call) (*Result, error) {
	arguments := bytes.TrimSpace(call.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if arguments[0] != '{' || !json.Valid(arguments) {
		return nil, &ArgumentsError{}
	}
	if err := server.Validate(); err != nil {
		return nil, err
	}
	limit := &TimeoutError{After: p.terms.Load().Call, What: whatCall}
	ctx, cancel := context.WithTimeoutCause(ctx, limit.After, limit)
	defer cancel()
	params := func() *mcp.CallToolParams {
		c := &mcp.CallToolParams{Name: call.Name, Arguments: json.RawMessage(arguments)}
		meta := mcp.Meta{}
		if call.ClientID != "" {
			meta["client_id"] = call.ClientID
		}
		trace := propagation.MapCarrier{}
		traceHeaders.Inject(ctx, trace) // as SEP-414 says
		for name, value := range trace {
			meta[name] = value
		}
		if len(meta) > 0 {
			c.Meta = meta
		}
		return c
	}
	for again := true; ; again = false {
		s, reused, err := p.acquire(ctx, server, tenant)
		if err != nil {
			return nil, err
		}
		result, err := s.call(ctx, params())
		var broken *brokenError
		if errors.As(err, &broken) {
			if err = broken.err; again && reused {
				p.drop(s)
				p.release(s)
				continue
			}
		}
		p.release(s)
		return result, err
	}
}

// brokenError means that a call did not run because of its session.
type brokenError struct{ err error }

// Error implements the error interface.
func (e *brokenError) Error() string { return e.err.Error() }

// codeHeaderMismatch is what a server answers that wants arguments as headers too, see [conn.leave].
const codeHeaderMismatch = mcp.CodeHeaderMismatch

func (s *session) call(ctx context.Context, params *mcp.CallToolParams) (*Result, error) {
	result, err := s.callOnce(ctx, params)
	var e *ProtocolError
	if errors.As(err, &e) && e.Code == codeHeaderMismatch {
		// It did not run. With a list of its own, the session knows the headers.
		if _, _, _, err := s.listTools(ctx); err != nil {
			return nil, err
		}
		return s.callOnce(ctx, params)
	}
	return result, err
}

func (s *session) callOnce(ctx context.Context, params *mcp.CallToolParams) (*Result, error) {
	x := &exchange{session: s, limit: s.pool.limits.Message, what: bytesOfAnswer}
	defer x.close()
	answer, err := s.do(ctx, x, func(ctx context.Context) error {
		_, err := s.client.CallTool(ctx, params)
		return err
	})
	switch {
	case err == nil:
		return readResult(answer, s.pool.terms.Load().Result)
	case ctx.Err() == nil && (x.refused() || x.unseen()):
		return nil, &brokenError{err}
	}
	return nil, err
}
