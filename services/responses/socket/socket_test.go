package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestLanes: requests of one lane wait for each other, and requests of several do not. Events have the lane's name.
func TestLanes(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{}, h)
	c := f.dial()
	c.write(create(""), create("a"), create("a"), create(""))
	first, second := h.next(t), h.next(t)
	if first.lane == second.lane {
		t.Fatalf("the lane %q makes two responses at once", first.lane)
	}
	select {
	case third := <-h:
		t.Fatalf("the lane %q makes two responses at once", third.lane)
	default:
	}
	for _, one := range []*call{first, second} {
		if err := one.send([]byte(`{"type":"echo","lane":"` + one.lane + `"}`)); err != nil {
			t.Fatal(err)
		}
		if r := c.read(); r.Type != "echo" || r.StreamID != one.lane || r.Lane != one.lane {
			t.Errorf("got %s", r.text)
		}
		one.finish(t, nil)
		next := h.next(t)
		if next.lane != one.lane {
			t.Errorf("the lane %q is next, want %q", next.lane, one.lane)
		}
		next.finish(t, badRequest("some_code", "p", "m"))
		c.refused(400, "some_code", one.lane)
	}
	_ = c.ws.Close(websocket.StatusNormalClosure, "")
	f.gone()
}

// TestQuiet: while a response is silent, the client is told again and again that it is being made. Pings are no events.
func TestQuiet(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{Quiet: 5 * time.Millisecond}, h)
	c := f.dial()
	c.write(create("a"))
	one := h.next(t)
	for range 3 {
		if r := c.read(); r.Type != "keepalive" || r.StreamID != "a" {
			t.Errorf("got %s", r.text)
		}
	}
	if err := one.send([]byte(`{"type":"echo"}`)); err != nil {
		t.Fatal(err)
	}
	for r := c.read(); r.Type != "echo"; r = c.read() {
		if r.Type != "keepalive" {
			t.Fatalf("got %s", r.text)
		}
	}
	one.finish(t, nil)
	_ = c.ws.Close(websocket.StatusNormalClosure, "")
	f.gone()
}

// TestQueue: a request that may not be made yet waits. One that may not wait is refused.
func TestQueue(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{InFlight: 2, Queued: 3, Lanes: 4}, h)
	c := f.dial()
	c.write(create("a"), create("b"))
	running := []*call{h.next(t), h.next(t)}
	c.write(create("c"), create("a"), create("a"), create("d"))
	c.refused(429, codeQueueLimit, "d")
	running[0].finish(t, nil)
	h.next(t)
	c.write(create("d"), create("e"))
	if r := c.refused(400, codeStreamLimit, "e"); r.Error.Param != "stream_id" ||
		!strings.Contains(r.Error.Message, "(4)") {
		t.Errorf("got %s", r.text)
	}
	if len(h) != 0 {
		t.Error("more than two responses are made at once")
	}
	_ = c.ws.CloseNow()
	f.gone()
}

// TestPending: the requests of a connection, and of all connections, have room for so many bytes.
func TestPending(t *testing.T) {
	large := func(n int) string {
		return `{"type":"response.create","input":"` + strings.Repeat("x", n) + `"}`
	}
	t.Run("connection", func(t *testing.T) {
		h := make(calls)
		f := serve(t, Limits{Pending: 100_000}, h)
		c := f.dial()
		c.write(large(60_000))
		one := h.next(t)
		c.write(large(60_000))
		c.refused(429, codeQueueLimit, "")
		one.finish(t, nil)
		c.write(`{"type":"response.create"}`)
		h.next(t).finish(t, nil)
		_ = c.ws.CloseNow()
		f.gone()
	})
	t.Run("all", func(t *testing.T) {
		h := make(calls)
		f := serve(t, Limits{AllPending: 200_000}, h)
		c, other := f.dial(), f.dial()
		c.write(large(60_000))
		one := h.next(t)
		other.write(large(100_000))
		other.refused(429, contract.CodeServiceOverloaded, "")
		one.finish(t, nil)
		other.write(create(""))
		h.next(t).finish(t, nil)
		_ = c.ws.CloseNow()
		_ = other.ws.CloseNow()
		<-f.ended
		f.gone()
	})
}

