package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.opentelemetry.io/otel/propagation"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// The texts of errors are limited.
const (
	bytesOfAnswer  = "bytes of an answer"
	bytesOfMessage = "bytes of a message"
	bytesOfList    = "bytes of a list of tools"
)

// statelessVersion is the first revision of MCP without sessions.
const statelessVersion = "2026-07-28"

// The headers of MCP that are set here, for a [conn] hides from the SDK when the handshake is over.
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
)

// wire is how the requests of a session go to its server. It adds the headers that are secret, and writes down in the
// requests' exchanges what the answers are.
type wire struct {
	base      http.RoundTripper
	session   *session
	transport Transport
	origin    string
	headers   http.Header
	aside     chan struct{}
}

func newWire(s *session, t Transport, base http.RoundTripper) *wire {
	w := &wire{base: base, session: s, transport: t, origin: origin(s.server.URL), headers: http.Header{},
		aside: make(chan struct{}, maxAside)}
	for name, values := range s.server.Headers {
		name = http.CanonicalHeaderKey(name)
		w.headers[name] = append(w.headers[name], values...)
	}
	return w
}

// origin returns the scheme, the host and the port of a URL in their only form, or nothing for what must not be asked.
func origin(raw string) string {
	u, err := egress.ParseURL(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	// A server of the older kind says where it takes messages, and could name another host.
	if o := origin(r.URL.String()); o == "" || o != w.origin {
		shut(r)
		err := &egress.BlockedError{Reason: "the server names an address of another host for messages"}
		if x != nil {
			_ = x.fail(err)
		}
		return nil, err
	}
	method, isCall := peek(r)
	switch {
	case x == nil || r.Method == http.MethodDelete || r.Method == http.MethodPost && !isCall:
		return w.tell(r, method)
	case r.Method == http.MethodGet:
		return w.listen(r, x)
	}
	return w.ask(r, x, method)
}

// shut closes the body of a request that is not sent.
func shut(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// peek returns the method of the message that a request carries, and whether it wants an answer.
func peek(r *http.Request) (method string, isCall bool) {
	if r.GetBody == nil {
		return "", false
	}
	b, err := r.GetBody()
	if err != nil {
		return "", false
	}
	defer b.Close()
	// The SDK writes the version, the id and the method before anything that is large.
	d := json.NewDecoder(b)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", false
		}
		value, err := d.Token()
		switch {
		case err != nil:
			return "", false
		case name == "id":
			isCall = true
		case name == "method":
			method, _ = value.(string)
			return method, isCall
		case name == "result" || name == "error" || name == "params":
			return "", false
		}
	}
	return "", false
}

// outgoing returns the request with the session's headers.
func (w *wire) outgoing(ctx context.Context, r *http.Request, method string) *http.Request {
	out := r.Clone(ctx)
	traceHeaders.Inject(ctx, propagation.HeaderCarrier(out.Header))
	for name, values := range w.headers {
		out.Header[name] = values
	}
	if w.headers.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", implementation().Name)
	}
	if v := w.session.version.Load(); v != nil && out.Header.Get(versionHeader) == "" {
		out.Header.Set(versionHeader, *v)
		if *v >= statelessVersion && method != "" {
			out.Header.Set(methodHeader, method)
		}
	}
	return out
}

// ask sends a request and returns its answer. An answer that the SDK would take for the end of the session is an error
// of this request only.
func (w *wire) ask(r *http.Request, x *exchange, method string) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: x.setSent})
	response, err := w.base.RoundTrip(w.outgoing(ctx, r, method))
	if err != nil {
		return nil, w.lost(ctx, x, err)
	}
	x.setStatus(response.StatusCode)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return refusal(response, x)
	}
	if w.transport == SSE {
		return response, nil // the answer comes as an event; nothing here is read
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		response.Body = newChecked(&body{response.Body, x}, byEvent, x.fail)
		return response, nil
	case "application/json":
		return message(ctx, response, x)
	}
	_ = response.Body.Close()
	return nil, x.fail(&ProtocolError{Message: "the server's answer is not JSON and not a stream of events"})
}

// message returns an answer whose message has been read. A message that cannot be read would end the session.
func message(ctx context.Context, response *http.Response, x *exchange) (*http.Response, error) {
	defer response.Body.Close()
	var buffer bytes.Buffer
	if _, err := buffer.ReadFrom(&body{response.Body, x}); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, x.fail(&ConnectionError{"the server's answer was cut off"})
	}
	data := buffer.Bytes()
	if !isMessage(data) {
		return nil, x.fail(&ProtocolError{Message: notMessage})
	}
	if _, err := jsonrpc.DecodeMessage(data); err != nil {
		return nil, x.fail(&ProtocolError{Message: notMessage})
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	return response, nil
}

// refusal writes down an answer whose status is not 2xx. An error of JSON-RPC in it goes on to the SDK.
func refusal(response *http.Response, x *exchange) (*http.Response, error) {
	defer response.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // a part of it is as good
	var answer *jsonrpc.Response
	ok := false
	if isMessage(data) {
		if m, err := jsonrpc.DecodeMessage(data); err == nil {
			answer, ok = m.(*jsonrpc.Response)
		}
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		ok = false // the status says more
	}
	if !ok || response.StatusCode >= 500 || answer.Error == nil {
		return nil, x.fail(&HTTPError{Status: response.StatusCode})
	}
	_ = x.fail(protocolError(answer.Error))
	response.Body = io.NopCloser(bytes.NewReader(data))
	return response, nil
}

// tell sends what needs no answer: a notification, an answer to the server, the end of a session. Nothing depends
// on its arrival, so the SDK is told that it was accepted.
func (w *wire) tell(r *http.Request, method string) (*http.Response, error) {
	accepted := &http.Response{Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}
	select {
	case w.aside <- struct{}{}:
		defer func() { <-w.aside }()
	default:
		shut(r)
		return accepted, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), asideTime)
	defer cancel()
	defer context.AfterFunc(w.session.ctx, cancel)()
	response, err := w.base.RoundTrip(w.outgoing(ctx, r, method))
	if err == nil {
		_, _ = io.CopyN(io.Discard, response.Body, maxErrorBody)
		_ = response.Body.Close()
	}
	return accepted, nil
}

// listen opens the stream of events on which a server of the older kind answers.
func (w *wire) listen(r *http.Request, x *exchange) (*http.Response, error) {
	x.begin()
	response, err := w.base.RoundTrip(w.outgoing(r.Context(), r, ""))
	if err != nil {
		return nil, w.lost(r.Context(), x, err)
	}
	x.setStatus(response.StatusCode)
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		err = &HTTPError{Status: response.StatusCode}
	case kind != "text/event-stream":
		err = &ProtocolError{Message: "the server's answer is not a stream of events"}
	default:
		s := &stream{ReadCloser: response.Body, session: w.session, newlines: 2}
		w.session.stream.Store(s)
		response.Body = newChecked(s, afterEndpoint, w.session.setFault)
		return response, nil
	}
	_ = response.Body.Close()
	return nil, x.fail(err)
}

// lost writes down why there is no answer, unless the request was given up.
func (w *wire) lost(ctx context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return x.fail(unreachable(err, w.session.pool.limits.Connect))
}
