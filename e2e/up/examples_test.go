//go:build e2e

package up

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestDemo runs the demonstration, faster than a person could follow it.
func TestDemo(t *testing.T) {
	lab.Tool(t, "HARMONY_BIN")
	lab.Tool(t, "HARMONY_WASM")
	lab.Tool(t, "HARMONY_OPENAI_PYTHON")
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	demo := exec.CommandContext(ctx, lab.File("examples/demo/run.sh"))
	demo.Cancel = func() error { return demo.Process.Signal(syscall.SIGTERM) } // it has children to stop
	demo.WaitDelay = lab.StopLimit
	demo.Env = append(os.Environ(), "DEMO_TOKENS_PER_SECOND=2000")
	said, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"Chat Completions with a tool", "Responses with a tool", `calls      get_weather {"city":"Paris"}`,
		"answer     The tool functions.get_weather answered",
	} {
		if !bytes.Contains(said, []byte(want)) {
			t.Errorf("it does not show %q", want)
		}
	}
	if bytes.ContainsRune(said, '\x1b') {
		t.Error("colours without a terminal")
	}
	if t.Failed() {
		t.Logf("%s", said)
	}
}

// TestExampleEnvoy serves examples/envoy.yaml, the filter in an Envoy with a configuration of its own.
func TestExampleEnvoy(t *testing.T) {
	server, serverURL := lab.RunSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	text, err := os.ReadFile(lab.File("examples/envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ old, new string }{
		{"address: localhost, port_value: 8000",
			"address: 127.0.0.1, port_value: " + serverURL[strings.LastIndexByte(serverURL, ':')+1:]},
		{"address: 127.0.0.1, port_value: 8080", "address: 127.0.0.1, port_value: 0"},
		{"dist/harmony-filter.wasm", lab.Tool(t, "HARMONY_WASM")},
		{"static_resources:\n", "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } " +
			"}\nstatic_resources:\n"},
	} {
		if bytes.Count(text, []byte(r.old)) != 1 {
			t.Fatalf("%q is not there once", r.old)
		}
		text = bytes.Replace(text, []byte(r.old), []byte(r.new), 1)
	}
	address, err := lab.StartEnvoy(t, text).Listener(t.Context(), "clients")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + address
	client := lab.HTTP1(t)
	a := lab.Ask(client, url+lab.ChatPath, lab.ChatBody(lab.Model, "Hello"))
	if a.Status != 200 || !strings.Contains(a.Body, "You said: Hello") {
		t.Errorf("got %+v", a)
	}
	lab.WantRefused(t, lab.Ask(client, url+lab.ResponsesPath, `{"model":"gpt-4o","input":"Hello"}`), 404, "model_not_found")
	// A client that knows the internal header reaches no server with it.
	for _, method := range []string{"GET", "POST"} {
		a := lab.Do(client, method, url+lab.RawPath, http.Header{"X-Harmony-Internal-Pool": {lab.Model}},
			strings.NewReader(`{"model":"`+lab.Model+`","prompt":"Hello"}`))
		if a.Err != nil || a.Status < 400 {
			t.Errorf("%s: got %+v", method, a)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests have reached the server, want 1", n)
	}
}

// TestReadmeSession types the README's sessions into a shell and wants to see what the README shows.
func TestReadmeSession(t *testing.T) {
	t.Run("see", func(t *testing.T) { readmeSession(t, lab.ReadSession(t, "README.md", "## See it")) })
	t.Run("keep", func(t *testing.T) {
		session := lab.ReadSession(t, "README.md", "## Keep responses")
		// The service listens on a free port, and the file is in a folder of the test's.
		folder := t.TempDir()
		file := filepath.Join(folder, "config.yaml")
		text := "responses_service: {store: other.db, listen: '" + lab.FreeAddress(t) + "'}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		session.Replace("--store ", "--config "+file+" --store "+folder+"/")
		readmeSession(t, session)
	})
}

// TestSightSession types the sessions of docs/sight.md into a shell and wants to see what the page shows.
func TestSightSession(t *testing.T) {
	session := lab.ReadSession(t, "docs/sight.md", "## Each request, as it happens")
	records := lab.ReadSession(t, "docs/sight.md", "## Records")
	session.Typed += records.Typed
	session.Shown += records.Shown
	session.Replace("harmony inspect", lab.Tool(t, "HARMONY_BIN")+" inspect")
	folder := t.TempDir()
	for _, name := range []string{"records", "watch.txt", "answer.json"} {
		session.Replace(" "+name, " "+filepath.Join(folder, name))
		session.Replace(">"+name, ">"+filepath.Join(folder, name))
	}
	readmeSession(t, session)
}

func readmeSession(t *testing.T, session lab.Session) {
	for port, flag := range map[string]string{"8000": " sim ", "8080": " up "} {
		address := lab.FreeAddress(t)
		session.Replace("127.0.0.1:"+port, address)
		session.Replace("dist/harmony"+flag, "harmony"+flag)
		session.Replace("harmony"+flag, lab.Tool(t, "HARMONY_BIN")+flag+"--listen "+address+" ")
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	session.Run(ctx, t, func(shell *exec.Cmd) {
		shell.Env = append(os.Environ(), "ENVOY="+lab.Tool(t, "ENVOY"))
	})
}
