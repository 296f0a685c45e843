//go:build e2e

package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// reducedFault is a fault of a server, and the row of docs/modes.md that says what becomes of it.
type reducedFault struct {
	spelling, row string
	// status and code are for an error that has a status.
	status int
	code   string
}

const (
	rowStatus  = "answers with an error status"
	rowJSON    = "answers 200 with an error in JSON"
	rowNothing = "cannot be reached, or is silent before its headers"
	rowFirst   = "sends an error, something unreadable or a mere end, before the first token"
	rowLater   = "the same after the first token"
)

var reducedFaults = []reducedFault{
	{"status:500", rowStatus, 500, "server_error"},
	{"status:503:3", rowStatus, 429, "server_overloaded"},
	{"error-200-json", rowJSON, 502, "server_error"},
	{"error-event:0", rowFirst, 0, ""},
	{"garbage:0", rowFirst, 0, ""},
	{"no-finish:0", rowFirst, 0, ""},
	{"error-event:5", rowLater, 0, ""},
	{"garbage:5", rowLater, 0, ""},
	{"no-finish:5", rowLater, 0, ""},
	{"close:0", "loses its connection between its headers and the first token", 0, ""},
	{"close:5", "loses its connection after the first token", 0, ""},
	{"stall:0", "is silent between its headers and the first token", 0, ""},
	{"stall:5", "is silent after the first token", 0, ""},
}

// failureRow is a row of the table: what a client sees, by mode and by whether it asked for a stream.
type failureRow struct{ full, fullWhole, reduced, reducedWhole string }

