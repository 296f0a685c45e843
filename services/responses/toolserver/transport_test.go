package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// Every kind of server shows the same tools and gives the same results.
func TestTransports(t *testing.T) {
	box := newToolbox(nil)
	get := func(*http.Request) *mcp.Server { return box.Server }
	for name, kind := range map[string]struct {
		handler   http.Handler
		transport Transport
	}{
		"stateful":       {box.streamable(nil), Any},
		"stateless":      {box.streamable(&mcp.StreamableHTTPOptions{Stateless: true}), Any},
		"JSON":           {box.streamable(&mcp.StreamableHTTPOptions{JSONResponse: true}), StreamableHTTP},
		"stateless JSON": {box.streamable(&mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: true}), StreamableHTTP},
		"events":         {mcp.NewSSEHandler(get, nil), SSE},
		"fallback":       {mcp.NewSSEHandler(get, nil), Any},
		"process":        {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Limits{})
			server := program("toolbox")
			if kind.handler != nil {
				server = serve(t, kind.handler, func(r *http.Request) {
					if r.Header.Get("Authorization") != "Bearer secret" || len(r.Header["X-Key"]) != 2 || r.URL.Path != "/mcp" &&
						r.Method != http.MethodPost {
						t.Errorf("%s %s has %v", r.Method, r.URL, r.Header)
					}
				})
				server.Transport = kind.transport
				server.Headers = http.Header{"authorization": {"Bearer secret"}, "X-Key": {"a", "b"}}
			}
			tools, err := p.Tools(t.Context(), server, "")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools {
				names = append(names, tool.Name)
				if string(tool.InputSchema) != schema || tool.Description != "It is "+tool.Name+"." ||
					tool.ReadOnly != (tool.Name == "echo") {
					t.Errorf("%+v (%s)", tool, tool.InputSchema)
				}
			}
			if got := strings.Join(names, " "); got != "ask echo fail wait" {
				t.Errorf("the tools are %s", got)
			}
			r, err := p.Call(t.Context(), server, "", &Call{Name: "echo",
				Arguments: []byte(` {"zebra":"<ü>","apple":12345678901234567890} `), ClientID: "chain"})
			if err != nil || r.IsError || r.Truncated || r.Text != `{"zebra":"<ü>","apple":12345678901234567890} chain` {
				t.Errorf("%+v, %v", r, err)
			}
			if r, err := p.Call(t.Context(), server, "", &Call{Name: "echo", ClientID: ""}); err == nil && r.Text != "{} <nil>" {
				t.Errorf("%+v", r)
			}
			r, err = p.Call(t.Context(), server, "", call("fail"))
			if err != nil || !r.IsError || r.Text != "no zebra" || !json.Valid(r.Content) ||
				!strings.Contains(string(r.Content), "no zebra") {
				t.Errorf("%+v, %v", r, err)
			}
			_, err = p.Call(t.Context(), server, "", call("none"))
			if e := fails[*ProtocolError](t, err); e != nil && (e.Code != -32602 || !strings.Contains(e.Message, "none")) {
				t.Errorf("an unknown tool is %+v", e)
			}
			if text := mustCall(t, p, server, "echo"); !strings.Contains(text, `"z"`) {
				t.Error(text)
			}
		})
	}
}

// TestServerAsks: requests of a server to its client are refused, and a ping is answered.
func TestServerAsks(t *testing.T) {
	box := newToolbox(nil)
	for name, server := range map[string]*Server{
		"streamable": serve(t, box.streamable(nil), nil),
		"events":     serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return box.Server }, nil), nil),
		"process":    program("toolbox"),
	} {
		t.Run(name, func(t *testing.T) {
			if text := mustCall(t, newPool(t, Limits{}), server,
				"ask"); text != "ping: true, sampling: false, roots: false, elicitation: false" {
				t.Error(text)
			}
		})
	}
}

// The handshake says that the client can do nothing, and is as short as the server allows, once that is known.
func TestHandshake(t *testing.T) {
	box := newToolbox(nil)
	for name, kind := range map[string]struct {
		handler     http.Handler
		first, then string
	}{
		"new": {box.streamable(&mcp.StreamableHTTPOptions{Stateless: true}), "server/discover tools/call",
			"server/discover tools/call"},
		"old": {box.streamable(nil), "server/discover initialize notifications/initialized tools/call",
			"initialize notifications/initialized tools/call"},
		"older": {mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return box.Server }, nil),
			"server/discover initialize GET initialize notifications/initialized tools/call",
			"GET initialize notifications/initialized tools/call"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			server := serve(t, kind.handler, func(r *http.Request) {
				what := r.Method
				if what == http.MethodPost {
					data, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(data))
					var m rpc
					_ = json.Unmarshal(data, &m)
					what = m.Method
					var params struct{ Capabilities, Meta json.RawMessage }
					_ = json.Unmarshal(m.Params, &params)
					if what == methodInitialize && string(params.Capabilities) != "{}" {
						t.Errorf("the capabilities are %s", params.Capabilities)
					}
					if v := r.Header.Get(versionHeader); v == "" && what != methodInitialize && what != http.MethodGet {
						t.Errorf("%s has no version", what)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, what)
			})
			p := newPool(t, Limits{})
			for i, want := range []string{kind.first, kind.then} {
				mu.Lock()
				seen = nil
				mu.Unlock()
				if _, err := p.Call(t.Context(), server, fmt.Sprint("tenant", i), call("echo")); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				got := strings.Join(seen, " ")
				mu.Unlock()
				if got != want {
					t.Errorf("session %d asks %s, want %s", i, got, want)
				}
			}
		})
	}
}

