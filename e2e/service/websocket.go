//go:build e2e

package service

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// Connection is a client's end of a connection.
type Connection struct {
	g *Gateway
	// WS is the connection, and Wire what it runs on.
	WS   *websocket.Conn
	Wire *net.TCPConn
}

// Dial opens a connection as agents do.
func (g *Gateway) Dial() *Connection {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), lab.Patience)
	defer cancel()
	c := &Connection{g: g}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			c.Wire = conn.(*net.TCPConn)
		}
		return conn, err
	}}
	//nolint:bodyclose // Dial closes it
	ws, response, err := websocket.Dial(ctx, g.URL+lab.ResponsesPath, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
		HTTPHeader: http.Header{"Authorization": {"Bearer key"}, "Openai-Beta": {"responses_websockets=2026-02-06"}},
		// Clients offer it. The service decides about it.
		CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		g.T.Fatalf("%v: %+v", err, response)
	}
	g.T.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(-1)
	c.WS = ws
	return c
}

// Over is a connection that the test has opened itself.
func (g *Gateway) Over(ws *websocket.Conn) *Connection { return &Connection{g: g, WS: ws} }

// Ask sends a request. members are of the request, beside its type and the model.
func (c *Connection) Ask(members string) {
	c.g.T.Helper()
	c.Write(`{"type":"response.create","stream":true,"model":"` + lab.Model + `",` + members + `}`)
}

// Write sends a frame.
func (c *Connection) Write(frame string) {
	c.g.T.Helper()
	if err := c.WS.Write(c.g.T.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.g.T.Fatal(err)
	}
}

// Frame is what the tests read of a server's frame.
type Frame struct {
	Type, Text string
	StreamID   string `json:"stream_id"`
	Status     int
	Response   *Response
	Error      struct{ Type, Code, Message, Param string }
}

// Read reads a frame.
func (c *Connection) Read() Frame {
	c.g.T.Helper()
	ctx, cancel := context.WithTimeout(c.g.T.Context(), lab.Patience)
	defer cancel()
	kind, data, err := c.WS.Read(ctx)
	var f Frame
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil || kind != websocket.MessageText {
		c.g.T.Fatalf("%v: %v %s", err, kind, data)
	}
	f.Text = string(data)
	return f
}

// Answer reads the frames of one response, whose lane has this name, and checks their order.
func (c *Connection) Answer(lane string) *Response {
	c.g.T.Helper()
	return c.Answers(lane)[lane]
}

// Answers reads the frames of responses on several lanes, one on each, in whichever order they come.
func (c *Connection) Answers(lanes ...string) map[string]*Response {
	c.g.T.Helper()
	streams, ended := map[string]*bytes.Buffer{}, map[string]*Response{}
	for _, lane := range lanes {
		streams[lane] = &bytes.Buffer{}
	}
	for len(ended) < len(lanes) {
		f := c.Read()
		stream := streams[f.StreamID]
		if f.Type == "error" || stream == nil || ended[f.StreamID] != nil {
			c.g.T.Fatalf("got %s", f.Text)
		}
		// As an event of a stream, without what only a connection's has.
		data := strings.Replace(f.Text, `"stream_id":"`+f.StreamID+`",`, "", 1)
		stream.WriteString("event: " + f.Type + "\ndata: " + data + "\n\n")
		switch f.Type {
		case "response.completed", "response.incomplete", "response.failed":
			ended[f.StreamID] = f.Response
			if err := c.g.Schemas.CheckStream(stream.String()); err != nil {
				c.g.T.Errorf("%v", err)
			}
		}
	}
	return ended
}

// Refused wants an error frame.
func (c *Connection) Refused(status int, code, lane string) Frame {
	c.g.T.Helper()
	f := c.Read()
	if f.Type != "error" || f.Status != status || f.Error.Code != code || f.StreamID != lane || f.Error.Message == "" {
		c.g.T.Errorf("got %s, want %d %s", f.Text, status, code)
	}
	return f
}

// Closed wants the end of the connection.
func (c *Connection) Closed(code websocket.StatusCode) {
	c.g.T.Helper()
	ctx, cancel := context.WithTimeout(c.g.T.Context(), lab.Patience)
	defer cancel()
	if _, data, err := c.WS.Read(ctx); err == nil || websocket.CloseStatus(err) != code {
		c.g.T.Errorf("got %v %s, want %v", err, data, code)
	}
}
