package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ruleServer answers as the rule at work says.
type ruleServer struct {
	name string
	port int

	mu sync.Mutex
	at *ruleRun
}

// newRuleServer runs a server until the test ends.
func newRuleServer(t *testing.T, name string, h2 bool) *ruleServer {
	t.Helper()
	s := &ruleServer{name: name}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	if h2 {
		server := &http.Server{Handler: s, Protocols: new(http.Protocols)}
		server.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = server.Serve(listener) }() // ends with the listener
		t.Cleanup(func() { server.Close() })
		return s
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serveHTTP1(conn)
		}
	}()
	return s
}

// serveHTTP1 reads requests and writes answers by hand, so that each write is one of the rule's pieces.
func (s *ruleServer) serveHTTP1(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		out := &h1Answer{conn: conn, w: bufio.NewWriter(conn)}
		watched := make(chan struct{})
		s.exchange(ctx, request, out, func() {
			go func() {
				defer close(watched)
				if _, err := r.Peek(1); err != nil {
					cancel()
				}
			}()
		})
		if out.closed {
			cancel()
			return
		}
		<-watched // for the next request, or the connection's end
		cancel()
	}
}

func (s *ruleServer) serve(at *ruleRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
}

var hello = &message{first: "200", header: [][2]string{{"content-length", "5"}}, parts: []part{{kind: "data", text: "hello"}}}

// ServeHTTP implements http.Handler, for HTTP/2.
func (s *ruleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.exchange(r.Context(), r, &h2Answer{w: w}, func() {})
}

// exchange answers one request; read is called when it has been read.
func (s *ruleServer) exchange(ctx context.Context, r *http.Request, out answerer, read func()) {
	s.mu.Lock()
	at := s.at
	at.serving.Add(1)
	s.mu.Unlock()
	defer at.serving.Done()
	_, id, _ := strings.Cut(r.Header.Get("x-probe-id"), "/")
	v := &sideView{first: r.Method + " " + r.RequestURI, header: sorted(r.Header)}
	if s.name != "server" || r.Host != "rules" {
		v.first += " at " + s.name + " as " + r.Host
	}
	if len(r.TransferEncoding) > 0 {
		v.first += " " + r.TransferEncoding[0]
	}
	side := &serverSide{run: at, id: id, view: v, request: r, ctx: ctx, out: out, done: read}
	at.board.post(id, "server-request")
	defer func() {
		// A reset over HTTP/2 is a panic of the handler.
		fault := recover()
		at.saw(id, v.text("server"))
		at.board.post(id, "server-end")
		if fault != nil {
			panic(fault)
		}
	}()
	answer := at.rule.answer(id, r.Host)
	if !answer.early {
		side.read()
	}
	side.answer(answer)
}

// answer is what the rule says that the server answers.
func (r *rule) answer(id, host string) *message {
	names := []string{id, ""}
	if host == "callout" {
		names = []string{"callout"}
	}
	for _, name := range names {
		if m, ok := r.servers[name]; ok {
			return m
		}
	}
	return hello
}

// serverSide is one exchange as the server has it.
type serverSide struct {
	run     *ruleRun
	id      string
	view    *sideView
	request *http.Request
	ctx     context.Context
	out     answerer
	done    func() // is called when the request has been read
}

// answerer writes an answer in one of the protocols.
type answerer interface {
	head(status int, m *message, bodyless bool)
	data(text string, last bool)
	trailers(list [][2]string)
	end()
	abort(reset bool)
}

func (s *serverSide) read() {
	defer s.done()
	var body strings.Builder
	buffer := make([]byte, 64<<10)
	var err error
	for err == nil {
		var n int
		n, err = s.request.Body.Read(buffer)
		if body.Write(buffer[:n]); n > 0 {
			s.run.board.post(s.id, "server-body")
		}
	}
	s.view.body = []string{body.String()}
	s.view.trailers = sorted(s.request.Trailer)
	s.view.end = "whole"
	if !errors.Is(err, io.EOF) {
		s.view.end = "cut"
		s.run.board.post(s.id, "server-gone")
	}
}

func (s *serverSide) wait(event string) bool {
	if err := s.run.board.wait(s.id, event); err != nil {
		s.run.faults.add(fmt.Errorf("server: %w", err))
		return false
	}
	return true
}

