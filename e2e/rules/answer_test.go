//go:build e2e

package rules

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// answerer writes an answer in one of the protocols.
type answerer interface {
	head(status int, m *message, bodyless bool)
	data(text string, last bool)
	trailers(list [][2]string)
	end()
	abort(reset bool)
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

func (*h2Answer) end() {}

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
