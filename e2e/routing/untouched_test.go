//go:build e2e

package routing

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// byNature are headers whose values differ between any two requests: Envoy makes up a request id for each, and stamps
// the answer with the time where the server has not. They must be there on both sides or on neither.
var byNature = regexp.MustCompile(`(?m)^(x-request-id|date): .*$`)

func steady(m lab.Message) string {
	return byNature.ReplaceAllString(m.String(), "$1: …")
}

// pair is the same Envoy twice, with the filter and without it, before one capture server.
type pair struct {
	server        *lab.Capture
	with, without *hosts.Host
}

func newPair(t *testing.T, changes ...lab.Change) *pair {
	p := &pair{server: lab.RunCapture(t)}
	gpu, url := lab.RunSim(t, sim.Options{})
	configure := func() *config.Config {
		c := lab.OneModel(url)
		c.BodyLimit = 8 << 20
		c.Passthrough, c.PassthroughPaths = "http://"+p.server.Address, []string{"/"}
		return c
	}
	p.with = lab.RunEnvoy(t, configure(), changes...)
	p.without = lab.RunEnvoy(t, configure(), append(changes, lab.WithoutFilter)...)
	// Both are what they are said to be: the one translates, the other would hand Chat JSON to the passthrough server.
	ours := `{"model":"` + lab.Model + `","messages":[{"role":"user","content":"Hi"}]}`
	if a := lab.Ask(lab.HTTP1(t), p.with.URL+"/v1/chat/completions", ours); a.Status != 200 || len(p.server.Take()) != 0 ||
		len(gpu.Requests()) != 1 {
		t.Fatalf("the filter is not at work: %+v", a)
	}
	if a := lab.Ask(lab.HTTP1(t), p.without.URL+"/v1/chat/completions", ours); a.Status != 207 ||
		len(p.server.Take()) != 1 ||
		len(gpu.Requests()) != 1 {
		t.Fatalf("the filter has not been taken out: %+v", a)
	}
	return p
}

// same sends by both and compares what the server got and what the client got.
func (p *pair) same(t *testing.T, send func(url string) string) {
	t.Helper()
	p.server.Take()
	gotClient := byNature.ReplaceAllString(send(p.with.URL), "$1: …")
	gotServer := p.server.Take()
	wantClient := byNature.ReplaceAllString(send(p.without.URL), "$1: …")
	wantServer := p.server.Take()
	if len(wantServer) != 1 || len(gotServer) != 1 {
		t.Fatalf("the server got %d requests by way of the filter, %d without it; the client sees\n%s\nwithout:\n%s",
			len(gotServer), len(wantServer), gotClient, wantClient)
	}
	if got, want := steady(gotServer[0]), steady(wantServer[0]); got != want {
		t.Errorf("the server gets\n%s\nwithout the filter\n%s", got, want)
	}
	if string(gotServer[0].Body) != string(wantServer[0].Body) {
		t.Error("the body is not the same")
	}
	if gotClient != wantClient {
		t.Errorf("the client gets\n%s\nwithout the filter\n%s", gotClient, wantClient)
	}
}

