//go:build e2e

package routing

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// requestLine sends a request line as it is, and headers, over HTTP/1.1.
func requestLine(t *testing.T, h *hosts.Host, line, headers, body string) lab.Answer {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(lab.Patience))
	if body != "" {
		headers += fmt.Sprintf("content-type: application/json\r\ncontent-length: %d\r\n", len(body))
	}
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nhost: paths\r\n%s\r\n%s", line, headers, body); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(line, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return lab.Answer{Err: err}
	}
	return lab.ReadAnswer(response)
}

// TestPaths: no spelling of a path leads past the routes to a server for other models, nor a model's name past the
// filter.
func TestPaths(t *testing.T) { lab.OnProxies(t, paths) }

func paths(t *testing.T, run lab.RunProxy) {
	gpu, url := lab.RunSim(t, sim.Options{})
	through := lab.RunCapture(t)
	c := lab.OneModel(url)
	c.Passthrough = "http://" + through.Address
	check := func(t *testing.T, h *hosts.Host, ours bool) {
		prompt := `{"model":"gpt-oss-120b","prompt":"x"}`
		for _, path := range []string{
			"/v1/..%2fmetrics", "/v1/..%2Fmetrics", "/v1/%2e%2e%2fmetrics", "/v1/%2e%2e/metrics", "/v1/..%5cmetrics",
			`/v1/..\metrics`, "/v1/..;/metrics",
			"/v1/%252e%252e%252fmetrics", "/v1/..%252fmetrics", "/v1/models/..%2f..%2fmetrics", "/v1/completions%00",
			"/v1/a%00b", "/v1/%0ametrics",
			"/tokenize/..%2fmetrics", "/v1/.%2e/metrics", "/v1/%2e./%2e./metrics",
		} {
			for _, line := range []string{"GET ", "POST ", "DELETE "} {
				if a := requestLine(t, h, line+path, "", ""); a.Err != nil || a.Status != 400 && a.Status != 404 ||
					a.ErrorCode() == "" {
					t.Errorf("%s%s: %+v", line, path, a)
				}
			}
		}
		for _, path := range []string{
			"/v1/completions", "/v1/completions/", "/v1/completions/batch", "/v1/%63ompletions", "/v1/%2563ompletions",
			"/v1%2fcompletions", "/v1%252fcompletions", "/v1//completions",
			"//v1/completions", "/v1/./completions", "/v1/x/../completions", "/V1/Completions", "/v1/completions;x=1",
			"/v1/chat/completions/", "/v1/chat/completions/batch", "/v1/responses/",
		} {
			if a := requestLine(t, h, "POST "+path, "", prompt); a.Err != nil || a.Status != 400 && a.Status != 403 ||
				a.ErrorCode() == "" {
				t.Errorf("POST %s: %+v", path, a)
			}
		}
		for _, line := range []string{"CONNECT paths:80", "CONNECT /v1/completions", "PRI /v1/completions",
			"post /v1/completions", "PoSt /v1/completions"} {
			if a := requestLine(t, h, line, "", ""); a.Err != nil || a.Status < 400 || a.Status > 499 ||
				ours && a.Status != 404 && a.ErrorCode() == "" {
				t.Errorf("%s: %+v", line, a)
			}
		}
		if seen := through.Take(); len(seen)+len(gpu.Requests()) != 0 {
			t.Errorf("%d requests have reached a server: %s", len(seen), seen)
		}
		// A path that can be read in one way only goes where it should.
		for _, path := range []string{"/v1/embeddings", "/v1/files/a%20b", "/v1/completions/", "/v1/files/100%25"} {
			if a := requestLine(t, h, "POST "+path, "", `{"model":"other"}`); a.Status != 207 {
				t.Errorf("POST %s: %+v", path, a)
			}
		}
		for _, path := range []string{"/v1/models/gpt-oss-120b", "/v1/models/gpt%2Doss%2D120b"} {
			if a := requestLine(t, h, "GET "+path, "", ""); a.Status != 200 {
				t.Errorf("GET %s: %+v", path, a)
			}
		}
		through.Take()
	}
	h := run(t, c)
	t.Run("ours", func(t *testing.T) { check(t, h, true) })
	if a := requestLine(t, h, "GET /v1/models", "x_tenant: a\r\n", ""); a.Status != 400 ||
		a.ErrorCode() != "invalid_request" {
		t.Errorf("a header with an underscore: %+v", a)
	}
	// A user's own Envoy may resolve no paths: then the filter refuses them by itself.
	plain := run(t, c, func(t *testing.T, r *xds.Resources) {
		lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			m.NormalizePath, m.MergeSlashes = wrapperspb.Bool(false), false
			m.PathWithEscapedSlashesAction = hcmv3.HttpConnectionManager_KEEP_UNCHANGED
		})
	})
	t.Run("plain", func(t *testing.T) { check(t, plain, false) })
}
