package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods of MCP that matter here.
const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodPing       = "ping"
	listChanged      = "notifications/tools/list_changed"
)

// errReplies means that a server asks for more than it reads answers.
var errReplies = errors.New("the server asks too much at once")

// watched is a transport of the SDK's whose messages are seen.
type watched struct {
	mcp.Transport
	session *session
	kind    Transport
}

// Connect implements [mcp.Transport].
func (w *watched) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := w.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Connection: c, session: w.session, kind: w.kind, waiting: map[jsonrpc.ID]request{}}, nil
}

// conn sees the messages of a session. It takes the results of calls and lists out of the answers as the server wrote
// them: the SDK would decode them into maps, which lose the order of a schema's members, take many times the memory,
// and refuse contents that it does not know.
type conn struct {
	mcp.Connection
	session *session
	kind    Transport

	mu      sync.Mutex
	waiting map[jsonrpc.ID]request
	// annotated is how many bytes of lists have been left for the SDK.
	annotated int
	// aside is how many messages are sent that are no calls.
	aside atomic.Int32
}

// request is one that waits for its answer.
type request struct {
	method   string
	exchange *exchange
}

// Write implements [mcp.Connection].
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Request)
	x := exchangeOf(ctx)
	if !ok || !r.IsCall() || x == nil {
		return c.writeAside(ctx, m, ok)
	}
	if r.Method == methodCall {
		c.session.asked.Store(true)
	}
	x.begin()
	c.mu.Lock()
	c.waiting[r.ID] = request{r.Method, x}
	c.mu.Unlock()
	err := c.Connection.Write(ctx, m)
	if err != nil {
		c.take(r.ID)
		return err
	}
	x.setSent()
	// The SDK does not say when it stops to wait, but then the context is done.
	context.AfterFunc(ctx, func() { c.take(r.ID) })
	return nil
}

// writeAside sends a message that is not a call. Where a server does not read them, a notification is dropped, and an
// answer ends the session: a server could ask without end.
func (c *conn) writeAside(ctx context.Context, m jsonrpc.Message, isNotification bool) error {
	defer c.aside.Add(-1)
	switch {
	case c.aside.Add(1) <= maxAside:
		return c.Connection.Write(ctx, m)
	case isNotification:
		return nil
	}
	return errReplies
}

// take returns what waits for an answer, and forgets it.
func (c *conn) take(id jsonrpc.ID) (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.waiting[id]
	delete(c.waiting, id)
	return r, ok
}

// Read implements [mcp.Connection].
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.ended(err)
		return nil, err
	}
	c.session.heard.Store(time.Now().UnixNano())
	size := 0
	switch m := m.(type) {
	case *jsonrpc.Request:
		// Nothing that a server asks is done, so the SDK need not decode it.
		size, m.Params = len(m.Params), json.RawMessage("{}")
	case *jsonrpc.Response:
		size = len(m.Result)
		c.answered(m)
	}
	if s := c.session.stream.Load(); s != nil {
		s.taken(size)
	}
	return m, nil
}

// ended writes down why there are no more messages.
func (c *conn) ended(err error) {
	reason := "the server's answer cannot be read"
	switch isEOF := errors.Is(err, io.EOF); {
	case c.kind == Stdio && isEOF:
		reason = "the server's process has ended"
	case isEOF:
		reason = connectionLost
	}
	_ = c.session.setFault(&ConnectionError{reason})
}

// answered writes down an answer in the exchange that waits for it.
func (c *conn) answered(m *jsonrpc.Response) {
	r, ok := c.take(m.ID)
	if !ok {
		return
	}
	if m.Error != nil {
		_ = r.exchange.fail(protocolError(m.Error))
		return
	}
	if (r.method == methodInitialize || r.method == methodDiscover) && len(m.Result) > maxHandshake {
		_ = r.exchange.fail(&LimitError{What: "bytes of a handshake", Limit: maxHandshake})
		m.Result = json.RawMessage("{}")
		return
	}
	r.exchange.setAnswer(m.Result)
	switch r.method {
	case methodInitialize:
		var result struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if json.Unmarshal(m.Result, &result) == nil {
			c.session.version.Store(&result.ProtocolVersion)
		}
	case methodCall:
		m.Result = json.RawMessage(`{"content":[]}`)
	case methodList:
		m.Result = c.leave(m.Result)
	}
}

// leave returns what the SDK gets of a list of tools. It needs one only to send arguments as headers too, where a
// schema wants that, and it keeps what it gets.
func (c *conn) leave(list json.RawMessage) json.RawMessage {
	nothing := json.RawMessage(`{"tools":[]}`)
	if !bytes.Contains(list, []byte(headerAnnotation)) {
		return nothing
	}
	var tools struct{ Tools json.RawMessage }
	if json.Unmarshal(list, &tools) != nil {
		return nothing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.annotated += len(tools.Tools); c.annotated > maxAnnotated {
		return nothing
	}
	return slices.Concat([]byte(`{"tools":`), tools.Tools, []byte("}")) // without how long it may be kept
}