// TestUntouched: a request that is not ours reaches its server as through the same Envoy without the filter, and so
// does the answer its client (RATIONALE.md#78).
func TestUntouched(t *testing.T) {
	p := newPair(t)
	chat := `{"model":"someone-else","messages":[{"role":"user","content":"<|start|> ü"}], "n" : 1.0,` +
		`"unknown":{"a":[1e400]}}`
	odd := func(path, body string, headers ...string) string {
		head := "POST " + path + " HTTP/1.1\r\nHost: Api.Example.COM\r\nX-ODD-Case: Some Value\r\naCCept: */*\r\nx-b: " +
			"2\r\nX-A: 1\r\nx-b: 3\r\n"
		return head + strings.Join(append(headers, "Authorization: Bearer secret", ""), "\r\n") + "\r\n" + body
	}
	length := func(body string) string { return fmt.Sprintf("Content-Length: %d", len(body)) }
	chunked := func(body string) string {
		var out strings.Builder
		for len(body) > 0 {
			n := min(7, len(body))
			fmt.Fprintf(&out, "%x;ext=1\r\n%s\r\n", n, body[:n])
			body = body[n:]
		}
		return out.String() + "0\r\n\r\n"
	}
	big := strings.Repeat("0123456789abcdef", 3<<20/16)
	requests := map[string]string{
		"chat":      odd("/v1/chat/completions", chat, "Content-Type: application/json", length(chat)),
		"responses": odd("/v1/responses", chat, "Content-Type: application/json", length(chat)),
		"chat with a query": odd(
			"/v1/chat/completions?api-version=1&x=%2F%20y&answer=length", chat, "Content-Type: application/json", length(chat)),
		"chat answered by an error":     odd("/v1/chat/completions?answer=error", chat, length(chat)),
		"chat answered by events":       odd("/v1/chat/completions?answer=events", chat, length(chat)),
		"responses answered by nothing": odd("/v1/responses?answer=empty", chat, length(chat)),
		"chat in chunks": odd(
			"/v1/chat/completions", chunked(chat), "Content-Type: Application/JSON", "Transfer-Encoding: Chunked"),
		"responses in chunks":     odd("/v1/responses", chunked(chat), "transfer-encoding: chunked"),
		"chat that waits for 100": odd("/v1/chat/completions", chat, length(chat), "Expect: 100-continue"),
		"chat of 3 MiB": odd(
			"/v1/chat/completions", `{"model":"other","x":"`+big+`"}`, length(`{"model":"other","x":""}`+big)),
		"raw prompt": odd(
			"/v1/completions", `{"model":"other","prompt":"x"}`, length(`{"model":"other","prompt":"x"}`)),
		"generate without a model": odd("/generate?answer=events", `{"text":"x"}`, length(`{"text":"x"}`)),
		"with a content-encoding": odd(
			"/v1/embeddings", "\x1f\x8bnot gzip", "Content-Encoding: gzip", "Content-Length: 10"),
		"with accept-encoding": odd(
			"/v1/chat/completions", chat, length(chat), "Accept-Encoding: gzip, br", "Accept: application/json"),
		"GET":                 "GET /anything?q=1 HTTP/1.1\r\nHost: a\r\nX-Odd: 1\r\n\r\n",
		"GET of chat":         "GET /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD":                "HEAD /v1/responses HTTP/1.1\r\nHost: a\r\n\r\n",
		"DELETE":              "DELETE /v1/responses/resp_1?answer=length HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT of 3 MiB":        "PUT /files/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3145728\r\n\r\n" + big,
		"POST without a body": "POST /v1/responses/resp_1/cancel HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"PUT in chunks with HTTP trailer": "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: " +
			"x-t\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			p.same(t, func(url string) string { return lab.SendRaw(t, url, request).String() })
		})
	}
}

// TestUntouchedHTTP2: the same with HTTP/2 on both sides, where trailers go both ways.
func TestUntouchedHTTP2(t *testing.T) {
	p := newPair(t, lab.HTTP2To(xds.PassthroughCluster))
	client := lab.HTTP2(t)
	send := func(path string, body io.Reader, trailer http.Header) func(string) string {
		return func(url string) string {
			if seeker, ok := body.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			}
			request, err := http.NewRequest(http.MethodPost, url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Trailer = trailer
			if trailer != nil {
				request.ContentLength = -1
			}
			request.Header.Set("content-type", "application/json")
			request.Host = "api.example.com"
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			data, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			// net/http keeps the order of values, not of names.
			lines := func(h http.Header) []string {
				var out []string
				for name, values := range h {
					for _, value := range values {
						out = append(out, strings.ToLower(name)+": "+value)
					}
				}
				slices.SortStableFunc(out, func(a, b string) int {
					return strings.Compare(a[:strings.Index(a, ":")], b[:strings.Index(b, ":")])
				})
				return out
			}
			return lab.Message{Head: append([]string{response.Status}, lines(response.Header)...), Body: data,
				Trailers: lines(response.Trailer)}.String()
		}
	}
	chat := `{"model":"someone-else","messages":[]}`
	trailer := http.Header{"X-Signature": {"abc", "def"}} // one name: net/http sends several in any order
	for name, do := range map[string]func(string) string{
		"chat":                    send("/v1/chat/completions", strings.NewReader(chat), nil),
		"chat with trailers":      send("/v1/chat/completions?x=1", strings.NewReader(chat), trailer),
		"responses with trailers": send("/v1/responses", strings.NewReader(chat), trailer),
		"other with trailers":     send("/anything", strings.NewReader("x"), trailer),
		"chat of 3 MiB": send("/v1/chat/completions",
			strings.NewReader(`{"model":"x","y":"`+strings.Repeat("a", 3<<20)+`"}`), nil),
		"answer with trailers": send("/v1/chat/completions?answer=events", strings.NewReader(chat), nil),
		"error with trailers":  send("/v1/responses?answer=error", strings.NewReader(chat), nil),
	} {
		t.Run(name, func(t *testing.T) { p.same(t, do) })
	}
}
