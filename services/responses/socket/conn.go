package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// conn is a connection. Its reader takes frames and never waits for a response: requests wait in the lanes. Each
// response that is made has a goroutine, which writes its own frames.
type conn struct {
	server  *Server
	ws      *websocket.Conn
	raw     net.Conn
	handler Handler
	ctx     context.Context //nolint:containedctx // the connection's own, which ends with it
	cancel  context.CancelFunc
	// active is when something has last come from the client or gone to it, in nanoseconds since 1970. writing is how many
	// frames are being written.
	active, writing atomic.Int64
	// quiet signals that no request is left, and that no other is taken.
	quiet chan struct{}
	work  sync.WaitGroup

	lanes
}

func newConn(ctx context.Context, s *Server, ws *websocket.Conn, raw net.Conn, h Handler) *conn {
	c := &conn{server: s, ws: ws, raw: raw, handler: h, quiet: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.lanes.init()
	return c
}

// serve serves the connection until it ends.
func (c *conn) serve() {
	c.work.Go(c.watch)
	c.work.Go(c.keepAlive)
	code, reason := c.read()
	// The client's requests are of no use now.
	c.drop()
	c.cancel()
	if code != 0 {
		c.shut(code, reason)
	}
	_ = c.raw.Close()
	_ = c.ws.CloseNow()
	c.work.Wait()
}

// shut tells the client why the connection ends, and waits for its answer. Later frames are forgotten: a connection
// that is closed before it has come may take the reason with it. The library alone would wait for the end of a frame,
// however long it is.
func (c *conn) shut(code websocket.StatusCode, reason string) {
	late := time.AfterFunc(c.server.limits().CloseTime, func() { _ = c.raw.Close() })
	defer late.Stop()
	_ = c.ws.Close(code, reason)
}

// read takes frames until the connection ends. It returns why the connection is closed, or 0 if it has ended already.
func (c *conn) read() (code websocket.StatusCode, reason string) {
	for idle := 0; ; {
		kind, message, err := c.ws.Reader(c.ctx)
		if err != nil {
			c.server.log.Debug("a WebSocket connection has ended", "reason", err)
			return 0, ""
		}
		if kind != websocket.MessageText {
			return websocket.StatusUnsupportedData, "frames must be text"
		}
		late := time.AfterFunc(c.server.limits().FrameTime, func() {
			c.shut(websocket.StatusPolicyViolation, "a frame took too long to arrive")
		})
		data, failure, err := c.receive(message)
		late.Stop()
		if err != nil {
			c.server.log.Debug("a frame was not received whole", "reason", err)
			if errors.Is(err, websocket.ErrMessageTooBig) {
				return websocket.StatusMessageTooBig, "the frame is too large"
			}
			return 0, ""
		}
		if failure == nil && c.take(data) {
			idle = 0
			continue
		}
		c.server.pending.give(int64(cap(data)))
		if failure != nil {
			c.sendError(failure, "")
		}
		if idle++; idle > c.server.limits().IdleFrames {
			return websocket.StatusPolicyViolation, "too many frames that no response was made for"
		}
	}
}

const (
	// firstRead is how much memory a frame gets before anything of it has come, in bytes.
	firstRead = 4 << 10
	// maxRead is how much is read at once. Its arrival is noticed only then.
	maxRead = 32 << 10
)

// receive reads a frame. Its memory is reserved while it grows, before it is allocated. If there is none, the
// frame is read all the same, and forgotten.
func (c *conn) receive(from io.Reader) (data []byte, failure *openai.Error, err error) {
	budget := &c.server.pending
	for {
		if len(data) == cap(data) {
			size := max(firstRead, min(2*cap(data), int(c.server.limits().Frame)+1))
			if !budget.take(int64(size)) {
				n, err := io.Copy(forgotten{c}, from)
				if n == 0 && err == nil {
					return data, nil, nil // the frame has just ended
				}
				budget.give(int64(cap(data)))
				return nil, errOverloaded(), err
			}
			grown := append(make([]byte, 0, size), data...)
			budget.give(int64(cap(data)))
			data = grown
		}
		n, err := from.Read(data[len(data):min(cap(data), len(data)+maxRead)])
		data = data[:len(data)+n]
		c.touch()
		switch {
		case errors.Is(err, io.EOF):
			return data, nil, nil
		case err != nil:
			budget.give(int64(cap(data)))
			return nil, nil, err
		}
	}
}

func (c *conn) touch() { c.active.Store(time.Now().UnixNano()) }

// forgotten forgets what is written to it, and notes that it came.
type forgotten struct{ conn *conn }

// Write implements [io.Writer].
func (f forgotten) Write(p []byte) (int, error) {
	f.conn.touch()
	return len(p), nil
}

// take does what a frame asks for. It reports whether a response is made, whose memory then includes data.
func (c *conn) take(data []byte) bool {
	f, failure := parseFrame(data)
	switch {
	case failure != nil:
	case f.kind == typeCreate:
		if failure = c.add(f.lane, data); failure == nil {
			return true
		}
	case f.kind == typeSteer:
		_ = c.send(steerRefused(&f))
	default:
		c.server.log.Debug("a frame was ignored", "type", openai.Clip(f.kind, 64))
	}
	if failure != nil {
		c.sendError(failure, f.lane)
	}
	return false
}

// create makes the response that a frame asks for.
func (c *conn) create(lane string, data []byte) {
	defer func() {
		// As in net/http, a fault costs its own connection only.
		if fault := recover(); fault != nil {
			c.server.log.Error("a response was not made", "reason", fault, "stack", string(debug.Stack()))
			c.cancel()
		}
	}()
	quiet := c.server.limits().Quiet
	tick, made := time.NewTicker(quiet), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() { c.tell(lane, tick.C, made) })
	defer telling.Wait()
	defer close(made)
	defer tick.Stop()
	failure := c.handler.Create(c.ctx, lane, data, func(event []byte) error {
		tick.Reset(quiet)
		return c.send(onLane(event, lane))
	})
	if failure != nil {
		c.sendError(failure, lane)
	}
}

