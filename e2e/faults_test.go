//go:build e2e

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/sim"
)

// fault is what becomes of an answer in the middle of which the server fails.
type fault struct {
	// spelling is the fault as sim knows it.
	spelling string
	// status and code answer a client that has nothing yet; 200 is a whole answer.
	status int
	code   string
	// stream is what a streaming client sees: the same error, "failed" inside the stream, or "reset". Whole answers
	// are not begun before they are complete, so their clients always get the status.
	stream string
}

// stallTimeout is the shortest that a configuration may say.
const stallTimeout = time.Second

const said = "<|channel|>final<|message|>one two three four five six<|return|>"

var faults = []fault{
	{"error-event:0", 500, "server_error", "error"},
	{"error-event:5", 500, "server_error", "failed"},
	{"no-finish:0", 502, "server_error", "error"},
	{"no-finish:5", 502, "server_error", "failed"},
	{"garbage:0", 502, "server_error", "error"},
	{"garbage:5", 502, "server_error", "failed"},
	{"error-200-json", 500, "server_error", "error"},
	{"status:500", 500, "server_error", "error"},
	{"status:503:3", 503, "server_overloaded", "error"},
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
	server, url := runSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: spoken(said)})})
	configure := func() *config.Config {
		c := oneModel(url)
		c.StallTimeout = config.Duration(stallTimeout)
		return c
	}
	one := runEnvoy(t, configure())
	toHTTP2 := http2To(xds.PoolCluster(&config.Model{Name: caseModel}))
	two := runEnvoy(t, configure(), toHTTP2)
	inOne, inTwo := runWazero(t, configure()), runWazero(t, configure(), toHTTP2)
	for _, host := range []struct {
		name, url, protocol string
		client              *http.Client
	}{
		{"native", runNative(t, configure()).URL, "h1", http1(t)},
		{"wazero, HTTP1 to HTTP1", inOne.URL, "h1", http1(t)},
		{"wazero, HTTP2 to HTTP1", inOne.URL, "h2", http2Client(t)},
		{"wazero, HTTP1 to HTTP2", inTwo.URL, "h1", http1(t)},
		{"wazero, HTTP2 to HTTP2", inTwo.URL, "h2", http2Client(t)},
		{"envoy, HTTP1 to HTTP1", one.URL, "h1", http1(t)},
		{"envoy, HTTP2 to HTTP1", one.URL, "h2", http2Client(t)},
		{"envoy, HTTP1 to HTTP2", two.URL, "h1", http1(t)},
		{"envoy, HTTP2 to HTTP2", two.URL, "h2", http2Client(t)},
	} {
		t.Run(host.name, func(t *testing.T) {
			type request struct {
				fault  fault
				name   string
				stream bool
				answer answer
				took   time.Duration
			}
			var requests []*request
			var all sync.WaitGroup
			for _, f := range faults {
				for _, path := range []string{chatPath, responsesPath} {
					for _, stream := range []bool{true, false} {
						r := &request{fault: f, name: f.spelling + path, stream: stream}
						requests = append(requests, r)
						body := chatBody(caseModel, "Hi")
						if path == responsesPath {
							body = responsesBody(caseModel, "Hi")
						}
						if stream {
							r.name += " stream"
							body = `{"stream":true,` + body[1:]
						}
						header := http.Header{"X-Sim-Fault": {f.spelling}, "Content-Type": {"application/json"}}
						// All at once, because the stalled ones take a second each.
						all.Go(func() {
							began := time.Now()
							r.answer = do(host.client, http.MethodPost, host.url+path, header, strings.NewReader(body))
							r.took = time.Since(began)
						})
					}
				}
			}
			all.Wait()
			for _, r := range requests {
				t.Run(r.name, func(t *testing.T) {
					r.fault.check(t, r.answer, r.stream, host.protocol)
					if strings.HasPrefix(r.fault.spelling, "stall") && r.took < stallTimeout {
						t.Errorf("given up after %s", r.took)
					}
				})
			}
		})
	}
	t.Run("nothing runs on", func(t *testing.T) {
		// Whoever was given up must know it: a GPU that generates for nobody is the dearest leak of all.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
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

func (f fault) check(t *testing.T, a answer, stream bool, protocol string) {
	t.Helper()
	// Envoy answers 503 where an HTTP/2 server resets one stream, and 502 where an HTTP/1.1 connection ends.
	if cut := strings.HasPrefix(f.spelling, "close:") ||
		strings.HasPrefix(f.spelling, "reset:"); cut && a.status == 503 &&
		strings.HasSuffix(t.Name()[:strings.LastIndex(t.Name(), f.spelling)], "to_HTTP2/") {
		f.status = 503
	}
	if f.status != 200 && (!stream || f.stream == "error") {
		refused(t, a, f.status, f.code)
		return
	}
	got := read(a.body)
	switch {
	case a.status != 200:
		t.Errorf("got %+v", a)
	case f.status == 200:
		if a.err != nil || !got.finished() || got.text != "one two three four five six" {
			t.Errorf("got %v %+v", a.err, got)
		}
	case f.stream == "failed":
		// A server that goes on after its failure is cut off, once the client has been told.
		cutOff := f.spelling == "garbage:5" && isReset(a.err, protocol)
		if (a.err != nil && !cutOff) || got.failure == "" || got.text != "one two" {
			t.Errorf("got %v %+v", a.err, got)
		}
	case f.stream == "reset":
		// Nothing more can be written, so the transport itself must be loud. What came before is there.
		if !isReset(a.err, protocol) || got.text != "one two" || got.last {
			t.Errorf("got error %v (%T), %+v", a.err, a.err, got)
		}
	}
}

// TestResetMidStream: a TCP reset may overtake what was sent before it, so a client gets a typed error or a loud end,
// never an answer that looks complete.
func TestResetMidStream(t *testing.T) {
	_, url := runSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: spoken(said)})})
	envoy := runEnvoy(t, oneModel(url)).URL
	for _, host := range []struct {
		url, protocol string
		client        *http.Client
	}{{runNative(t, oneModel(url)).URL, "h1", http1(t)}, {envoy, "h1", http1(t)}, {envoy, "h2", http2Client(t)}} {
		for range 10 {
			header := http.Header{"X-Sim-Fault": {"reset:5"}, "Content-Type": {"application/json"}}
			a := do(host.client, http.MethodPost, host.url+chatPath, header,
				strings.NewReader(`{"stream":true,`+chatBody(caseModel, "Hi")[1:]))
			if typed := a.status == 502 && a.shaped() == "server_error"; !typed && !isReset(a.err, host.protocol) ||
				read(a.body).last && !typed {
				t.Errorf("got %+v", a)
			}
		}
	}
}

