package hosts

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Native runs the core's exchange in a net/http server, without proxy and wasm. In reduced mode it does not hold the
// headers of a response. It does hold the headers of a request until the body has arrived; only a server that answers
// without the body can notice.
func Native(s Setup) (*Host, error) {
	keys, err := seal.ParseKeys(os.Getenv(contract.SealKeysVariable))
	if err != nil {
		return nil, err
	}
	server, err := config.ParseServer(s.Config.Models[0].Servers[0])
	if err != nil {
		return nil, err
	}
	// As in a proxy, nothing is decompressed and no redirect is followed.
	transport := &http.Transport{DisableCompression: true}
	n := &native{
		setup: s, server: server.Endpoint.String(), bodyLimit: int64(s.Config.BodyLimit), transport: transport,
		gateway: exchange.New(exchange.Options{Config: *s.Config.Filter(), Tokenizer: o200k.Tokenizer(), SealKeys: keys}),
	}
	listener := httptest.NewServer(n)
	return &Host{
		Name: "native", URL: listener.URL,
		// When a client has its whole answer, the handler has returned or has counted all pieces.
		chunks: func(int) (int, error) { return int(n.chunks.Load()), nil },
		stop: func() {
			listener.CloseClientConnections()
			listener.Close()
			transport.CloseIdleConnections()
		},
	}, nil
}

type native struct {
	setup     Setup
	server    string
	bodyLimit int64
	gateway   *exchange.Gateway
	transport *http.Transport
	chunks    atomic.Int64
}

func (n *native) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name := range r.Header {
		if contract.IsInternalHeader(strings.ToLower(name)) {
			r.Header.Del(name)
		}
	}
	x := n.gateway.Begin(r.Method, r.RequestURI)
	if x == nil {
		n.untouched(w, r, r.Body)
		return
	}
	var own []string
	for name, values := range r.Header {
		for _, value := range values {
			if x.Header(strings.ToLower(name), value) {
				own = append(own, name)
			}
		}
	}
	head := exchange.RequestHead{Hold: true}
	if r.Body != http.NoBody {
		head = x.RequestHeaders()
	}
	if head.Pool != "" && head.Path == "" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		n.forward(w, r, x, &exchange.Forward{Pool: head.Pool}, body)
		return
	}
	if !head.Hold && head.Pool == "" && n.setup.Config.Passthrough == "" {
		// Headers that are forwarded at once have no route, whatever the body contains.
		n.untouched(w, r, r.Body)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, n.bodyLimit+1))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	now := func() int64 { return time.Now().UnixMilli() }
	seen := bytes.Clone(body)
	host := exchange.Host{Now: now(), Clock: now, ID: hex.EncodeToString(id[:])}
	action := x.Request(seen, host)
	if action.Render != nil {
		action = n.rendered(r, x, action.Render, seen, host)
	}
	switch {
	case action.Reply != nil:
		reply(w, action.Reply)
	case action.Forward != nil:
		// A VM reads its next request into the same memory, so nothing may refer to it any more.
		for i := range seen {
			seen[i] = '!'
		}
		if head.Pool != "" {
			action.Forward.Path, action.Forward.Pool = head.Path, head.Pool
		}
		if action.Forward.Path != "" {
			for _, name := range own {
				r.Header.Del(name)
			}
		}
		n.forward(w, r, x, action.Forward, body)
	default:
		n.untouched(w, r, strings.NewReader(string(body)))
	}
}

// rendered has the conversation of a held request rendered. seen is the client's body, which nothing may refer to.
func (n *native) rendered(r *http.Request, x *exchange.Exchange, call *exchange.Render, seen []byte, h exchange.Host,
) exchange.RequestAction {
	call.Body = bytes.Clone(call.Body)
	for i := range seen {
		seen[i] = '!'
	}
	answer := n.render(r, call)
	h.Now = h.Clock()
	return x.Rendered(answer, h)
}