// tell tells the client at each tick that a response is still being made, until it is made. The frame is no event of the
// response and has no number. Clients pass it over: Codex 0.171.0 and openai-python 3.57.0 do.
func (c *conn) tell(lane string, tick <-chan time.Time, made <-chan struct{}) {
	for {
		select {
		case <-made:
			return
		case <-tick:
			_ = c.send(onLane([]byte(`{"type":"keepalive"}`), lane))
		}
	}
}

func (c *conn) sendError(e *openai.Error, lane string) { _ = c.send(errorFrame(e, lane)) }

// limited returns a context for a write. It does not end with the connection: a write that it ends takes the connection
// with it, also if a close frame is to follow.
func (c *conn) limited(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.ctx), d)
}

// fragment is the size of the pieces in which a large frame is written. Between them, pings are answered.
const fragment = 64 << 10

// send writes a frame. The connection ends if the client takes too long to receive it.
func (c *conn) send(data []byte) (err error) {
	c.writing.Add(1)
	defer func() {
		if c.writing.Add(-1); err == nil {
			c.touch()
		}
	}()
	ctx, cancel := c.limited(c.server.limits().WriteTime)
	defer cancel()
	if len(data) <= fragment {
		return c.ws.Write(ctx, websocket.MessageText, data)
	}
	w, err := c.ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for len(data) > 0 {
		now := data[:min(fragment, len(data))]
		data = data[len(now):]
		if _, err := w.Write(now); err != nil {
			return err
		}
	}
	return nil
}

// keepAlive asks the client whether it is still there. It is there while something comes from it or goes to it.
func (c *conn) keepAlive() {
	tick := time.NewTicker(c.server.limits().Ping)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now().UnixNano()
		ctx, cancel := c.limited(c.server.limits().Ping)
		err := c.ws.Ping(ctx)
		cancel()
		if err != nil && c.writing.Load() == 0 && c.active.Load() < asked {
			c.cancel()
			return
		}
	}
}
