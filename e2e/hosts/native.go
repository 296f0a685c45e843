package hosts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/seal"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Host is a running gateway.
type Host struct {
	// Name is "native", "wazero" or "envoy".
	Name string
	// URL is where clients reach it, without a trailing slash.
	URL string
	// Process is the Envoy that runs; nil for other hosts.
	Process *envoy.Process
	// Server is the host in this process; nil for others.
	Server *inprocess.Server
	stop   func()
	chunks func(requests int) (int, error)
}

// ResponseChunks is how many pieces of responses the gateway has been given, once so many requests have ended: a stream
// was cut only where the gateway was called.
func (h *Host) ResponseChunks(requests int) (int, error) { return h.chunks(requests) }

// Stop ends the host and everything that it started.
func (h *Host) Stop() { h.stop() }

// Setup is what a host is started with.
type Setup struct {
	// Config is the operator's configuration; its addresses are replaced by free ports.
	Config *config.Config
	// Cut is how many bytes of the server's stream the gateway is given at once; 0 is as they come. CutAt are offsets at
	// which it is cut as well; only the wazero host knows offsets. Envoy is given what the server sends.
	Cut   int
	CutAt []int
}

// Native runs the core's exchange behind net/http: no proxy, no wasm. In reduced mode it holds no headers of a response.
// Those of a request wait for the body here too, which nobody can see but a server that answers without it.
func Native(s Setup) (*Host, error) {
	keys, err := seal.ParseKeys(os.Getenv(contract.SealKeysVariable))
	if err != nil {
		return nil, err
	}
	_, server, ok := strings.Cut(s.Config.Models[0].Servers[0], "=")
	if !ok {
		return nil, errors.New("the first model has no server")
	}
	// Nothing is decompressed or redirected on the way, as in a proxy.
	transport := &http.Transport{DisableCompression: true}
	n := &native{
		setup: s, server: server, bodyLimit: int64(s.Config.BodyLimit), transport: transport,
		gateway: exchange.New(exchange.Options{Config: *s.Config.Filter(), Tokenizer: o200k.Tokenizer(), SealKeys: keys}),
	}
	listener := httptest.NewServer(n)
	return &Host{
		Name: "native", URL: listener.URL,
		// A request has ended for its client when the handler has returned, or has counted all of it.
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
		if strings.HasPrefix(strings.ToLower(name), contract.InternalHeaderPrefix) {
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
		// The route of headers that go as they came leads nowhere, whatever the body would have said.
		n.untouched(w, r, r.Body)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, n.bodyLimit+1))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	action := x.Request(body, exchange.Host{Now: time.Now().UnixMilli(), ID: hex.EncodeToString(id[:])})
	switch {
	case action.Reply != nil:
		reply(w, action.Reply)
	case action.Forward != nil:
		if action.Forward.Body != nil {
			// The next request of a VM is read into the same memory: nothing may be left that lies in it.
			for i := range body {
				body[i] = '!'
			}
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

func reply(w http.ResponseWriter, r *exchange.Reply) {
	w.Header().Set("content-type", "application/json")
	if r.RetryAfter != "" {
		w.Header().Set("retry-after", r.RetryAfter)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body)
}

// untouched is what the routes of the proxy do with a request that the filter has left alone.
func (n *native) untouched(w http.ResponseWriter, r *http.Request, body io.Reader) {
	if n.setup.Config.Passthrough == "" {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"Nothing is served here.","type":"invalid_request_error","param":null,"code":"not_found"}}`)
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

func (n *native) roundTrip(r *http.Request, base, path string, header http.Header, body io.Reader) (*http.Response, error) {
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

func (n *native) forward(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, f *exchange.Forward, body []byte) {
	header := r.Header.Clone()
	server, path := n.server, f.Path
	if f.Readable {
		server, path = n.setup.Config.Passthrough, r.RequestURI
		header.Set("accept-encoding", "identity")
	} else if f.Path == "" {
		server, path = n.setup.Config.ResponsesService.URL, r.RequestURI
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
	// What is still on its way when we are through is given up.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	type answer struct {
		response *http.Response
		err      error
	}
	came := make(chan answer, 1)
	go func() {
		response, err := n.roundTrip(r.WithContext(ctx), server, path, header, strings.NewReader(string(body))) //nolint:bodyclose // whoever receives it closes it; without a receiver the context ends it
		came <- answer{response, err}
	}()
	out := &writer{w: w}
	got, ok := await(came, x, out)
	if !ok {
		return
	}
	response, err := got.response, got.err
	if err != nil {
		// The proxy's own 503, which passes by the exchange like every response.
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
	if !out.take(x.ResponseHeaders(head, time.Now().UnixMilli()), nil) {
		return
	}
	n.pump(out, x, response.Body)
}

// pump gives the exchange the server's bytes as they come, in pieces of at most Cut.
func (n *native) pump(out *writer, x *exchange.Exchange, body io.Reader) {
	type piece struct {
		data []byte
		err  error
	}
	pieces := make(chan piece)
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		for {
			buffer := make([]byte, 64<<10)
			size, err := body.Read(buffer)
			select {
			case pieces <- piece{buffer[:size], err}:
			case <-gone:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		got, ok := await(pieces, x, out)
		if !ok {
			return
		}
		chunk, err := got.data, got.err
		for len(chunk) > 0 {
			piece := chunk
			if n.setup.Cut > 0 && len(piece) > n.setup.Cut {
				piece = piece[:n.setup.Cut]
			}
			chunk = chunk[len(piece):]
			n.chunks.Add(1)
			if !out.take(x.ResponseBody(piece, false, time.Now().UnixMilli()), piece) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			n.chunks.Add(1)
			if out.take(x.ResponseBody(nil, true, time.Now().UnixMilli()), nil) {
				out.head()
			}
			return
		}
		if err != nil {
			// A connection that dies in mid-stream is a loud error for the client too; before anything was sent it is
			// the proxy's own 502.
			if out.sent {
				panic(http.ErrAbortHandler)
			}
			clear(out.w.Header())
			reply(out.w, &exchange.Reply{Status: http.StatusBadGateway, Body: []byte(resetBody)})
			return
		}
	}
}

// stallTick is how often a silent server is looked at, as in the filter.
const stallTick = 250 * time.Millisecond

// await waits for what comes next, unless the exchange finds that the server has been silent for too long; then the
// client has been told, and the exchange is over.
func await[T any](c <-chan T, x *exchange.Exchange, out *writer) (T, bool) {
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	for {
		select {
		case v := <-c:
			return v, true
		case <-tick.C:
			if a := x.Stalled(time.Now().UnixMilli()); a.Reply != nil || a.Reset {
				out.take(a, nil)
				var none T
				return none, false
			}
		}
	}
}

// resetBody is what the proxy's configuration makes of its own reply when a server's connection dies early.
const resetBody = `{"error":{"message":"upstream reset","type":"server_error","param":null,"code":"server_error"}}`

// writer puts actions into effect.
type writer struct {
	w      http.ResponseWriter
	header http.Header
	status int
	sent   bool
}

// take reports whether the response goes on.
func (o *writer) take(a exchange.ResponseAction, chunk []byte) bool {
	switch {
	case a.Hold:
		return true
	case a.Reply != nil:
		reply(o.w, a.Reply)
		return false
	case a.Reset:
		panic(http.ErrAbortHandler)
	case a.Head != nil:
		o.status = a.Head.Status
		o.header.Set("content-type", a.Head.ContentType)
		o.header.Del("content-length")
	}
	o.head()
	if a.Pass {
		_, _ = o.w.Write(chunk)
	} else {
		_, _ = o.w.Write(a.Body)
	}
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
	return true
}

func (o *writer) head() {
	if !o.sent {
		o.sent = true
		copyHeaders(o.w.Header(), o.header)
		o.w.WriteHeader(o.status)
	}
}

func copyHeaders(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}
