package proxy

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// upgradeServer answers an upgrade with 101, and hands the connection over. At the path /no it answers 503.
func upgradeServer(t *testing.T) (address string, upgraded chan net.Conn) {
	t.Helper()
	upgraded = make(chan net.Conn, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" || r.Header.Get("Upgrade") != "WebSocket" || r.Header.Get("Connection") != "keep-alive, Upgrade" ||
			r.Header.Get("X-Forwarded-Host") != "client.example" || r.Host != "server.example" || r.ContentLength != 0 {
			http.Error(w, "no upgrade", http.StatusServiceUnavailable)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"+
				"X-Own: yes\r\n\r\nfirst")
		}
		if err != nil {
			t.Error(err)
			return
		}
		upgraded <- conn
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), upgraded
}

// upgradeProxy runs a proxy whose only route that allows the upgrade is /ws, and the paths below it.
func upgradeProxy(t *testing.T, server string, o Options) (*Proxy, string) {
	t.Helper()
	module, err := os.ReadFile("../testdata/greeter.wasm")
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 1
	o.Clusters = []Cluster{{Name: "servers", Endpoints: []Endpoint{{Address: server, Hostname: "server.example"}}}}
	o.Route = func(h *wasmhost.Headers) *wasmhost.Route {
		path := h.Get(":path")
		return &wasmhost.Route{Cluster: "servers", HostRewrite: true, ForwardHost: true,
			WebSocket: path == "/ws" || path == "/no", IdleTimeout: o.IdleTimeout}
	}
	p, err := New(module, o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		p.CutUpgraded()
		s.Close()
		p.Close()
	})
	return p, s.Listener.Addr().String()
}

// upgrade asks for an upgrade, and returns the answer and the connection.
func upgrade(t *testing.T, proxy, path, protocol string) (*http.Response, *bufio.Reader, *net.TCPConn) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: client.example\r\nConnection: keep-alive, Upgrade\r\n"+
		"Upgrade: "+protocol+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, &http.Request{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	return response, r, conn.(*net.TCPConn)
}

func read(t *testing.T, from io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

func ended(t *testing.T, from io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(from); err != nil && !strings.Contains(err.Error(), "reset") || len(rest) > 0 {
		t.Errorf("got %q, %v, want the end", rest, err)
	}
}

// TestUpgrade: both sides get what the other sends, until one of them ends.
func TestUpgrade(t *testing.T) {
	server, upgraded := upgradeServer(t)
	p, proxy := upgradeProxy(t, server, Options{})
	random := make([]byte, 3<<20) // more than may be under way
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for name, end := range map[string]func(client, server *net.TCPConn){
		"the client closes":      func(client, _ *net.TCPConn) { _ = client.Close() },
		"the client half-closes": func(client, _ *net.TCPConn) { _ = client.CloseWrite() },
		"the server closes":      func(_, server *net.TCPConn) { _ = server.Close() },
		"the server half-closes": func(_, server *net.TCPConn) { _ = server.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			response, from, client := upgrade(t, proxy, "/ws", "WebSocket")
			if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Upgrade") != "WebSocket" ||
				response.Header.Get("Connection") != "Upgrade" || response.Header.Get("X-Own") != "yes" {
				t.Fatalf("got %+v", response)
			}
			conn := (<-upgraded).(*net.TCPConn)
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			read(t, from, "first")
			for _, way := range []struct {
				to   io.Writer
				from io.Reader
			}{{client, conn}, {conn, from}} {
				sent := make(chan error, 1)
				go func() {
					_, err := way.to.Write(random)
					sent <- err
				}()
				got := make([]byte, len(random))
				if _, err := io.ReadFull(way.from, got); err != nil || !bytes.Equal(got, random) {
					t.Fatalf("%v, or another text", err)
				}
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
			}
			if p.Streams() != 1 {
				t.Errorf("%d streams", p.Streams())
			}
			end(client, conn)
			if strings.HasPrefix(name, "the client") {
				ended(t, conn)
			} else {
				ended(t, from)
			}
			_, _ = client.Close(), conn.Close()
			for p.Streams() > 0 {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// TestUpgradeRefused: a route without the upgrade refuses it, and a server's own refusal is passed on.
func TestUpgradeRefused(t *testing.T) {
	server, _ := upgradeServer(t)
	_, proxy := upgradeProxy(t, server, Options{})
	for _, tt := range []struct {
		path, protocol string
		status         int
	}{{"/other", "websocket", 403}, {"/ws", "other", 403}, {"/no", "websocket", 503}, {"/ws", "h2c", 503}} {
		response, from, _ := upgrade(t, proxy, tt.path, tt.protocol)
		body, err := io.ReadAll(response.Body)
		if response.StatusCode != tt.status || err != nil || tt.status == 503 && string(body) != "no upgrade\n" {
			t.Errorf("%+v: %d %q %v", tt, response.StatusCode, body, err)
		}
		if tt.protocol != "h2c" {
			ended(t, from)
		}
	}
}

// TestUpgradeEnds: a connection ends when nothing moves on it for too long, and when all are cut.
func TestUpgradeEnds(t *testing.T) {
	server, upgraded := upgradeServer(t)
	t.Run("idle", func(t *testing.T) {
		_, proxy := upgradeProxy(t, server, Options{IdleTimeout: 50 * time.Millisecond})
		_, from, _ := upgrade(t, proxy, "/ws", "WebSocket")
		conn := <-upgraded
		read(t, from, "first")
		ended(t, from)
		ended(t, conn)
	})
	t.Run("cut", func(t *testing.T) {
		p, proxy := upgradeProxy(t, server, Options{})
		_, from, _ := upgrade(t, proxy, "/ws", "WebSocket")
		conn := <-upgraded
		read(t, from, "first")
		p.CutUpgraded()
		ended(t, from)
		ended(t, conn)
	})
}

// TestUpgradeSlowReader: a side that does not read slows the other down, and the proxy keeps little of what comes.
func TestUpgradeSlowReader(t *testing.T) {
	server, upgraded := upgradeServer(t)
	_, proxy := upgradeProxy(t, server, Options{BufferLimit: 1 << 20})
	_, from, client := upgrade(t, proxy, "/ws", "WebSocket")
	conn := <-upgraded
	read(t, from, "first")
	for name, to := range map[string]net.Conn{"client": client, "server": conn} {
		_ = to.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := io.Copy(to, io.LimitReader(zeros{}, 1<<30))
		if err == nil || n > 100<<20 {
			t.Errorf("the %s has sent %d bytes that nobody reads: %v", name, n, err)
		}
	}
}

// zeros is a reader of zeros.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
