//go:build e2e

package service

import (
	"bufio"
	"net/http"
	"strings"
)

// Reading is a stream that a client reads event by event.
type Reading struct {
	g     *Gateway
	lines *bufio.Scanner
	// Text is what has come, and ID the response's.
	Text strings.Builder
	ID   string
	// Leave closes the stream, as a client that hangs up.
	Leave func()
}

// longestLine is the size of the largest event, in bytes.
const longestLine = 64 << 20

// Open sends a request for a stream.
func (g *Gateway) Open(method, path, body string, headers ...string) *Reading {
	g.T.Helper()
	request, err := http.NewRequestWithContext(g.T.Context(), method, g.URL+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		g.T.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := g.Client.Do(request)
	if err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() { answer.Body.Close() })
	r := &Reading{g: g, lines: bufio.NewScanner(answer.Body), Leave: func() { answer.Body.Close() }}
	r.lines.Buffer(nil, longestLine)
	return r
}

// Until reads until a line has a text.
func (r *Reading) Until(text string) *Reading {
	r.g.T.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		r.Text.WriteString(line + "\n")
		if _, rest, found := strings.Cut(line, `"id":"resp_`); r.ID == "" && found {
			id, _, _ := strings.Cut(rest, `"`)
			r.ID = "resp_" + id
		}
		if strings.Contains(line, text) {
			r.lines.Scan() // the empty line
			r.Text.WriteString("\n")
			return r
		}
	}
	r.g.T.Fatalf("the stream ends before %s: %v\n%s", text, r.lines.Err(), r.Text.String())
	return nil
}

// End reads to the end and returns everything.
func (r *Reading) End() string {
	for r.lines.Scan() {
		r.Text.WriteString(r.lines.Text() + "\n")
	}
	return r.Text.String()
}

// LastNumber returns the sequence number of the last event.
func (r *Reading) LastNumber() int { return strings.Count(r.Text.String(), "\ndata: ") - 1 }