func (s *serverSide) answer(m *message) {
	if !s.wait(m.after) {
		return
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	if m.early {
		reading.Go(s.read)
	}
	if status, err := strconv.Atoi(m.first); err == nil {
		s.out.head(status, m, s.request.Method == http.MethodHead || status == 204 || status == 304)
	}
	for i, p := range m.parts {
		if !s.wait(p.after) {
			return
		}
		switch p.kind {
		case "data":
			s.out.data(p.text, i == len(m.parts)-1)
		case "trailers":
			s.out.trailers(p.trailers)
			return
		case "reset", "close":
			s.out.abort(p.kind == "reset")
			return
		case "hang":
			<-s.ctx.Done()
			s.view.end += ", then gone"
			s.run.board.post(s.id, "server-gone")
			return
		}
	}
	s.out.end()
}

// h2Answer leaves the frames to net/http: every flush is one, and the end comes with the last data.
type h2Answer struct{ w http.ResponseWriter }

func (a *h2Answer) head(status int, m *message, _ bool) {
	for _, text := range m.informational {
		code, rest, _ := strings.Cut(text, " ")
		name, value, _ := strings.Cut(rest, ": ")
		a.w.Header().Set(name, value)
		n, _ := strconv.Atoi(code)
		a.w.WriteHeader(n)
		a.w.Header().Del(name)
	}
	a.w.Header()["Date"], a.w.Header()["Content-Type"] = nil, nil
	for _, h := range m.header {
		a.w.Header().Add(h[0], h[1])
	}
	a.w.WriteHeader(status)
	if len(m.parts) > 0 && (m.parts[0].kind != "data" || m.parts[0].after != "" || len(m.parts) > 1) {
		a.flush()
	}
}

func (a *h2Answer) flush() { _ = http.NewResponseController(a.w).Flush() }

func (a *h2Answer) data(text string, last bool) {
	_, _ = io.WriteString(a.w, text)
	if !last {
		a.flush()
	}
}

func (a *h2Answer) trailers(list [][2]string) {
	for _, h := range list {
		a.w.Header().Add(http.TrailerPrefix+h[0], h[1])
	}
}

func (*h2Answer) end()       {}
func (*h2Answer) abort(bool) { panic(http.ErrAbortHandler) }

// h1Answer writes HTTP/1.1 by hand: with a content-length as it stands in the rule, to the end of the connection if
// the rule closes it, in chunks otherwise.
type h1Answer struct {
	conn    net.Conn
	w       *bufio.Writer
	chunked bool
	closed  bool
}

func (a *h1Answer) head(status int, m *message, bodyless bool) {
	for _, text := range m.informational {
		code, rest, _ := strings.Cut(text, " ")
		fmt.Fprintf(a.w, "HTTP/1.1 %s Early\r\n%s\r\n\r\n", code, rest)
	}
	fmt.Fprintf(a.w, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	a.chunked = !bodyless
	for _, h := range m.header {
		fmt.Fprintf(a.w, "%s: %s\r\n", h[0], h[1])
		if h[0] == "content-length" || h[0] == "connection" {
			a.chunked = false
		}
	}
	if a.chunked {
		fmt.Fprint(a.w, "transfer-encoding: chunked\r\n")
	}
	fmt.Fprint(a.w, "\r\n")
	if len(m.parts) > 0 && (m.parts[0].kind != "data" || m.parts[0].after != "") {
		_ = a.w.Flush()
	}
}

func (a *h1Answer) data(text string, last bool) {
	if a.chunked && text != "" {
		fmt.Fprintf(a.w, "%x\r\n%s\r\n", len(text), text)
	} else if !a.chunked {
		fmt.Fprint(a.w, text)
	}
	if !last {
		_ = a.w.Flush()
	}
}

func (a *h1Answer) trailers(list [][2]string) {
	fmt.Fprint(a.w, "0\r\n")
	for _, h := range list {
		fmt.Fprintf(a.w, "%s: %s\r\n", h[0], h[1])
	}
	fmt.Fprint(a.w, "\r\n")
	_ = a.w.Flush()
}

func (a *h1Answer) end() {
	if a.chunked {
		fmt.Fprint(a.w, "0\r\n\r\n")
	}
	_ = a.w.Flush()
}

func (a *h1Answer) abort(reset bool) {
	_ = a.w.Flush()
	if tcp, ok := a.conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = a.conn.Close()
	a.closed = true
}