// documentedFailures reads the table of failures in docs/modes.md.
func documentedFailures(t *testing.T) map[string]failureRow {
	t.Helper()
	text, err := os.ReadFile(lab.File("docs/modes.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]failureRow{}
	_, table, _ := strings.Cut(string(text), "| what the server does |")
	for line := range strings.Lines(table) {
		if strings.TrimSpace(line) == "" {
			break
		}
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.HasPrefix(cells[1], "---") {
			continue // the rest of the head
		}
		for i := range cells {
			cells[i], _, _ = strings.Cut(strings.TrimSpace(cells[i]), ",")
		}
		// The first cell is a sentence, which may have a comma.
		rows[strings.TrimSpace(strings.Split(line, "|")[1])] = failureRow{cells[2], cells[3], cells[4], cells[5]}
	}
	return rows
}

// TestReducedFaults: in reduced mode every failure of a server is to its client what docs/modes.md says, over each
// protocol on either side; nothing hangs, nothing runs on, and what full mode would have done better is counted.
func TestReducedFaults(t *testing.T) {
	rows := documentedFailures(t)
	tested := map[string]bool{rowNothing: true} // by TestReducedServerDown
	for _, f := range reducedFaults {
		tested[f.row] = true
		if _, ok := rows[f.row]; !ok {
			t.Fatalf("docs/modes.md has no row %q", f.row)
		}
		checkFullColumns(t, f, rows[f.row])
	}
	if len(tested) != len(rows) {
		t.Errorf("%d rows are tested, and docs/modes.md has %d", len(tested), len(rows))
	}
	server, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	c, toHTTP2 := lab.ReducedModel(url), lab.HTTP2To(xds.PoolCluster(&config.Model{Name: lab.Model}))
	envoys := lab.RunEnvoyOfResources(t, c, lab.Resources(t, c), lab.Resources(t, c, toHTTP2))
	one, two := envoys[0], envoys[1]
	for _, host := range []struct {
		name, protocol string
		envoy          *hosts.Host
		client         *http.Client
	}{
		{"HTTP1 to HTTP1", "h1", one, lab.HTTP1(t)}, {"HTTP2 to HTTP1", "h2", one, lab.HTTP2(t)},
		{"HTTP1 to HTTP2", "h1", two, lab.HTTP1(t)}, {"HTTP2 to HTTP2", "h2", two, lab.HTTP2(t)},
	} {
		t.Run(host.name, func(t *testing.T) {
			events, resets := lab.Counter(t, host.envoy, "harmony_reduced_late_errors_total"),
				lab.Counter(t, host.envoy, "harmony_reduced_resets_total")
			var all sync.WaitGroup
			for _, f := range reducedFaults {
				for _, path := range []string{lab.ChatPath, lab.ResponsesPath} {
					all.Go(func() { f.run(t, host.client, host.envoy.URL+path, host.protocol, true, rows[f.row].reduced) })
					all.Go(func() { f.run(t, host.client, host.envoy.URL+path, host.protocol, false, rows[f.row].reducedWhole) })
				}
			}
			all.Wait()
			// Two paths each: the three first failures of a stream; of whole answers all six, and three silences. A Chat stream
			// without a finish reason is reset.
			if n := lab.Counter(t, host.envoy, "harmony_reduced_late_errors_total") - events; n != 2*3-1 {
				t.Errorf("%d errors in streams are counted as late, want 5", n)
			}
			if n := lab.Counter(t, host.envoy, "harmony_reduced_resets_total") - resets; n != 2*(6+3)+1 {
				t.Errorf("%d resets are counted as late, want 19", n)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	if _, err := server.Await(ctx, func(list []sim.Request) bool {
		for _, r := range list {
			if !r.Done {
				return false
			}
		}
		return true
	}); err != nil {
		t.Errorf("the server still works for clients that are gone: %v", err)
	}
}

// checkFullColumns holds what the table says of full mode against what TestFaults shows.
func checkFullColumns(t *testing.T, f reducedFault, row failureRow) {
	t.Helper()
	for _, full := range faults {
		if full.spelling != f.spelling {
			continue
		}
		word := map[string]string{"error": "status", "failed": "event", "reset": "cut"}[full.stream]
		if row.full != word || row.fullWhole != "status" {
			t.Errorf("docs/modes.md says of %s in full mode: %+v", f.spelling, row)
		}
		return
	}
	t.Errorf("TestFaults does not know %s", f.spelling)
}

// run asks once and compares what comes with the word of the table.
func (f reducedFault) run(t *testing.T, client *http.Client, url, protocol string, stream bool, want string) {
	body := lab.ChatBody(lab.Model, "Hi")
	if strings.HasSuffix(url, lab.ResponsesPath) {
		body = lab.ResponsesBody(lab.Model, "Hi")
	}
	kind := "application/json"
	if stream {
		body, kind = `{"stream":true,`+body[1:], "text/event-stream"
	}
	began := time.Now()
	a := lab.Do(client, http.MethodPost, url,
		http.Header{"X-Sim-Fault": {f.spelling}, "Content-Type": {"application/json"}},
		strings.NewReader(body))
	what := fmt.Sprintf("%s %s, stream %v", f.spelling, url, stream)
	if took := time.Since(began); took > lab.RequestLimit {
		t.Errorf("%s took %s", what, took)
	}
	text := ""
	if stream && strings.HasSuffix(f.spelling, ":5") {
		text = "one two"
	}
	got := lab.Read(a.Body)
	switch want {
	case "status":
		if a.Err != nil || a.Status != f.status || a.ErrorCode() != f.code {
			t.Errorf("%s: got %+v", what, a)
		}
		return
	case "event":
		if a.Body == "" {
			got.Failure = "" // nothing at all is no failure that can be read
		}
		if !failsAsItShould(a, got, f.spelling, strings.HasSuffix(url, lab.ChatPath), protocol) || got.Text != text {
			t.Errorf("%s: got %v %+v", what, a.Err, got)
		}
	case "cut":
		if !lab.IsReset(a.Err, protocol) || got.Text != text || a.Body != "" && got.Last {
			t.Errorf("%s: got %v %+v", what, a.Err, got)
		}
	default:
		t.Errorf("%s: docs/modes.md says %q", what, want)
	}
	if a.Status != 200 || a.Header.Get("content-type") != kind {
		t.Errorf("%s: got %d %s", what, a.Status, a.Header.Get("content-type"))
	}
}

// TestReducedServerDown: what fails before a server's headers has a status in reduced mode too.
func TestReducedServerDown(t *testing.T) {
	if row := documentedFailures(t)[rowNothing]; row != (failureRow{"status", "status", "status", "status"}) {
		t.Errorf("docs/modes.md says %+v", row)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name, url string
		status    int
		code      string
	}{
		{"down", "http://" + closed.Addr().String(), 503, "server_unavailable"},
		{"silent", "http://" + lab.RunRecording(t).Address, 504, "server_timeout"},
	}
	for i, h := range lab.RunEnvoyOfAll(t, []*config.Config{lab.ReducedModel(tests[0].url),
		lab.ReducedModel(tests[1].url)}) {
		tt := tests[i]
		t.Run(tt.name, func(t *testing.T) {
			for _, body := range []string{lab.ChatBody(lab.Model, "Hi"), `{"stream":true,` + lab.ChatBody(lab.Model, "Hi")[1:]} {
				lab.WantRefused(t, lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, body), tt.status, tt.code)
				lab.WantRefused(t, lab.Ask(lab.HTTP2(t), h.URL+lab.ChatPath, body), tt.status, tt.code)
			}
		})
	}
}

// TestReducedEarlyAnswer: a server that answers before it has the body is believed, and does not get the body.
func TestReducedEarlyAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	after := make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for line := ""; line != "\r\n"; {
					if line, err = r.ReadString('\n'); err != nil {
						return
					}
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: "+
					"24\r\n\r\n{\"error\":\"Unauthorized\"}")
				rest, _ := io.ReadAll(r)
				after <- string(rest)
			}()
		}
	}()
	h := lab.RunEnvoy(t, lab.ReducedModel("http://"+l.Addr().String()))
	for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
		body, unfinished := io.Pipe()
		go func() { _, _ = io.WriteString(unfinished, lab.ChatBody(lab.Model, "Hi")[:40]) }()
		lab.WantRefused(t, lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, body), 502, "server_refused_credentials")
		_ = unfinished.Close()
		if got := <-after; got != "" {
			t.Errorf("the server got %q behind its answer", got)
		}
	}
}

// TestReducedTrailers: a request that ends with trailers is translated at them.
func TestReducedTrailers(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	h := lab.RunEnvoy(t, lab.ReducedModel(url))
	for model, status := range map[string]int{lab.Model: 200, "other": 404} {
		request, err := http.NewRequest(http.MethodPost, h.URL+lab.ChatPath,
			io.NopCloser(strings.NewReader(lab.ChatBody(model, "Hi"))))
		if err != nil {
			t.Fatal(err)
		}
		request.Trailer = http.Header{"X-Checksum": {"17"}}
		response, err := lab.HTTP2(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if a := lab.ReadAnswer(response); a.Err != nil || a.Status != status {
			t.Errorf("%s: got %+v", model, a)
		}
	}
}