// A server that does not answer to what it does not know can be used, if not at once.
func TestServerIgnores(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var m rpc
		_ = json.Unmarshal(data, &m)
		switch m.Method {
		case methodDiscover:
			<-r.Context().Done()
		case methodInitialize:
			answer(w, m.ID, `"result":`+handshake)
		case methodCall:
			answer(w, m.ID, textResult("ok"))
		}
	}), nil)
	p := newPool(t, Limits{Connect: 2 * time.Second})
	_, err := p.Call(t.Context(), s, "", call("x"))
	fails[*TimeoutError](t, err)
	if text := mustCall(t, p, s, "x"); text != "ok" {
		t.Error(text)
	}
}

// An argument that a schema wants as a header too is one, also after a new session, which has not seen the schema.
func TestArgumentsAsHeaders(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "a", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "x",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"zebra":{"type":"string","x-mcp-header":"Zebra"}}}`)},
		func(_ context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
		})
	var last atomic.Value
	s := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}),
		func(r *http.Request) { last.Store(r.Header.Get("Mcp-Param-Zebra")) })
	p := newPool(t, Limits{})
	for range 2 {
		if _, err := p.Tools(t.Context(), s, ""); err != nil {
			t.Fatal(err)
		}
		if text := mustCall(t, p, s, "x"); text != "ok" || last.Load() != "z" {
			t.Errorf("%s, the header is %v", text, last.Load())
		}
		p.mu.Lock()
		for _, session := range p.sessions {
			p.remove(session)
		}
		p.mu.Unlock()
	}
}

// Headers go to the server's own scheme, host and port only, whatever the server says.
func TestSecretsStay(t *testing.T) {
	var hits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(other.Close)
	headers := http.Header{"X-Api-Key": {"secret"}, "Authorization": {"secret"}}

	events := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), nil)
	events.Transport, events.Headers = SSE, headers
	_, err := newPool(t, Limits{}).Call(t.Context(), events, "", call("x"))
	fails[*egress.BlockedError](t, err)

	redirect := serve(t, http.RedirectHandler(other.URL+"/mcp", http.StatusTemporaryRedirect), nil)
	redirect.Headers = headers
	_, err = newPool(t, Limits{}).Call(t.Context(), redirect, "", call("x"))
	if e := fails[*HTTPError](t, err); e != nil && (e.Status != 307 || !strings.Contains(e.Error(), "redirect")) {
		t.Errorf("a redirect is %v", e)
	}

	login := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+other.URL+`/metadata"`)
		w.WriteHeader(http.StatusUnauthorized)
	}), nil)
	login.Headers = headers
	_, err = newPool(t, Limits{}).Call(t.Context(), login, "", call("x"))
	if e := fails[*HTTPError](t, err); e != nil && e.Status != 401 {
		t.Errorf("it is %v", e)
	}
	if hits.Load() > 0 {
		t.Errorf("another host was asked %d times", hits.Load())
	}
}

func TestOrigin(t *testing.T) {
	for _, same := range [][]string{
		{"https://a/mcp", "https://A:443/messages?a=b", "HTTPS://a"}, {"http://a:80", "http://a/"}, {"http://[::1]:1/",
			"http://[0::1]:1"},
	} {
		for _, raw := range same {
			if o := origin(raw); o == "" || o != origin(same[0]) {
				t.Errorf("the origin of %s is %s", raw, o)
			}
		}
	}
	for _, other := range []string{"http://a/mcp", "https://a:444/mcp", "https://b.a/mcp", "https://u@a/mcp",
		"https://a./mcp", ""} {
		if o := origin(other); o == origin("https://a/mcp") {
			t.Errorf("the origin of %s is %s", other, o)
		}
	}
}

// A server of a client's is asked only at a public address.
func TestPrivateAddresses(t *testing.T) {
	var hits atomic.Int32
	server := serve(t, newToolbox(nil).streamable(nil), func(*http.Request) { hits.Add(1) })
	server.Private = false
	p := newPool(t, Limits{})
	_, err := p.Call(t.Context(), server, "", call("echo"))
	fails[*egress.BlockedError](t, err)
	_, err = p.Tools(t.Context(), server, "")
	fails[*egress.BlockedError](t, err)
	if hits.Load() > 0 {
		t.Error("the server was asked")
	}
	p.Apply(Terms{Guard: mustGuard(t, "127.0.0.1")})
	if text := mustCall(t, p, server, "echo"); text == "" {
		t.Error("the operator's rule opens nothing")
	}
}