// TestServerDown: nobody listens, or nobody answers.
func TestServerDown(t *testing.T) { onProxies(t, serverDown) }

func serverDown(t *testing.T, run runProxy) {
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
		{"down", closed, 503, "server_unavailable", "server_overloaded"},
		{"silent", silent, 504, "server_timeout", "server_timeout"},
		{"no HTTP", rude, 502, "server_error", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := oneModel("http://" + tt.server.Addr().String())
			c.StallTimeout = config.Duration(stallTimeout)
			envoy, native := run(t, c).URL, runNative(t, c).URL
			for _, body := range []string{chatBody(caseModel, "Hi"), `{"stream":true,` + chatBody(caseModel, "Hi")[1:]} {
				refused(t, ask(http1(t), envoy+chatPath, body), tt.status, tt.code)
				refused(t, ask(http2Client(t), envoy+chatPath, body), tt.status, tt.code)
				if tt.native != "" {
					refused(t, ask(http1(t), native+chatPath, body), tt.status, tt.native)
				}
			}
		})
	}
}

// TestFailedStreamEnds: a client that has been told of a failure is not kept waiting for a server that goes on, and
// that server stops.
func TestFailedStreamEnds(t *testing.T) { onProxies(t, failedStreamEnds) }

func failedStreamEnds(t *testing.T, run runProxy) {
	server, url := runSim(t, sim.Options{AllowHeaders: true, TokensPerSecond: 2, Script: sim.NewScript(
		sim.Line{Match: "Hi", Tokens: spoken("<|channel|>final<|message|>" + strings.Repeat("word ", 1000) + "<|return|>")})})
	envoy := run(t, oneModel(url)).URL
	client := http1(t)
	client.Timeout = 30 * time.Second // the whole answer would take minutes
	for _, stream := range []string{"true", "false"} {
		for _, fault := range []string{"garbage:0", "garbage:4"} {
			t.Run(fault+" stream "+stream, func(t *testing.T) {
				header := http.Header{"X-Sim-Fault": {fault}, "Content-Type": {"application/json"}}
				a := do(client, http.MethodPost, envoy+chatPath, header,
					strings.NewReader(`{"stream":`+stream+`,`+chatBody(caseModel, "Hi")[1:]))
				if fault == "garbage:4" && stream == "true" {
					if r := read(a.body); a.status != 200 || r.failure == "" || !isReset(a.err, "h1") {
						t.Errorf("got %+v", a)
					}
				} else {
					refused(t, a, 502, "server_error")
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