// render makes the call that renders a conversation.
func (n *native) render(r *http.Request, call *exchange.Render) exchange.RenderAnswer {
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(call.TimeoutMS)*time.Millisecond)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}}
	response, err := n.roundTrip(r.WithContext(ctx), n.server, call.Path, header, bytes.NewReader(call.Body))
	if err != nil {
		return exchange.RenderAnswer{Status: http.StatusServiceUnavailable}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(call.MaxAnswer)+1))
	if err != nil {
		return exchange.RenderAnswer{Status: http.StatusGatewayTimeout}
	}
	return exchange.RenderAnswer{Status: response.StatusCode, RetryAfter: response.Header.Get("retry-after"), Body: body,
		TooLarge: len(body) > call.MaxAnswer}
}

func reply(w http.ResponseWriter, r *exchange.Reply) {
	w.Header().Set("content-type", r.MediaType())
	if r.RetryAfter != "" {
		w.Header().Set("retry-after", r.RetryAfter)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body)
}

// untouched does what the proxy's routes do with a request that the filter has left unchanged.
func (n *native) untouched(w http.ResponseWriter, r *http.Request, body io.Reader) {
	if n.setup.Config.Passthrough == "" {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"Nothing is served here.",`+
			`"type":"invalid_request_error","param":null,"code":"not_found"}}`)
		return
	}
	response, err := n.roundTrip(r, n.setup.Config.Passthrough, r.RequestURI, r.Header.Clone(), body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	copyHeaders(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (n *native) roundTrip(
	r *http.Request, base, path string, header http.Header, body io.Reader,
) (*http.Response, error) {
	target, err := url.Parse(base + path)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), body)
	if err != nil {
		return nil, err
	}
	out.Header = header
	return n.transport.RoundTrip(out)
}

// toServer returns where a forwarded request goes, and its headers and body.
func (n *native) toServer(r *http.Request, f *exchange.Forward, body []byte) (
	server, path string, header http.Header, sent []byte,
) {
	header = r.Header.Clone()
	server, path = n.server, f.Path
	if f.Readable && f.Path == "" {
		server, path = n.setup.Config.Passthrough, r.RequestURI
		header.Set("accept-encoding", "identity")
	} else if f.Path == "" {
		server, path = n.setup.Config.ResponsesService.URL, r.RequestURI
	}
	if f.Readable {
		header.Set("accept-encoding", "identity")
	}
	if f.Body != nil {
		body = f.Body
		header.Set("content-type", "application/json")
		header.Set("accept-encoding", "identity")
		header.Set("content-length", strconv.Itoa(len(body)))
	}
	if f.Path != "" {
		header.Set(contract.PoolHeader, f.Pool)
	}
	return server, path, header, body
}

func (n *native) forward(
	w http.ResponseWriter, r *http.Request, x *exchange.Exchange, f *exchange.Forward, body []byte,
) {
	server, path, header, body := n.toServer(r, f, body)
	// A response that is still under way when this returns is cancelled.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	type answer struct {
		response *http.Response
		err      error
	}
	came := make(chan answer, 1)
	go func() {
		sent := strings.NewReader(string(body))
		//nolint:bodyclose // the receiver closes it; without a receiver the context ends it
		response, err := n.roundTrip(r.WithContext(ctx), server, path, header, sent)
		came <- answer{response, err}
	}()
	out := &writer{w: w, x: x}
	got, ok := await(came, x, out)
	if !ok {
		return
	}
	response, err := got.response, got.err
	if err != nil {
		// The proxy's own 503, which passes through the exchange like every response.
		response = &http.Response{
			StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"text/plain"}},
			Body: io.NopCloser(strings.NewReader("upstream connect error")),
		}
	}
	defer response.Body.Close()
	out.header, out.status = response.Header, response.StatusCode
	head := exchange.ResponseHead{
		Status: response.StatusCode, ContentType: response.Header.Get("content-type"),
		RetryAfter: response.Header.Get("retry-after"), Local: err != nil,
	}
	if !out.take(x.ResponseHeaders(head), nil) {
		return
	}
	n.pump(out, x, response.Body)
}