// TestFrames: what is no request is answered or ignored, and the connection goes on.
func TestFrames(t *testing.T) {
	f := serve(t, Limits{}, echo{})
	c := f.dial()
	for frame, want := range map[string]string{
		`{"type":`: "invalid_json", `[]`: "invalid_json", `3`: "invalid_json", `{}`: "invalid_type",
		`{"type":3}`: "invalid_type",
		`{"type":"response.create","stream_id":""}`:                                  codeInvalidStream,
		`{"type":"response.create","stream_id":"a b"}`:                               codeInvalidStream,
		`{"type":"response.create","stream_id":7}`:                                   codeInvalidStream,
		`{"type":"response.create","stream_id":"` + strings.Repeat("a", 257) + `"}`:  codeInvalidStream,
		`{"type":"response.create","stream_id":"` + strings.Repeat("a", 5000) + `"}`: codeInvalidStream,
		"{\"type\":\"response.create\",\"input\":\"\xff\"}":                          "invalid_json",
		strings.Repeat("[", 1000):                                                    "invalid_json",
	} {
		c.write(frame)
		c.refused(400, want, "")
	}
	c.write(`{"type":"response.processed","response_id":"resp_1"}`, `{"type":"response.cancel"}`, `{"type":"x"}`)
	c.write(`{"type":"response.steer","stream_id":"a","previous_response_id":"resp_\"1","input":"x"}`)
	if r := c.read(); r.Type != "response.steer.failed" || r.Error.Code != codeNoSteering || r.StreamID != "a" ||
		!strings.Contains(r.text, `"previous_response_id":"resp_\"1"`) {
		t.Errorf("got %s", r.text)
	}
	for _, lane := range []string{"", strings.Repeat("a", 256), "A.z_0-9"} {
		c.write(create(lane))
		if r := c.read(); r.Type != "echo" || r.Lane != lane || r.StreamID != lane {
			t.Errorf("got %s", r.text)
		}
	}
	c.write(` {"type":"response.create","stream_id":null}`)
	if r := c.read(); r.Type != "echo" || r.Lane != "" {
		t.Errorf("got %s", r.text)
	}
}

// TestSizes: a frame has as many bytes as it may have, and a frame that is larger ends the connection.
func TestSizes(t *testing.T) {
	f := serve(t, Limits{Frame: 100_000}, echo{})
	c := f.dial()
	for _, size := range []int{4096, 4097, 8192, 65536, 99_999, 100_000} {
		frame := create("")
		frame += strings.Repeat(" ", size-len(frame))
		c.write(frame)
		if r := c.read(); r.Frame != size {
			t.Errorf("got %s, want %d", r.text, size)
		}
	}
	c.write(create("") + strings.Repeat(" ", 100_000))
	c.closed(websocket.StatusMessageTooBig)
	f.gone()
}

