//go:build e2e

package faults

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// fault is what becomes of an answer in the middle of which the server fails.
type fault struct {
	// spelling is the fault as sim knows it.
	spelling string
	// status and code answer a client that has nothing yet; 200 is a whole answer.
	status int
	code   string
	// stream is what a streaming client sees: the same error, "failed" inside the stream, or "reset". A Chat stream that
	// has failed is reset as well. Whole answers are not begun before they are complete, so their clients always get the
	// status.
	stream string
}

var faults = []fault{
	{"error-event:0", 500, "server_error", "error"},
	{"error-event:5", 500, "server_error", "failed"},
	{"no-finish:0", 502, "server_error", "error"},
	{"no-finish:5", 502, "server_error", "failed"},
	{"abort:0", 502, "server_error", "error"},
	{"abort:5", 502, "server_error", "failed"},
	{"garbage:0", 502, "server_error", "error"},
	{"garbage:5", 502, "server_error", "failed"},
	{"error-200-json", 500, "server_error", "error"},
	{"status:500", 500, "server_error", "error"},
	{"status:503:3", 429, "server_overloaded", "error"},
	{"close:0", 502, "server_error", "error"},
	{"close:5", 502, "server_error", "reset"},
	{"reset:0", 502, "server_error", "error"},
	{"stall:0", 504, "server_timeout", "error"},
	{"stall:5", 504, "server_timeout", "reset"},
	{"trailers", 200, "", ""},
	{"none", 200, "", ""},
}

// TestFaults: what each fault of a server is to a client, in every host and over each protocol on either side.
func TestFaults(t *testing.T) {
	server, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	configure := func() *config.Config {
		c := lab.OneModel(url)
		c.StallTimeout = config.Duration(lab.StallTimeout)
		return c
	}
	toHTTP2 := lab.HTTP2To(xds.PoolCluster(&config.Model{Name: lab.Model}))
	envoys := lab.RunEnvoyOfResources(t, configure(), lab.Resources(t, configure()),
		lab.Resources(t, configure(), toHTTP2))
	one, two := envoys[0], envoys[1]
	inOne, inTwo := lab.RunWazero(t, configure()), lab.RunWazero(t, configure(), toHTTP2)
	for _, host := range []struct {
		name, url, protocol string
		client              *http.Client
	}{
		{"native", lab.RunNative(t, configure()).URL, "h1", lab.HTTP1(t)},
		{"wazero, HTTP1 to HTTP1", inOne.URL, "h1", lab.HTTP1(t)},
		{"wazero, HTTP2 to HTTP1", inOne.URL, "h2", lab.HTTP2(t)},
		{"wazero, HTTP1 to HTTP2", inTwo.URL, "h1", lab.HTTP1(t)},
		{"wazero, HTTP2 to HTTP2", inTwo.URL, "h2", lab.HTTP2(t)},
		{"envoy, HTTP1 to HTTP1", one.URL, "h1", lab.HTTP1(t)},
		{"envoy, HTTP2 to HTTP1", one.URL, "h2", lab.HTTP2(t)},
		{"envoy, HTTP1 to HTTP2", two.URL, "h1", lab.HTTP1(t)},
		{"envoy, HTTP2 to HTTP2", two.URL, "h2", lab.HTTP2(t)},
	} {
		t.Run(host.name, func(t *testing.T) {
			type request struct {
				fault  fault
				name   string
				stream bool
				answer lab.Answer
				took   time.Duration
			}
			var requests []*request
			var all sync.WaitGroup
			for _, f := range faults {
				for _, path := range []string{lab.ChatPath, lab.ResponsesPath} {
					for _, stream := range []bool{true, false} {
						r := &request{fault: f, name: f.spelling + path, stream: stream}
						requests = append(requests, r)
						body := lab.ChatBody(lab.Model, "Hi")
						if path == lab.ResponsesPath {
							body = lab.ResponsesBody(lab.Model, "Hi")
						}
						if stream {
							r.name += " stream"
							body = `{"stream":true,` + body[1:]
						}
						header := http.Header{"X-Sim-Fault": {f.spelling}, "Content-Type": {"application/json"}}
						// All at once, because the stalled ones take a second each.
						all.Go(func() {
							began := time.Now()
							r.answer = lab.Do(host.client, http.MethodPost, host.url+path, header, strings.NewReader(body))
							r.took = time.Since(began)
						})
					}
				}
			}
			all.Wait()
			for _, r := range requests {
				t.Run(r.name, func(t *testing.T) {
					r.fault.check(t, r.answer, r.stream, strings.HasSuffix(r.name, lab.ChatPath+" stream"), host.protocol)
					if strings.HasPrefix(r.fault.spelling, "stall") && r.took < lab.StallTimeout {
						t.Errorf("given up after %s", r.took)
					}
				})
			}
		})
	}
	t.Run("nothing runs on", func(t *testing.T) {
		// The server must notice that it was given up: a GPU that generates for no client is the most expensive leak.
		ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
		defer cancel()
		list, err := server.Await(ctx, func(list []sim.Request) bool {
			for _, r := range list {
				if !r.Done {
					return false
				}
			}
			return true
		})
		if err != nil {
			t.Errorf("the server still works for clients that are gone: %v", err)
		}
		aborted := 0
		for _, r := range list {
			if r.Aborted {
				aborted++
			}
		}
		if want := 2 * 2 * 2 * 5; aborted < want {
			t.Errorf("%d requests were given up at the server, want the %d that stalled", aborted, want)
		}
	})
}

