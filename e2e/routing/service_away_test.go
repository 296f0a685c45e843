//go:build e2e

package routing

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestServiceIsNamed shows that an error about the responses service names it, and one about the inference servers names
// those: when nothing listens there, and when the connection ends without an answer.
func TestServiceIsNamed(t *testing.T) {
	lab.OnProxiesOfAll(t, func(t *testing.T, run lab.RunProxies) {
		_, url := lab.RunSim(t, sim.Options{})
		closed := closedAddress(t)
		cut := cuttingServer(t)
		const stored = `{"model":"` + lab.Model + `","input":"Hi","previous_response_id":"resp_1"}`
		tests := []struct{ name, server, service, code, message string }{
			{"nothing listens", url, closed, "server_unavailable", "The responses service cannot be reached"},
			{"it closes the connection", url, cut, "server_error", "The responses service closed the connection"},
			{"no inference server", closed, cut, "server_unavailable", "No inference server can be reached"},
		}
		var all []*config.Config
		for _, tt := range tests {
			c := lab.OneModel(tt.server)
			c.ResponsesService.URL = tt.service
			all = append(all, c)
		}
		for i, h := range run(t, all) {
			tt := tests[i]
			t.Run(tt.name, func(t *testing.T) {
				path, body := lab.ResponsesPath, stored
				if tt.server == closed {
					path, body = lab.ChatPath, lab.ChatBody(lab.Model, "Hi")
				}
				a := lab.Do(lab.HTTP1(t), http.MethodPost, h.URL+path, nil, strings.NewReader(body))
				lab.WantRefused(t, a, 503, tt.code)
				if !strings.Contains(a.Body, `"message":"`+tt.message) {
					t.Errorf("got %s", a.Body)
				}
			})
		}
	})
}

// closedAddress returns the URL of an address at which nothing listens.
func closedAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return "http://" + l.Addr().String()
}

// cuttingServer returns the URL of a server that reads the beginning of each request, and then closes the connection.
func cuttingServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1024))
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}
