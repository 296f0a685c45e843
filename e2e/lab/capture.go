//go:build e2e

package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Message is one HTTP message as it stood on the wire: the start line (HTTP/2: pseudo headers) and headers in
// their order and case, the body without its framing, the trailers.
type Message struct {
	Head     []string
	Body     []byte
	Trailers []string
}

func (m Message) String() string {
	body := string(m.Body)
	if len(body) > 4096 {
		body = fmt.Sprintf("%q… (%d bytes)", body[:64], len(body))
	}
	return strings.Join(m.Head, "\n") + "\n\n" + body + "\n\n" + strings.Join(m.Trailers, "\n")
}

// target is the request's path, whichever protocol it came by.
func (m Message) target() string {
	for _, line := range m.Head {
		if path, ok := strings.CutPrefix(line, ":path: "); ok {
			return path
		}
	}
	if parts := strings.Fields(m.Head[0]); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// Capture is a server that writes down what it gets and answers as the query asks:
//
//	answer=chunked  (default) 207 with odd headers and a body in chunks; over HTTP/2 also with trailers
//	answer=length   200 with a content-length
//	answer=empty    204
//	answer=error    429 with a retry-after and a JSON error
//	answer=events   200 with events
type Capture struct {
	Address string
	mu      sync.Mutex
	seen    []Message
	conns   []net.Conn
}

// RunCapture runs a [Capture].
func RunCapture(t *testing.T) *Capture {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Capture{Address: l.Addr().String()}
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, conn := range c.conns {
			_ = conn.Close()
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			go c.serve(conn)
		}
	}()
	return c
}

// Take returns what was written down since the last take.
func (c *Capture) Take() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.seen
	c.seen = nil
	return out
}

func (c *Capture) record(m Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, m)
}

func (c *Capture) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	if start, err := r.Peek(3); err != nil {
		return
	} else if string(start) == "PRI" {
		c.serve2(conn, r)
		return
	}
	for {
		m, err := readWire(r, "")
		if err != nil {
			return
		}
		c.record(m)
		if _, err := conn.Write([]byte(captureAnswer(m))); err != nil {
			return
		}
	}
}

// CaptureParts returns the answer's parts in both protocols.
func CaptureParts(m Message) (status string, head []string, body string) {
	_, query, _ := strings.Cut(m.target(), "?")
	switch {
	case strings.Contains(query, "answer=length"):
		return "200", []string{"Content-Type: text/plain", "X-ODD-case: Mixed Value"}, "a body with a length"
	case strings.Contains(query, "answer=empty"):
		return "204", []string{"x-nothing: here"}, ""
	case strings.Contains(query, "answer=error"):
		return "429", []string{"retry-after: 7", "content-type: application/json"}, `{"error":"not yours to change"}`
	case strings.Contains(query, "answer=events"):
		return "200", []string{"content-type: text/event-stream"},
			"data: {\"choices\":[{\"token_ids\":[1,2]}]}\n\ndata: [DONE]\n\n"
	}
	return "207", []string{"content-type: application/x-odd; q=1", "set-cookie: a=1", "set-cookie: b=2", "x-empty:",
			"X-Harmony-Internal-Pool: from the server"},
		"first piece,second piece,\x00\xff last"
}

func captureAnswer(m Message) string {
	status, head, body := CaptureParts(m)
	out := "HTTP/1.1 " + status + " Odd Reason\r\n" + strings.Join(head, "\r\n") + "\r\n"
	isHead := strings.HasPrefix(m.Head[0], "HEAD ")
	switch {
	case status == "204":
		return out + "\r\n"
	case status == "207" && !isHead:
		first, rest := body[:12], body[12:]
		return out + fmt.Sprintf("transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", len(first), first,
			len(rest), rest)
	case isHead:
		return out + "content-length: 12345\r\n\r\n"
	}
	return out + "content-length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// serve2 speaks just enough HTTP/2 to see the order of headers, which net/http hides.
func (c *Capture) serve2(conn net.Conn, r *bufio.Reader) {
	if _, err := io.CopyN(io.Discard, r, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, r)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 8 << 20})
	open := map[uint32]*Message{}
	var packed bytes.Buffer
	encoder := hpack.NewEncoder(&packed)
	block := func(lines ...string) []byte {
		packed.Reset()
		for _, line := range lines {
			at := strings.Index(line[1:], ":") + 1
			_ = encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(line[:at]), Value: strings.TrimSpace(line[at+1:])})
		}
		return packed.Bytes()
	}
	finish := func(id uint32) {
		m := open[id]
		delete(open, id)
		c.record(*m)
		status, head, body := CaptureParts(*m)
		_ = f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: block(append([]string{":status: " + status}, head...)...), EndHeaders: true})
		_ = f.WriteData(id, false, []byte(body))
		_ = f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: block("x-checksum: 17", "grpc-status: 0"), EndHeaders: true, EndStream: true})
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			_ = f.WritePing(true, frame.Data)
		case *http2.MetaHeadersFrame:
			var lines []string
			for _, field := range frame.Fields {
				lines = append(lines, field.Name+": "+field.Value)
			}
			if m := open[frame.StreamID]; m != nil {
				m.Trailers = lines
			} else {
				open[frame.StreamID] = &Message{Head: lines}
			}
			if frame.StreamEnded() {
				finish(frame.StreamID)
			}
		case *http2.DataFrame:
			m := open[frame.StreamID]
			if m == nil {
				continue
			}
			m.Body = append(m.Body, frame.Data()...)
			if n := uint32(len(frame.Data())); n > 0 {
				_ = f.WriteWindowUpdate(0, n)
			}
			if frame.StreamEnded() {
				finish(frame.StreamID)
			}
		}
	}
}

// readWire reads one HTTP/1.1 message. method is the request's, where a response is read.
func readWire(r *bufio.Reader, method string) (Message, error) {
	var m Message
	length, chunked := int64(0), false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		m.Head = append(m.Head, line)
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.ParseInt(value, 10, 64)
		case "transfer-encoding":
			chunked = strings.EqualFold(value, "chunked")
		}
	}
	if method == http.MethodHead {
		return m, nil
	}
	var err error
	if !chunked {
		m.Body = make([]byte, length)
		_, err = io.ReadFull(r, m.Body)
		return m, err
	}
	if m.Body, err = io.ReadAll(httputil.NewChunkedReader(r)); err != nil {
		return m, err
	}
	for {
		line, err := textproto.NewReader(r).ReadLine()
		if err != nil || line == "" {
			return m, err
		}
		m.Trailers = append(m.Trailers, line)
	}
}

// SendRaw sends these bytes over a new connection and reads the answer. With an Expect header, the body is sent only
// after an interim answer.
func SendRaw(t *testing.T, url, request string) Message {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(Patience))
	r := bufio.NewReader(conn)
	method, _, _ := strings.Cut(request, " ")
	var interim []string
	if head, body, ok := strings.Cut(request, "\r\n\r\n"); ok && strings.Contains(strings.ToLower(head), "\nexpect:") {
		if _, err := io.WriteString(conn, head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		m, err := readWire(r, method)
		if err != nil {
			t.Fatal(err)
		}
		interim, request = m.Head, body
	}
	// A server may answer, and close, before it has read everything.
	go func() { _, _ = io.WriteString(conn, request) }()
	m, err := readWire(r, method)
	if err != nil {
		t.Fatalf("answer to %.60q: %v (so far %s)", request, err, m)
	}
	m.Head = append(interim, m.Head...)
	return m
}