// failsAsItShould reports whether what a client has read of a stream tells of the failure: by an event, by a reset, or
// by both. A Chat stream is reset behind its error. If its server had ended it before, it is only reset.
func failsAsItShould(a lab.Answer, got lab.Reading, spelling string, chat bool, protocol string) bool {
	reset := lab.IsReset(a.Err, protocol)
	if chat {
		return reset && (got.Failure == "") == strings.HasPrefix(spelling, "no-finish")
	}
	// A server that goes on after its failure is cut off, once the client has the error.
	return got.Failure != "" && (a.Err == nil || reset && strings.HasPrefix(spelling, "garbage"))
}

func (f fault) check(t *testing.T, a lab.Answer, stream, chatStream bool, protocol string) {
	t.Helper()
	// Envoy answers 503 where an HTTP/2 server resets one stream, and 502 where an HTTP/1.1 connection ends.
	if cut := strings.HasPrefix(f.spelling, "close:") ||
		strings.HasPrefix(f.spelling, "reset:"); cut && a.Status == 503 &&
		strings.HasSuffix(t.Name()[:strings.LastIndex(t.Name(), f.spelling)], "to_HTTP2/") {
		f.status = 503
	}
	if f.status != 200 && (!stream || f.stream == "error") {
		lab.WantRefused(t, a, f.status, f.code)
		return
	}
	got := lab.Read(a.Body)
	switch {
	case a.Status != 200:
		t.Errorf("got %+v", a)
	case f.status == 200:
		if a.Err != nil || !got.Finished() || got.Text != "one two three four five six" {
			t.Errorf("got %v %+v", a.Err, got)
		}
	case f.stream == "failed":
		if !failsAsItShould(a, got, f.spelling, chatStream, protocol) || got.Text != "one two" {
			t.Errorf("got %v %+v", a.Err, got)
		}
	case f.stream == "reset":
		// Nothing more can be written, so the transport itself must be loud. Earlier bytes are there.
		if !lab.IsReset(a.Err, protocol) || got.Text != "one two" || got.Last {
			t.Errorf("got error %v (%T), %+v", a.Err, a.Err, got)
		}
	}
}

