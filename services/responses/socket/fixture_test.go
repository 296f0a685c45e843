package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// call is one response that a test's handler makes.
type call struct {
	lane, frame string
	ctx         context.Context //nolint:containedctx // the call's own
	send        func([]byte) error
	end         chan *openai.Error
}

// calls is a handler whose responses the test makes.
type calls chan *call

// Create implements [Handler].
func (c calls) Create(ctx context.Context, lane string, frame []byte, send func([]byte) error) *openai.Error {
	one := &call{lane, string(frame), ctx, send, make(chan *openai.Error)}
	select {
	case c <- one:
	case <-ctx.Done():
		return nil
	}
	select {
	case failure := <-one.end:
		return failure
	case <-ctx.Done():
		return nil
	}
}

// next returns the next response that is to be made.
func (c calls) next(t *testing.T) *call {
	t.Helper()
	select {
	case one := <-c:
		return one
	case <-time.After(patience):
		t.Fatal("no response is made")
		return nil
	}
}

func (c *call) finish(t *testing.T, failure *openai.Error) {
	t.Helper()
	select {
	case c.end <- failure:
	case <-time.After(patience):
		t.Fatal("the response has ended already")
	}
}

// echo answers each frame with one event that has the lane and the frame.
type echo struct{}

// Create implements [Handler].
func (echo) Create(_ context.Context, lane string, frame []byte, send func([]byte) error) *openai.Error {
	b, _ := json.Marshal(map[string]any{"type": "echo", "lane": lane, "frame": len(frame)})
	_ = send(b)
	return nil
}

type fixture struct {
	t      *testing.T
	server *Server
	url    string
	// ended counts the connections that have ended.
	ended chan struct{}
}

func serve(t *testing.T, l Limits, h Handler) *fixture {
	t.Helper()
	if l.Frame == 0 {
		l.Frame = 1 << 20
	}
	f := &fixture{t: t, server: NewServer(l, slog.New(slog.DiscardHandler)), ended: make(chan struct{}, 1000)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failure := f.server.Serve(w, r, h); failure != nil {
			w.WriteHeader(failure.Status)
			_, _ = w.Write(failure.AppendJSON(nil))
			return
		}
		f.ended <- struct{}{}
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// client is a client's end of a connection.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (f *fixture) dial() *client {
	f.t.Helper()
	ws, response, err := websocket.Dial(f.t.Context(), f.url, nil)
	if err != nil {
		f.t.Fatalf("%v: %+v", err, response)
	}
	f.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(-1)
	return &client{f.t, ws}
}

func (c *client) write(frames ...string) {
	c.t.Helper()
	for _, frame := range frames {
		if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// received is what the tests read of a server's frame.
type received struct {
	Type, Lane string
	StreamID   string `json:"stream_id"`
	Status     int
	Frame      int
	Error      struct{ Type, Code, Message, Param string }
	text       string
}

func (c *client) read() received {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	kind, data, err := c.ws.Read(ctx)
	var r received
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || kind != websocket.MessageText {
		c.t.Fatalf("%v: %v %s", err, kind, data)
	}
	r.text = string(data)
	return r
}

// refused wants an error frame.
func (c *client) refused(status int, code, lane string) received {
	c.t.Helper()
	r := c.read()
	if r.Type != "error" || r.Status != status || r.Error.Code != code || r.StreamID != lane || r.Error.Message == "" {
		c.t.Errorf("got %s, want %d %s", r.text, status, code)
	}
	return r
}

// closed wants the end of the connection.
func (c *client) closed(code websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, data, err := c.ws.Read(ctx)
	if err == nil || websocket.CloseStatus(err) != code {
		c.t.Errorf("got %v %s, want %v", err, data, code)
	}
}

// gone waits until a connection has ended, and checks that it has given everything back.
func (f *fixture) gone() {
	f.t.Helper()
	select {
	case <-f.ended:
	case <-time.After(patience):
		f.t.Fatal("the connection has not ended")
	}
	if n := f.server.pending.used.Load(); n != 0 {
		f.t.Errorf("%d bytes are still reserved", n)
	}
}

func create(lane string) string {
	if lane == "" {
		return `{"type":"response.create","input":"x"}`
	}
	return `{"type":"response.create","stream_id":"` + lane + `"}`
}

// raw opens a connection whose bytes the test writes and reads itself.
func (f *fixture) raw() *net.TCPConn {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		f.t.Fatalf("%v %v", response, err)
	}
	return conn.(*net.TCPConn)
}

// maskedFrame is a text frame of a client's, with a mask of zeros.
func maskedFrame(text string) []byte {
	return append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)
}
