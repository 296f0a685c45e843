package egress

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server. It answers each question for an A record with the next list of addresses, and at last with the
// last one.
type names struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(ours)
		return theirs, nil
	}}
}

func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var size uint16
		if binary.Read(c, binary.BigEndian, &size) != nil {
			return
		}
		question := make([]byte, size)
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer, err := n.answer(question)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (n *names) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		n.mu.Lock()
		list := n.answers[min(n.asked, len(n.answers)-1)]
		n.asked++
		n.mu.Unlock()
		for _, a := range list {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()}})
		}
	}
	return m.Pack()
}

// serveAt serves at an address of the loopback network, on a free port or on another server's.
func serveAt(t *testing.T, address string, h http.HandlerFunc) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func mustGuard(t *testing.T, allow ...string) *Guard {
	t.Helper()
	g, err := NewGuard(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRebinding: a name's addresses change after the check. The address that is dialled decides, each time.
func TestRebinding(t *testing.T) {
	var hits atomic.Int32
	port := serveAt(t, "127.0.0.2:0", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "allowed") })
	serveAt(t, "127.0.0.1:"+port, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	g := mustGuard(t, "http://tools.example:"+port, "127.0.0.2")
	g.resolver = (&names{answers: [][]string{{"127.0.0.2"}, {"127.0.0.1"}, {"127.0.0.1", "127.0.0.2"},
		{"127.0.0.1"}}}).resolver()
	u, err := g.Check("http://tools.example:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	for i, allowed := range []bool{true, false, true, false} {
		c := g.Client(Options{})
		response, err := c.Get(u.String())
		var b *BlockedError
		switch {
		case allowed && err != nil:
			t.Errorf("request %d: %v", i, err)
		case !allowed && !errors.As(err, &b):
			t.Errorf("request %d is not blocked (%v)", i, err)
		case !allowed && strings.Contains(b.Error(), "127.0.0.1"):
			t.Errorf("the error tells what an internal name resolves to: %v", b)
		}
		if err == nil {
			response.Body.Close()
		}
		c.CloseIdleConnections()
	}
	if hits.Load() > 0 {
		t.Error("a server that is not allowed has been asked")
	}
}

// Every target of the table is refused before a connection, though the URL has not been checked.
func TestClientDialsOnlyPublicAddresses(t *testing.T) {
	var hits atomic.Int32
	port := serveAt(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	c := mustGuard(t, "*", "http://*").Client(Options{Connect: 5 * time.Second})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		response, err := c.Get("http://" + host + ":" + port + "/")
		if err == nil {
			response.Body.Close()
			t.Errorf("%s was asked", host)
		}
		var b *BlockedError
		if !errors.As(err, &b) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if hits.Load() > 0 {
		t.Errorf("%d requests came", hits.Load())
	}
}

func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	if tr := mustGuard(t).Client(Options{}).Transport.(*transport).base; tr.Proxy != nil || tr.ForceAttemptHTTP2 {
		t.Errorf("the transport has a proxy, or HTTP/2: %+v", tr)
	}
}

func TestRedirects(t *testing.T) {
	var hits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(other.Close)
	var status int
	var target string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			hits.Add(1)
		}
		w.Header().Set("Location", target)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	c := mustGuard(t).Client(Options{Private: true})
	for _, status = range []int{300, 301, 302, 303, 305, 307, 308, 399} {
		for _, target = range []string{other.URL + "/secret", "/elsewhere", "//evil.example", ""} {
			r, _ := http.NewRequest(http.MethodPost, s.URL+"/", strings.NewReader("{}"))
			r.Header.Set("X-Api-Key", "secret")
			response, err := c.Do(r)
			if err == nil {
				response.Body.Close()
			}
			var redirect *RedirectError
			if !errors.As(err, &redirect) || redirect.Status != status {
				t.Errorf("%d to %q: %v", status, target, err)
			}
		}
	}
	if hits.Load() > 0 {
		t.Errorf("%d redirects were followed", hits.Load())
	}
}

func TestUserInfo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(s.Close)
	var b *BlockedError
	if _, err := mustGuard(t).Client(Options{Private: true}).Get(strings.Replace(s.URL, "//", "//user:secret@",
		1)); !errors.As(err, &b) {
		t.Error(err)
	}
}

// A compressed answer of a few KB can have a GB.
func TestCompressedAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted := r.Header.Get("Accept-Encoding"); accepted != "" {
			t.Errorf("the client accepts %q", accepted)
		}
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.URL.Path, "/"))
		z := gzip.NewWriter(w)
		defer z.Close()
		zeros := make([]byte, 1<<20)
		for range 8 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	c := mustGuard(t).Client(Options{Private: true})
	for _, encoding := range []string{"gzip", "br", "deflate", "zstd", "GZIP"} {
		response, err := c.Get(s.URL + "/" + encoding)
		if err == nil {
			response.Body.Close()
		}
		var e *EncodingError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

// raw is a server that writes what it likes. It reports how much it could write.
func raw(t *testing.T, f func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { l.Close() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				f(c)
			})
		}
	})
	return "http://" + l.Addr().String()
}

func TestEndlessHeaders(t *testing.T) {
	for name, head := range map[string]string{
		"many lines":   "X-A: " + strings.Repeat("a", 1000) + "\r\n",
		"one line":     strings.Repeat("a", 1000),
		"100 for ever": "",
	} {
		t.Run(name, func(t *testing.T) {
			const most = 32 << 20
			var written atomic.Int64
			url := raw(t, func(c net.Conn) {
				start := "HTTP/1.1 200 OK\r\n"
				if head == "" {
					start = ""
				}
				n, err := io.WriteString(c, start+strings.TrimSuffix(head, "\r\n"))
				for err == nil && written.Add(int64(n)) < most {
					line := head
					if head == "" {
						line = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
					}
					n, err = io.WriteString(c, line)
				}
			})
			response, err := mustGuard(t).Client(Options{Private: true}).Get(url)
			if err == nil {
				response.Body.Close()
				t.Error("the answer is taken")
			}
			if written.Load() >= most {
				t.Error("the headers were read to their end")
			}
		})
	}
}

// Each phase has a limit of its own. The servers wait until the client has gone.
func TestSlowServers(t *testing.T) {
	gone := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, c := range map[string]struct {
		options Options
		scheme  string
		serve   func(net.Conn)
	}{
		"no TLS handshake": {Options{TLS: 20 * time.Millisecond}, "https", gone},
		"no headers":       {Options{Header: 20 * time.Millisecond}, "http", gone},
		"headers byte by byte": {Options{Header: 20 * time.Millisecond}, "http", func(c net.Conn) {
			for _, err := c.Write([]byte("HTTP/1.1 200 OK\r\nX-A: ")); err == nil; _, err = c.Write([]byte("a")) {
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Private = true
			url := strings.Replace(raw(t, c.serve), "http", c.scheme, 1)
			response, err := mustGuard(t).Client(c.options).Get(url)
			if err == nil {
				response.Body.Close()
				t.Error("the answer is taken")
			}
		})
	}
}