// TestResetMidStream: a TCP reset may overtake what was sent before it, so a client gets a typed error or a loud end,
// never an answer that looks complete.
func TestResetMidStream(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	envoy := lab.RunEnvoy(t, lab.OneModel(url)).URL
	for _, host := range []struct {
		url, protocol string
		client        *http.Client
	}{{lab.RunNative(t, lab.OneModel(url)).URL, "h1", lab.HTTP1(t)}, {envoy, "h1", lab.HTTP1(t)},
		{envoy, "h2", lab.HTTP2(t)}} {
		for range 10 {
			header := http.Header{"X-Sim-Fault": {"reset:5"}, "Content-Type": {"application/json"}}
			a := lab.Do(host.client, http.MethodPost, host.url+lab.ChatPath, header,
				strings.NewReader(`{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:]))
			if typed := a.Status == 502 && a.ErrorCode() == "server_error"; !typed && !lab.IsReset(a.Err, host.protocol) ||
				lab.Read(a.Body).Last && !typed {
				t.Errorf("got %+v", a)
			}
		}
	}
}

// TestServerDown has a server that does not listen, and one that does not answer.
func TestServerDown(t *testing.T) { lab.OnProxies(t, serverDown) }

func serverDown(t *testing.T, run lab.RunProxy) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() { // accepts, reads and says nothing
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }()
		}
	}()
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer rude.Close()
	go func() { // is no HTTP server at all
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Read(make([]byte, 1))
				_, _ = io.WriteString(conn, "220 smtp.example.com ESMTP\r\n")
				_ = conn.Close()
			}()
		}
	}()
	for _, tt := range []struct {
		name         string
		server       net.Listener
		status       int
		code, native string // the native host's transport is not Envoy's, so its words are less exact
	}{
		{"down", closed, 503, "server_unavailable", "server_unavailable"},
		{"silent", silent, 504, "server_timeout", "server_timeout"},
		{"no HTTP", rude, 502, "server_error", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := lab.OneModel("http://" + tt.server.Addr().String())
			c.StallTimeout = config.Duration(lab.StallTimeout)
			envoy, native := run(t, c).URL, lab.RunNative(t, c).URL
			for _, body := range []string{lab.ChatBody(lab.Model, "Hi"), `{"stream":true,` + lab.ChatBody(lab.Model, "Hi")[1:]} {
				lab.WantRefused(t, lab.Ask(lab.HTTP1(t), envoy+lab.ChatPath, body), tt.status, tt.code)
				lab.WantRefused(t, lab.Ask(lab.HTTP2(t), envoy+lab.ChatPath, body), tt.status, tt.code)
				if tt.native != "" {
					lab.WantRefused(t, lab.Ask(lab.HTTP1(t), native+lab.ChatPath, body), tt.status, tt.native)
				}
			}
		})
	}
}

// TestFailedStreamEnds shows that a client that has received a failure does not wait for a server that goes on, and
// that the server stops.
func TestFailedStreamEnds(t *testing.T) { lab.OnProxies(t, failedStreamEnds) }

func failedStreamEnds(t *testing.T, run lab.RunProxy) {
	server, url := lab.RunSim(t, sim.Options{AllowHeaders: true, TokensPerSecond: 2, Script: sim.NewScript(
		sim.Line{Match: "Hi", Tokens: lab.Tokens(
			"<|channel|>final<|message|>" + strings.Repeat("word ", 1000) + "<|return|>")})})
	envoy := run(t, lab.OneModel(url)).URL
	client := lab.HTTP1(t)
	client.Timeout = 30 * time.Second // the whole answer would take minutes
	for _, stream := range []string{"true", "false"} {
		for _, fault := range []string{"garbage:0", "garbage:4"} {
			t.Run(fault+" stream "+stream, func(t *testing.T) {
				header := http.Header{"X-Sim-Fault": {fault}, "Content-Type": {"application/json"}}
				a := lab.Do(client, http.MethodPost, envoy+lab.ChatPath, header,
					strings.NewReader(`{"stream":`+stream+`,`+lab.ChatBody(lab.Model, "Hi")[1:]))
				if fault == "garbage:4" && stream == "true" {
					if r := lab.Read(a.Body); a.Status != 200 || r.Failure == "" || !lab.IsReset(a.Err, "h1") {
						t.Errorf("got %+v", a)
					}
				} else {
					lab.WantRefused(t, a, 502, "server_error")
				}
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				if _, err := server.Await(ctx, func(list []sim.Request) bool { return list[len(list)-1].Done }); err != nil {
					t.Errorf("the server goes on for a client that was told of the failure: %v", err)
				}
			})
		}
	}
}
