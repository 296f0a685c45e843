//go:build e2e

package rules

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
		if request.Header.Get("Upgrade") != "" && s.switched(conn, r, request) {
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

// switched answers a request for an upgrade, if the rule answers it 101. The next bytes on the connection are the
// request's body, and the parts of the rule's answer are sent as they are.
func (s *ruleServer) switched(conn net.Conn, r *bufio.Reader, request *http.Request) bool {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	_, id, _ := strings.Cut(request.Header.Get("x-probe-id"), "/")
	answer := at.rule.answer(id, request.Host)
	if answer.first != "101" {
		return false
	}
	at.serving.Add(1)
	defer at.serving.Done()
	v := &sideView{first: request.Method + " " + request.RequestURI, header: sorted(request.Header), end: "whole"}
	saw := at.arrived(id)
	at.board.post(id, "server-request")
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\n")
	for _, h := range answer.header {
		fmt.Fprintf(conn, "%s: %s\r\n", h[0], h[1])
	}
	fmt.Fprint(conn, "\r\n")
	go func() {
		for _, p := range answer.parts {
			if err := at.board.wait(id, p.after); err != nil {
				at.faults.add(fmt.Errorf("server: %w", err))
				return
			}
			if p.kind == "close" {
				_ = conn.Close()
				return
			}
			_, _ = io.WriteString(conn, p.text)
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if v.body = append(v.body, string(buffer[:n])); n > 0 {
			at.board.post(id, "server-body")
		}
		if err != nil {
			break
		}
	}
	saw(v.text("server"))
	at.board.post(id, "server-end")
	return true
}

func (s *ruleServer) serve(at *ruleRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
}

var hello = &message{first: "200", header: [][2]string{{"content-length", "5"}},
	parts: []part{{kind: "data", text: "hello"}}}

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
	saw := at.arrived(id)
	at.board.post(id, "server-request")
	defer func() {
		// A reset over HTTP/2 is a panic of the handler.
		fault := recover()
		saw(v.text("server"))
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

// Answer is what the rule says that the server answers.
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