// TestLargeEvents: an event larger than a fragment arrives as one message.
func TestLargeEvents(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{}, h)
	c := f.dial()
	c.write(create("a"))
	one := h.next(t)
	for _, size := range []int{fragment - 1, fragment, fragment + 1, 5*fragment + 7} {
		want := `{"type":"` + strings.Repeat("x", size) + `"}`
		done := make(chan error, 1)
		go func() { done <- one.send([]byte(want)) }()
		if r := c.read(); len(r.Type) != size || r.StreamID != "a" {
			t.Errorf("%d bytes: got %d", size, len(r.Type))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestMisuse: what no client may do ends the connection, with the code that says why.
func TestMisuse(t *testing.T) {
	t.Run("binary", func(t *testing.T) {
		f := serve(t, Limits{}, echo{})
		c := f.dial()
		if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(create(""))); err != nil {
			t.Fatal(err)
		}
		c.closed(websocket.StatusUnsupportedData)
		f.gone()
	})
	t.Run("flood", func(t *testing.T) {
		f := serve(t, Limits{IdleFrames: 5}, echo{})
		c := f.dial()
		for range 3 {
			c.write(`{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, create(""))
			c.read()
		}
		c.write(`{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`, `{"type":"x"}`)
		c.closed(websocket.StatusPolicyViolation)
		f.gone()
	})
	t.Run("a frame that never ends", func(t *testing.T) {
		f := serve(t, Limits{FrameTime: 50 * time.Millisecond}, echo{})
		conn := f.raw()
		if _, err := conn.Write(maskedFrame(create(""))[:20]); err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if _, err := io.ReadFull(conn, got[:]); err != nil || got[0] != 0x88 || got[2] != 1008>>8 || got[3] != 1008&0xff {
			t.Errorf("%v %x, want a close frame with 1008", err, got)
		}
		_ = conn.Close()
		f.gone()
	})
	t.Run("a frame without end", func(t *testing.T) {
		f := serve(t, Limits{Frame: 1000, CloseTime: 50 * time.Millisecond}, echo{})
		conn := f.raw()
		frame := append([]byte{0x81, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, strings.Repeat("x", 2000)...)
		if _, err := conn.Write(frame); err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if _, err := io.ReadFull(conn, got[:]); err != nil || got[0] != 0x88 || got[2] != 1009>>8 || got[3] != 1009&0xff {
			t.Errorf("%v %x, want a close frame with 1009", err, got)
		}
		f.gone() // although the client has not left
	})
}

// TestGone: what a client has asked for is cancelled when the client is not there any more.
func TestGone(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"half-closed": func(c *net.TCPConn) error { return c.CloseWrite() },
		"closed":      func(c *net.TCPConn) error { return c.Close() },
		"no pong":     func(*net.TCPConn) error { return nil },
		"no WebSocket": func(c *net.TCPConn) error {
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := Limits{}
			if name == "no pong" {
				l.Ping = 20 * time.Millisecond
			}
			h := make(calls)
			f := serve(t, l, h)
			conn := f.raw()
			if _, err := conn.Write(maskedFrame(create(""))); err != nil {
				t.Fatal(err)
			}
			one := h.next(t)
			if err := leave(conn); err != nil {
				t.Fatal(err)
			}
			select {
			case <-one.ctx.Done():
			case <-time.After(patience):
				t.Fatal("the response goes on")
			}
			f.gone()
		})
	}
}

// TestSlowReader: a client that does not read what it gets is given up, and its response ends.
func TestSlowReader(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{WriteTime: 100 * time.Millisecond}, h)
	conn := f.raw()
	if _, err := conn.Write(maskedFrame(create(""))); err != nil {
		t.Fatal(err)
	}
	one := h.next(t)
	event := []byte(`{"type":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 1000 {
		if err := one.send(event); err != nil {
			f.gone()
			return
		}
	}
	t.Error("1 GB were sent to nobody")
}

// TestTimes: a connection that is idle or old is closed, the old one when its responses have been made.
func TestTimes(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		f := serve(t, Limits{Idle: 20 * time.Millisecond}, echo{})
		f.dial().closed(websocket.StatusGoingAway)
		f.gone()
	})
	t.Run("lifetime", func(t *testing.T) {
		h := make(calls)
		f := serve(t, Limits{Lifetime: 20 * time.Millisecond}, h)
		c := f.dial()
		c.write(create("a"))
		one := h.next(t)
		for { // until it is too old
			c.write(create("b"))
			c2 := make(chan received, 1)
			go func() { c2 <- c.read() }()
			select {
			case two := <-h:
				two.finish(t, badRequest("still_taken", "", "m"))
				<-c2
				continue
			case r := <-c2:
				if r.Error.Code != codeConnectionLimit || r.StreamID != "b" || r.Status != 400 {
					t.Errorf("got %s", r.text)
				}
			}
			break
		}
		if err := one.send([]byte(`{"type":"still here"}`)); err != nil {
			t.Error(err)
		}
		if r := c.read(); r.Type != "still here" {
			t.Errorf("got %s", r.text)
		}
		one.finish(t, nil)
		c.refused(400, codeConnectionLimit, "")
		c.closed(websocket.StatusGoingAway)
		f.gone()
	})
	t.Run("grace", func(t *testing.T) {
		h := make(calls)
		f := serve(t, Limits{Lifetime: 20 * time.Millisecond, Grace: 20 * time.Millisecond}, h)
		c := f.dial()
		c.write(create("a"))
		one := h.next(t)
		c.refused(400, codeConnectionLimit, "")
		c.closed(websocket.StatusGoingAway)
		<-one.ctx.Done()
		f.gone()
	})
}

// TestDrain: a server that is stopped makes what was asked for, and takes nothing else.
func TestDrain(t *testing.T) {
	h := make(calls)
	f := serve(t, Limits{}, h)
	quiet, c := f.dial(), f.dial()
	c.write(create("a"), create("a"))
	one := h.next(t)
	c.write(create("b"))
	h.next(t).finish(t, badRequest("frames_before_have_come", "", "m"))
	c.read()
	drained := f.server.Drain()
	quiet.closed(websocket.StatusServiceRestart)
	for { // until the connection knows
		c.write(create("b"))
		done := make(chan received, 1)
		go func() { done <- c.read() }()
		select {
		case two := <-h:
			two.finish(t, badRequest("still_taken", "", "m"))
			<-done
			continue
		case r := <-done:
			if r.Status != 503 || r.Error.Code != "server_unavailable" {
				t.Errorf("got %s", r.text)
			}
		}
		break
	}
	if _, response, err := websocket.Dial(t.Context(), f.url, nil); err == nil || response.StatusCode != 503 {
		t.Errorf("another connection: %v", err)
	}
	one.finish(t, nil)
	two := h.next(t)
	select {
	case <-drained:
		t.Error("drained while a response is made")
	default:
	}
	two.finish(t, nil)
	c.closed(websocket.StatusServiceRestart)
	select {
	case <-drained:
	case <-time.After(patience):
		t.Error("not drained")
	}
}

// TestConnections: a replica has so many connections, and refuses others with an error of the API's.
func TestConnections(t *testing.T) {
	f := serve(t, Limits{Connections: 2}, echo{})
	one := f.dial()
	f.dial()
	_, response, err := websocket.Dial(t.Context(), f.url, nil)
	if err == nil || response.StatusCode != 429 {
		t.Fatalf("%v", err)
	}
	_ = one.ws.CloseNow()
	f.gone()
	f.dial()
	for request, status := range map[string]int{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n": 426,
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\n\r\n": 400,
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n": 400,
	} {
		f := serve(t, Limits{}, echo{})
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err == nil {
			_, err = io.WriteString(conn, request)
		}
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != status {
			t.Fatalf("%q: %v %v", request, response, err)
		}
		var body struct{ Error received }
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil || body.Error.Type != "invalid_request_error" {
			t.Errorf("%q: %v %+v", request, err, body)
		}
		_ = conn.Close()
	}
}

// TestFault: a fault of a handler costs its own connection only.
func TestFault(t *testing.T) {
	f := serve(t, Limits{}, faulty{})
	c, other := f.dial(), f.dial()
	c.write(create("bad"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := c.ws.Read(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	f.gone()
	other.write(create("good"))
	if r := other.read(); r.Lane != "good" {
		t.Errorf("got %s", r.text)
	}
}

type faulty struct{ echo }

// Create implements [Handler].
func (f faulty) Create(ctx context.Context, lane string, frame []byte, send func([]byte) error) *openai.Error {
	if lane == "bad" {
		panic("a fault")
	}
	return f.echo.Create(ctx, lane, frame, send)
}

// TestManyRequests: thousands of requests are all answered or refused, and take no more than the limits.
func TestManyRequests(t *testing.T) {
	const n = 5000
	f := serve(t, Limits{IdleFrames: n}, echo{})
	c := f.dial()
	var sent sync.WaitGroup
	sent.Go(func() {
		for i := range n {
			c.write(create(fmt.Sprintf("lane%d", i%40)))
		}
	})
	answered, refused := 0, 0
	for range n {
		switch r := c.read(); r.Type {
		case "echo":
			answered++
		case "error":
			refused++
			if r.Error.Code != codeStreamLimit && r.Error.Code != codeQueueLimit {
				t.Fatalf("got %s", r.text)
			}
		}
	}
	sent.Wait()
	if answered < 32 || refused < n/40*8 {
		t.Errorf("%d were answered, %d refused", answered, refused)
	}
	_ = c.ws.CloseNow()
	f.gone()
}

// FuzzFrame: any frame is read or refused, and what is read can be written.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{create(""), create("a"), `{"type":"x","type":"y"}`, `{"stream_id":"a"}`,
		`{"type":"\u00e9"}`, ` {}`,
		`{"type":"response.steer","previous_response_id":"\ud83d\ude00"}`, `{"type":null,"stream_id":null}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, failure := parseFrame(data)
		if got.lane != "" && !validLane(got.lane) {
			t.Errorf("the lane is %q", got.lane)
		}
		frames := [][]byte{steerRefused(&got)}
		if failure != nil {
			frames = append(frames, errorFrame(failure, got.lane))
		} else {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(data, &object); err != nil {
				t.Errorf("%v: it was read", err)
			}
			frames = append(frames, onLane([]byte(`{"type":"x"}`), got.lane))
		}
		for _, frame := range frames {
			var r received
			if err := json.Unmarshal(frame, &r); err != nil || r.StreamID != got.lane {
				t.Errorf("%v: %s", err, frame)
			}
		}
	})
}

// TestSetLimits: a connection that is open has the new limits.
func TestSetLimits(t *testing.T) {
	f := serve(t, Limits{Frame: 1000}, echo{})
	c := f.dial()
	large := create("") + strings.Repeat(" ", 2000)
	f.server.SetLimits(Limits{Frame: 10_000})
	c.write(large)
	if r := c.read(); r.Frame != len(large) {
		t.Errorf("got %s", r.text)
	}
	f.server.SetLimits(Limits{Frame: 1000})
	c.write(large)
	c.closed(websocket.StatusMessageTooBig)
	f.gone()
}

// TestErrorFrameSaysWhen: a refusal for load says in its frame when to try again, as its header would.
func TestErrorFrameSaysWhen(t *testing.T) {
	const want = `{"type":"error","status":429,"headers":{"retry-after":"1"},"stream_id":"a","error":{"message":`
	if got := string(errorFrame(errOverloaded(), "a")); !strings.HasPrefix(got, want) {
		t.Errorf("the frame is %s", got)
	}
	if got := string(errorFrame(errQueueLimit(), "")); strings.Contains(got, "headers") {
		t.Errorf("the frame is %s", got)
	}
}
