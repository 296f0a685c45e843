//go:build e2e

package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// leaving is the id of a request whose client leaves after its first line.
const leaving = "a client that leaves"

// failing are requests that do not go as they should. Their lines are in testdata/access_log_failures.txt.
var failing = []struct{ name, method, path, body string }{
	{"no such path", http.MethodGet, "/nothing?key=" + clientKey, ""},
	{"health", http.MethodGet, "/health", ""},
	{"models", http.MethodGet, "/v1/models", ""},
	{"dead server", http.MethodPost, lab.ChatPath, lab.ChatBody("dead", clientKey)},
	{"large", http.MethodPost, lab.ChatPath, lab.ChatBody(lab.Model, strings.Repeat("x", 3<<19))},
	{"no JSON", http.MethodPost, lab.ChatPath, `{"model":` + clientKey},
	{leaving, http.MethodPost, lab.ChatPath, `{"stream":true,` + lab.ChatBody(lab.Model, "Hi")[1:]},
	{`<quotes"in\the&id>`, http.MethodGet, "/v1/models", ""},
	{strings.Repeat("a long id ", 30), http.MethodGet, "/v1/models", ""},
}

// TestAccessLogOfFailures: each host writes the same lines about requests that fail. Nothing that a client sends is in
// them but the request's id.
func TestAccessLogOfFailures(t *testing.T) {
	for _, host := range []struct {
		name string
		run  func(hosts.Setup) (*hosts.Host, error)
	}{{"envoy", hosts.Envoy}, {"wazero", hosts.Wazero}} {
		t.Run(host.name, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{TokensPerSecond: 50,
				Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(strings.Repeat(lab.SixWords, 100))})})
			c := lab.OneModel(url)
			lab.AddModel(c, "dead", "http://127.0.0.1:1")
			c.AccessLog = filepath.Join(t.TempDir(), "access.json")
			h, err := host.run(hosts.Setup{Config: c})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Stop()
			for _, q := range failing {
				askAndFail(t, h.URL, q.name, q.method, q.path, q.body)
			}
			for end := time.Now().Add(lab.Patience); lab.Counters(t, h)["harmony_cut_streams_total.cause.client"] == 0; {
				if time.Now().After(end) {
					t.Fatal("the gateway does not notice that its client has left")
				}
				time.Sleep(10 * time.Millisecond)
			}
			h.Stop()
			checkFailures(t, c.AccessLog)
		})
	}
}

func askAndFail(t *testing.T, base, id, method, path, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", id)
	answer, err := lab.HTTP1(t).Do(r)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	defer answer.Body.Close()
	first, err := bufio.NewReader(answer.Body).ReadString('\n')
	if id == leaving && (err != nil || first == "") {
		t.Errorf("%q: %v", first, err)
	}
}

func checkFailures(t *testing.T, file string) {
	t.Helper()
	compareLines(t, file, "testdata/access_log_failures.txt", func(line string, fields map[string]any) {
		for name, value := range fields {
			if value == nil {
				delete(fields, name)
			}
		}
		unsteady := []string{"time", "duration_ms", "upstream"}
		if fields["request_id"] == leaving {
			unsteady = append(unsteady, "bytes_sent", "completion_tokens", "first_token_ms")
		}
		for _, name := range unsteady {
			if fields[name] == nil && name != "upstream" {
				t.Errorf("there is no %s in %s", name, line)
			}
			delete(fields, name)
		}
		if fields["flags"] == "URX,UF" {
			fields["flags"] = "UF" // without Envoy nobody tells that there was no further try
		}
	})
}

// compareLines holds the lines of an access log against a golden file. Lines of requests that end together come in any
// order. steady takes out what no two lines have in common.
func compareLines(t *testing.T, file, golden string, steady func(line string, fields map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), clientKey) {
		t.Error("a client's key is in the log")
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		steady(line, fields)
		left, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(left)+"\n")
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	if *lab.Update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the access log is\n%s\nwant\n%s", got, want)
	}
}
