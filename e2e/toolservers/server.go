package toolservers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Server is an MCP server on a loopback port.
type Server struct {
	http *httptest.Server
	// closing is closed when the server ends. Calls that hang wait for it.
	closing chan struct{}
	once    sync.Once
	// called is closed when the first call has come.
	called   chan struct{}
	callOnce sync.Once

	mu       sync.Mutex
	calls    []Call
	requests []Request
	strayed  []Request
}

// A Call is a tools/call that a server has received.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	// ClientID is _meta.client_id, or empty.
	ClientID string
}

// A Request is an HTTP request that a server has received, without its body.
type Request struct {
	Method, Path string
	Header       http.Header
}

// versions are the versions of the protocol that the reference servers speak (mcp 1.12 for Python).
var versions = []string{"2025-06-18", "2025-03-26", "2024-11-05"}

// newMCP returns a server of this name, which notes the calls that it receives.
func (s *Server) newMCP(name, instructions string, protocol []string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1.12.2"},
		&mcp.ServerOptions{Instructions: instructions, SupportedProtocolVersions: protocol})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if call, ok := request.(*mcp.CallToolRequest); ok {
				client, _ := call.Params.Meta["client_id"].(string)
				s.mu.Lock()
				s.calls = append(s.calls, Call{call.Params.Name, slices.Clone(call.Params.Arguments), client})
				s.mu.Unlock()
				s.callOnce.Do(func() { close(s.called) })
			}
			return next(ctx, method, request)
		}
	})
	return server
}

// start serves a server's MCP. wrap may put a handler before it, or be nil.
func (s *Server) start(t testing.TB, server *mcp.Server, wrap func(http.Handler) http.Handler) *Server {
	t.Helper()
	get := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	var handler http.Handler = mux
	if wrap != nil {
		handler = wrap(mux)
	}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Clone()})
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func newServer() *Server {
	return &Server{closing: make(chan struct{}), called: make(chan struct{})}
}

// Streamable returns the URL for streamable HTTP.
func (s *Server) Streamable() string { return s.http.URL + "/mcp" }

// SSE returns the URL for the older transport, by which gpt-oss's servers are started.
func (s *Server) SSE() string { return s.http.URL + "/sse" }

// Calls returns the calls that have come so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Called returns a channel that is closed when the first call has come.
func (s *Server) Called() <-chan struct{} { return s.called }

// Requests returns the HTTP requests that have come so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Close ends the server and its connections. A second call does nothing.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// textResult is what FastMCP answers for a tool that returns a str.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: map[string]string{"result": text},
	}
}

// failed is what FastMCP answers for a tool that raised an exception.
func failed(tool, text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: "Error executing tool " + tool + ": " + text}},
	}
}
