package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// newPool returns a pool that is closed when the test ends. Nothing of it is left then.
func newPool(t *testing.T, limits Limits) *Pool {
	t.Helper()
	p := NewPool(limits, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { closePool(t, p) })
	return p
}

func closePool(t *testing.T, p *Pool) {
	t.Helper()
	p.Close()
	if p.ending != 0 || len(p.sessions) != 0 {
		t.Errorf("%d sessions have not ended", p.ending+len(p.sessions))
	}
	if taken := p.places.taken + p.processes.taken; taken != 0 {
		t.Errorf("%d places are taken", taken)
	}
	eventually(t, "what was read is given back", func() bool {
		p.memory.mu.Lock()
		defer p.memory.mu.Unlock()
		return p.memory.taken == 0 && len(p.memory.tenants) == 0
	})
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("it never came: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// wait waits for an event.
func wait[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("it never came: " + what)
	}
	return v
}

// schema has its members in an order that no map has.
const schema = `{"type":"object","properties":{"zebra":{"type":"string"},"apple":{"type":"integer"}},` +
	`"required":["zebra"]}`

// toolbox is an MCP server, made with the SDK.
type toolbox struct {
	*mcp.Server
	// running gets an event when the tool wait has begun, and stopped when its context has ended.
	running, stopped chan struct{}
	// quit ends the tool wait too.
	quit chan struct{}
}

func newToolbox(options *mcp.ServerOptions) *toolbox {
	b := &toolbox{mcp.NewServer(&mcp.Implementation{Name: "toolbox", Version: "1"}, options), make(chan struct{}, 100),
		make(chan struct{}, 100), make(chan struct{})}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add := func(name string, f mcp.ToolHandler) {
		b.AddTool(&mcp.Tool{Name: name, Description: "It is " + name + ".", InputSchema: json.RawMessage(schema),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "echo"}},
			f)
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(fmt.Sprintf("%s %v", r.Params.Arguments, r.Params.Meta["client_id"])), nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text("no zebra")
		r.IsError = true
		return r, nil
	})
	add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.running <- struct{}{}
		select {
		case <-ctx.Done():
		case <-b.quit:
		}
		b.stopped <- struct{}{}
		return nil, errors.New("stopped")
	})
	add("ask", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//nolint:staticcheck // MCP no longer wants servers to ask this, and some do
		_, sampling := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		//nolint:staticcheck // the same
		_, roots := r.Session.ListRoots(ctx, nil)
		_, elicitation := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
		return text(fmt.Sprintf("ping: %t, sampling: %t, roots: %t, elicitation: %t", r.Session.Ping(ctx, nil) == nil,
			sampling == nil, roots == nil, elicitation == nil)), nil
	})
	return b
}

// serve serves a handler, and sees each request first.
func serve(t *testing.T, h http.Handler, see func(*http.Request)) *Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if see != nil {
			see(r)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &Server{Label: "test", URL: s.URL + "/mcp", Private: true}
}

func (b *toolbox) streamable(o *mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return b.Server }, o)
}

// rpc is a message as a server reads it.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  json.RawMessage `json:"error"`
}

// handshake is what servers without the SDK answer to initialize.
const handshake = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"rude","version":"1"}}`

// rude is a server that speaks streamable HTTP up to the handshake, and leaves the rest to a function.
func rude(f func(w http.ResponseWriter, r *http.Request, m *rpc)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &rpc{}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		data, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(data, m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch m.Method {
		case methodDiscover:
			answer(w, m.ID, `"error":{"code":-32601,"message":"Method not found"}`)
		case methodInitialize:
			answer(w, m.ID,
				`"result":`+handshake)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			f(w, r, m)
		}
	})
}

// rudeEvents is a server that speaks SSE up to the handshake, with one session, and leaves calls to a function, which
// writes to the stream.
func rudeEvents(f func(w http.ResponseWriter, m *rpc)) http.Handler {
	var sessions sync.Map // a channel of messages by its path: an old stream takes nothing of a new session
	var opened atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			m := &rpc{}
			if err := json.NewDecoder(r.Body).Decode(m); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if session, ok := sessions.Load(r.URL.Path); ok {
				session.(chan *rpc) <- m
			}
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		messages := make(chan *rpc, 10)
		path := fmt.Sprintf("/messages/%d", opened.Add(1))
		sessions.Store(path, messages)
		fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", path)
		for {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case m := <-messages:
				switch m.Method {
				case methodInitialize:
					fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, handshake)
				case methodCall:
					f(w, m)
				}
			}
		}
	})
}

// answer writes a JSON-RPC answer with this member.
func answer(w http.ResponseWriter, id json.RawMessage, member string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, member)
}

// silent is a server that answers nothing.
var silent = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the server sees that the client leaves
	<-r.Context().Done()
})

func textResult(text string) string {
	b, _ := json.Marshal(text)
	return `"result":{"content":[{"type":"text","text":` + string(b) + `}]}`
}

func call(name string) *Call { return &Call{Name: name, Arguments: json.RawMessage(`{"zebra":"z"}`)} }

// mustCall calls a tool and returns its text.
func mustCall(t *testing.T, p *Pool, s *Server, name string) string {
	t.Helper()
	r, err := p.Call(t.Context(), s, "", call(name))
	if err != nil {
		t.Fatal(err)
	}
	return r.Text
}

// fails reports whether an error is of a type, and has nothing that must not be told.
func fails[E error](t *testing.T, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Errorf("the error is %v (%T), want a %T", err, err, e)
		return e
	}
	for _, secret := range []string{"127.0.0.1", "secret", "/mcp"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error %q tells %q", err, secret)
		}
	}
	return e
}

func mustGuard(t *testing.T, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.NewGuard(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestMain runs the tests, or one of the servers that tests start as processes.
func TestMain(m *testing.M) {
	if mode := os.Getenv("TOOLSERVER_PROCESS"); mode != "" {
		runProcess(mode)
		return
	}
	os.Exit(m.Run())
}

// limitCalls changes how long calls may take, also in sessions that are there.
func limitCalls(p *Pool, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := *p.terms.Load()
	t.Call = limit
	p.terms.Store(&t)
	for _, s := range p.sessions {
		s.terms = &t
	}
}
