//go:build e2e

package tools

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// listener is at every address of this machine. It counts who connects, and answers nobody.
type listener struct {
	port string
	n    atomic.Int64
}

func listen(t *testing.T) *listener {
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	counted := &listener{port: port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			counted.n.Add(1)
			_ = c.Close()
		}
	}()
	return counted
}

// TestForbidden asks for servers at addresses that no client may reach, by operators who allow nothing, every public
// name, and one name that is this machine's. Nothing connects.
func TestForbidden(t *testing.T) {
	l, server := listen(t), counter(t, "a")
	for _, allow := range []string{"[]", `["*"]`,
		`[localhost, "https://localhost:` + l.port + `", "http://localhost:` + l.port + `"]`,
		`["http://10.0.0.5:8001", 10.1.0.0/16]`} {
		t.Run(allow, func(t *testing.T) {
			g := start(t, "wazero", configuration{servers: []string{at("own", server.Streamable())},
				settings: []string{"allow: " + allow, "call_time: 5s"}, script: counting("a", 1)})
			for _, host := range []string{
				"127.0.0.1", "127.1", "127.0.0.2", "0.0.0.0", "0", "2130706433", "0x7f000001", "0x7f.1", "017700000001",
				"0177.0.0.1", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
				"[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]", "[fe80::1%25lo]",
				"localhost", "LOCALHOST", "localhost.", "ｌｏｃａｌｈｏｓｔ", "１２７.0.0.1", "127。0。0。1",
				"user@127.0.0.1", "example.com@127.0.0.1", `example.com\@127.0.0.1`, "127.0.0.1#@example.com",
				"169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "10.0.0.5", "192.168.0.1", "100.64.0.1",
				"[fe80::1]",
			} {
				for _, scheme := range []string{"http", "https"} {
					forbidden(t, g, fmt.Sprintf("%s://%s:%s/mcp", scheme, host, l.port))
				}
			}
			own := "127.0.0.1:" + l.port
			for _, url := range []string{
				"", "mcp", "//127.0.0.1/mcp", "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://" + own + "/", "unix:///run/x",
				"http:" + own, "http:///mcp", "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "HTTP://" + own, " http://" + own,
				"http://" + own + "\\u0000", "http://" + own + "\\r\\nX: y", "javascript:alert(1)", "data:text/plain,x",
				"http://" + strings.Repeat("a", 100_000),
			} {
				forbidden(t, g, url)
			}
			// Nor by other fields.
			for _, tool := range []string{
				mcp("a", `"server_url":"http://`+own+`"`, `"headers":{"Host":"127.0.0.1"}`),
				mcp("own", `"server_url":"http://`+own+`"`),
				mcp("a", `"command":["curl","http://`+own+`"]`), mcp("a", `"connector_id":"connector_gmail"`),
				mcp("a", `"tunnel_id":"tunnel_0123456789abcdef0123456789abcdef"`),
			} {
				a := lab.Ask(g.Client, g.URL+lab.ResponsesPath, g.Body(ask("Count.", tool)))
				if a.Err != nil || a.Status < 400 || a.Status >= 500 {
					t.Errorf("%s: %d %s %v", tool, a.Status, a.Body, a.Err)
				}
			}
			if n := len(lab.Completions(g.Sim)); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
	if n := l.n.Load(); n != 0 {
		t.Errorf("%d connections have come", n)
	}
}

// forbidden wants an error of a request that names a server.
func forbidden(t *testing.T, g *gateway, url string) {
	t.Helper()
	a := lab.Ask(g.Client, g.URL+lab.ResponsesPath, g.Body(`"input":"Count.","tools":[{"type":"mcp","server_label":"a",`+
		`"require_approval":"never","server_url":"`+strings.ReplaceAll(url, `\@`, `\\@`)+`"}]`))
	if a.Err != nil || a.Status != 400 && a.Status != 424 || a.ErrorCode() == "" {
		t.Errorf("%.200s: %d %s %v", url, a.Status, a.Body, a.Err)
	}
}

// TestAllowed reaches what the operator lets clients name.
func TestAllowed(t *testing.T) {
	server := counter(t, "a")
	g := start(t, "envoy", configuration{settings: []string{"allow: [" + origin(server) + "]"},
		script: counting("a", 1)})
	r, _ := g.Stream(ask("Count.", mcp("any", `"server_url":"`+server.Streamable()+`"`)))
	if r.Text() != "Counted." || len(r.Of("mcp_call")) != 1 || r.Of("mcp_call")[0].ServerLabel != "any" {
		t.Errorf("%+v", r)
	}
}
