//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// How long things may take on a busy machine.
const (
	upReady = time.Minute
	upStop  = 20 * time.Second
)

// output is what a command says, readable while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is one run of the program that ships.
type command struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{}
	err            error // how it ended; written before done is closed
	temp           string
	pids           string // the file that the Envoys of this run write their process ids to
}

// runHarmony starts $HARMONY_BIN in a folder of its own, with the real Envoy behind a script that notes its process id:
// what is left running shows there. extra is added to the environment and wins.
func runHarmony(t *testing.T, extra []string, args ...string) *command {
	t.Helper()
	folder := t.TempDir()
	c := &command{done: make(chan struct{}), temp: filepath.Join(folder, "tmp"), pids: filepath.Join(folder, "pids")}
	if err := os.Mkdir(c.temp, 0o700); err != nil {
		t.Fatal(err)
	}
	wrapper := script(t, folder, "envoy", `echo $$ >>"$PIDS"; exec "$REAL_ENVOY" "$@"`)
	c.cmd = exec.Command(tool(t, "HARMONY_BIN"), args...)
	c.cmd.Dir = folder
	c.cmd.Env = append(os.Environ(), "TMPDIR="+c.temp, "PIDS="+c.pids, "REAL_ENVOY="+tool(t, "ENVOY"), "ENVOY="+wrapper)
	c.cmd.Env = append(c.cmd.Env, extra...)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		select {
		case <-c.done:
		default:
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
			if !c.ended(upStop) {
				_ = c.cmd.Process.Kill()
				t.Errorf("harmony %s did not stop", strings.Join(args, " "))
			}
		}
		if t.Failed() {
			t.Logf("harmony %s\n%s%s", strings.Join(args, " "), &c.stdout, &c.stderr)
		}
	})
	return c
}

func script(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// ended waits for the program's end.
func (c *command) ended(limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
		return false
	}
}

func (c *command) exitCode(t *testing.T) int {
	t.Helper()
	var failed *exec.ExitError
	switch {
	case c.err == nil:
		return 0
	case errors.As(c.err, &failed):
		return failed.ExitCode()
	}
	t.Fatal(c.err)
	return -1
}

// startUp runs harmony up on a free port and returns its URL once it has said it.
func startUp(t *testing.T, args ...string) (*command, string) {
	t.Helper()
	return startUpWith(t, nil, args...)
}

// startUpWith is startUp with more in the environment.
func startUpWith(t *testing.T, extra []string, args ...string) (*command, string) {
	t.Helper()
	c := runHarmony(t, extra, append([]string{
		"up", "--listen", "127.0.0.1:0", "--wasm", tool(t, "HARMONY_WASM"), "--concurrency", "1",
		// Tests that end while an answer is under way do not wait for it.
		"--drain-time", "100ms"}, args...)...)
	deadline := time.Now().Add(upReady)
	for time.Now().Before(deadline) {
		for line := range strings.Lines(c.stdout.String()) {
			if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
				return c, strings.TrimSpace(url)
			}
		}
		if c.ended(10 * time.Millisecond) {
			t.Fatalf("harmony up ended before it was ready: %v", c.err)
		}
	}
	t.Fatalf("harmony up was not ready within %s", upReady)
	return nil, ""
}

// stop ends the program by a signal and checks that it ends well and that nothing of it is left.
func (c *command) stop(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if !c.ended(upStop) {
		t.Fatalf("it still runs %s after the signal", upStop)
	}
	if code := c.exitCode(t); code != 0 {
		t.Errorf("exit status %d after %v, want 0", code, signal)
	}
	c.nothingLeft(t, true)
}

// nothingLeft checks that every Envoy that this run has started is gone, and its files with it.
func (c *command) nothingLeft(t *testing.T, started bool) {
	t.Helper()
	data, err := os.ReadFile(c.pids)
	if err != nil && (started || !errors.Is(err, os.ErrNotExist)) {
		t.Fatalf("no Envoy was started: %v", err)
	}
	for _, text := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("Envoy's process %d is still there (%v)", pid, err)
		}
	}
	left, err := os.ReadDir(c.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s is left in the temporary folder", f.Name())
	}
}

// apiError is an error as an OpenAI client reads it.
type apiError struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

func post(t *testing.T, url, body string) (*http.Response, []byte) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return response, readAll(t, response)
}

func readAll(t *testing.T, response *http.Response) []byte {
	t.Helper()
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func wantError(t *testing.T, response *http.Response, body []byte, status int, code string) {
	t.Helper()
	var e apiError
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == nil {
		t.Errorf("not an error in OpenAI's shape (%v): %s", err, body)
		return
	}
	if response.StatusCode != status || *e.Error.Code != code {
		t.Errorf("status %d, code %s, want %d and %s", response.StatusCode, *e.Error.Code, status, code)
	}
	if got := response.Header.Get("content-type"); got != "application/json" {
		t.Errorf("content-type %q", got)
	}
}

// TestUpFailures runs harmony up with each mistake that a person can make, and wants to read what to do next.
func TestUpFailures(t *testing.T) {
	const (
		failed = 1
		usage  = 2
	)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // not defer: the subtests run on after this function
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const version = "echo 'envoy  version: 0123456789abcdef/%s/Clean/RELEASE/BoringSSL'"
	old := script(t, folder, "old-envoy", fmt.Sprintf(version, "1.36.5"))
	stranger := script(t, folder, "stranger", "echo 'grep (GNU grep) 3.8'")
	broken := script(t, folder, "broken-envoy",
		`case "$*" in *--version*) `+fmt.Sprintf(version, "1.40.0")+`;; *) echo "it broke: no such thing" >&2; exit 3;; esac`)
	model := []string{"--model", "m"}
	good := []string{"--model", "m", "--backend", "vllm=http://127.0.0.1:9"}
	with := func(more ...string) []string { return append(append([]string(nil), good...), more...) }

	for _, c := range []struct {
		name string
		args []string
		env  []string
		code int
		want []string
	}{
		{"port taken", with("--listen", taken.Addr().String()), nil, failed,
			[]string{taken.Addr().String() + " is in use", "--listen"}},
		{"admin port taken", with("--admin", taken.Addr().String()), nil, failed, []string{"is in use", "--admin"}},
		{"address of another machine", with("--listen", "192.0.2.1:8080"), nil, failed,
			[]string{"not an address of this machine", "--listen"}},
		{"listen is no address", with("--listen", "8080"), nil, usage, []string{"write for example 127.0.0.1:8080"}},
		{"backend of another scheme", append(model, "--backend", "vllm=ftp://gpu"), nil, usage,
			[]string{"--backend", "write http://host:port"}},
		{"backend with a path", append(model, "--backend", "vllm=http://gpu:8000/v1"), nil, usage,
			[]string{"--backend", "remove it"}},
		{"backend without a kind", append(model, "--backend", "http://gpu:8000"), nil, usage,
			[]string{"write vllm=http://gpu:8000"}},
		{"backend of an unknown kind", append(model, "--backend", "tgi=http://gpu:8000"), nil, usage,
			[]string{`"tgi"`, "one of vllm"}},
		{"no model", nil, nil, usage, []string{"no model is given", "--model NAME", "--config FILE"}},
		{"no server", model, nil, usage, []string{"no server is given", "--backend vllm=http://HOST:PORT"}},
		{"whose server", with("--model", "n"), nil, usage,
			[]string{"does not say which model", "--backend m=vllm=http://127.0.0.1:9"}},
		{"passthrough to a Harmony server", with("--passthrough", "http://127.0.0.1:9"), nil, usage,
			[]string{"passthrough", "use another server"}},
		{"missing wasm", with("--wasm", filepath.Join(folder, "none.wasm")), nil, usage,
			[]string{"--wasm", "none.wasm", "make wasm"}},
		{"wasm that is none", with("--wasm", file("text.wasm", "not a module")), nil, failed, []string{"Envoy", "wasm"}},
		{"missing envoy", with("--envoy", filepath.Join(folder, "none")), nil, usage,
			[]string{"--envoy names", "install Envoy 1.37 or newer"}},
		{"missing envoy in the environment", good, []string{"ENVOY=" + filepath.Join(folder, "none")}, usage,
			[]string{"ENVOY names", "install Envoy 1.37 or newer"}},
		{"no envoy anywhere", with("--host", "envoy"), []string{"ENVOY=", "PATH=" + t.TempDir()}, failed,
			[]string{"no Envoy found", "install Envoy 1.37 or newer", "--envoy", "--host wazero needs none"}},
		{"unknown host", with("--host", "nginx"), nil, usage, []string{"--host nginx is not known", "envoy, wazero or auto"}},
		{"admin without envoy", with("--host", "wazero", "--admin", "127.0.0.1:0"), nil, usage,
			[]string{"--admin is for Envoy", "leave it out"}},
		{"wazero with a wasm that is none", with("--host", "wazero", "--wasm", file("other.wasm", "not a module")), nil,
			failed, []string{"cannot be compiled", "other.wasm"}},
		{"too old an envoy", with("--envoy", old), nil, failed, []string{"1.36.5", "too old", "install Envoy 1.37 or newer"}},
		{"not an envoy", with("--envoy", stranger), nil, failed,
			[]string{"grep (GNU grep) 3.8", "install Envoy 1.37 or newer"}},
		{"an envoy that gives up", with("--envoy", broken), nil, failed,
			[]string{"ended before it served", "it broke: no such thing"}},
		{"missing config", []string{"--config", filepath.Join(folder, "none.yaml")}, nil, usage,
			[]string{"none.yaml: cannot be read: no such file"}},
		{"misspelt setting", []string{"--config", file("misspelt.yaml", "models:\n  - nam: m\n")}, nil, usage,
			[]string{"misspelt.yaml:2:", "models[0].nam", "nam is not a setting", "did you mean name?"}},
		{"wrong value", []string{"--config", file("wrong.yaml", "body_limit: 1TB\n")}, nil, usage,
			[]string{"wrong.yaml:1: body_limit", "16MiB"}},
		{"unknown flag", with("--modell", "m"), nil, usage, []string{"--modell", "see harmony up --help"}},
		{"unknown log level", with("--log-level", "loud"), nil, usage, []string{"loud", "write one of"}},
		{"stray word", with("vllm"), nil, usage, []string{`"vllm" is not expected here`, "--help"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"up", "--listen", "127.0.0.1:0", "--wasm", tool(t, "HARMONY_WASM")}
			run := runHarmony(t, c.env, append(args, c.args...)...)
			if !run.ended(upReady) {
				t.Fatal("it runs")
			}
			if code := run.exitCode(t); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			said := run.stderr.String()
			for _, want := range append([]string{"error: "}, c.want...) {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if run.stdout.String() != "" {
				t.Errorf("on standard output: %s", &run.stdout)
			}
			run.nothingLeft(t, false)
		})
	}
}

// TestUpStops interrupts harmony up while an answer is on its way that does not end within the drain time: nothing may be
// left of it.
func TestUpStops(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			_, server := runSim(t, sim.Options{Fault: sim.Fault{Kind: sim.FaultStall, After: 5}})
			up, url := startUp(t, "--model", caseModel, "--backend", "vllm="+server)
			body := strings.Replace(chatBody(caseModel, "Hello"), "{", `{"stream":true,`, 1)
			response, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := response.Body.Read(make([]byte, 1)); err != nil {
				t.Fatalf("the answer does not begin: %v", err)
			}
			up.stop(t, signal)
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Error("an answer that was cut looks finished")
			}
			if _, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second); err == nil {
				t.Error("somebody still listens")
			}
			if said := up.stderr.String(); !strings.Contains(
				said, "warning: cut after 100ms: 1 stream; --drain-time gives them longer\n") {
				t.Errorf("it does not say what it has cut: %s", said)
			}
		})
	}
}

// TestUpModels asks for the model that is served and for one that is not.
func TestUpModels(t *testing.T) {
	server, serverURL := runSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	up, url := startUp(t, "--model", caseModel, "--server-model", "openai/gpt-oss-120b", "--backend", "vllm="+serverURL)
	response, body := post(t, url+"/v1/chat/completions", chatBody(caseModel, "Hello"))
	if response.StatusCode != 200 || !bytes.Contains(body, []byte("You said: Hello")) {
		t.Errorf("status %d: %s", response.StatusCode, body)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
		response, body := post(t, url+path, chatBody("gpt-4o", "Hello"))
		wantError(t, response, body, 404, "model_not_found")
	}
	response, body = post(t, url+"/v1/completions", `{"model":"`+caseModel+`","prompt":"<|start|>"}`)
	wantError(t, response, body, 403, "raw_prompt_not_allowed")
	// What is no path of the API is answered by the gateway, never by the server.
	for _, path := range []string{"/metrics", "/v1/modelsx", "/healthz", "/"} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, response, readAll(t, response), 404, "unknown_url")
	}
	if n := len(completions(server)); n != 1 {
		t.Errorf("%d requests have reached the server, want 1", n)
	}
	up.stop(t, syscall.SIGTERM)
}

// TestUpPassthrough sends other models elsewhere, as they came.
func TestUpPassthrough(t *testing.T) {
	type seenRequest struct {
		method, target, body string
		header               http.Header
	}
	var (
		mu  sync.Mutex
		got []seenRequest
	)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, seenRequest{r.Method, r.RequestURI, string(body), r.Header.Clone()})
		w.Header().Set("x-other", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "the other server")
	}))
	defer other.Close()
	server, serverURL := runSim(t, sim.Options{})
	up, url := startUp(t, "--model", caseModel, "--backend", "vllm="+serverURL, "--passthrough", other.URL)

	for _, c := range []struct{ method, target, body string }{
		{"POST", "/v1/chat/completions?a=1", "{\n \"messages\": [], \"model\": \"llama\", \"strange\": 1e400 }"},
		{"POST", "/v1/responses", `{"model":"llama","input":"hi"}`},
		{"POST", "/v1/completions", `{"model":"llama","prompt":"hi"}`},
		{"POST", "/v1/embeddings", "not even JSON"},
		{"GET", "/v1/batches", ""},
		{"GET", "/v1/models/llama", ""},
	} {
		request, err := http.NewRequest(c.method, url+c.target, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("content-type", "application/json")
		request.Header.Set("authorization", "Bearer secret")
		request.Header.Set("x-harmony-internal-pool", caseModel)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body := readAll(t, response)
		if response.StatusCode != http.StatusTeapot || response.Header.Get("x-other") != "yes" ||
			string(body) != "the other server" {
			t.Errorf("%s %s: status %d: %s", c.method, c.target, response.StatusCode, body)
			continue
		}
		mu.Lock()
		last := got[len(got)-1]
		mu.Unlock()
		if last.method != c.method || last.target != c.target || last.body != c.body ||
			last.header.Get("authorization") != "Bearer secret" {
			t.Errorf("%s %s %q came as %+v", c.method, c.target, c.body, last)
		}
		if _, there := last.header["X-Harmony-Internal-Pool"]; there {
			t.Errorf("%s %s: a client's internal header came through", c.method, c.target)
		}
	}
	response, body := post(t, url+"/v1/chat/completions", chatBody(caseModel, "Hello"))
	if response.StatusCode != 200 || !bytes.Contains(body, []byte("You said: Hello")) {
		t.Errorf("our own model: status %d: %s", response.StatusCode, body)
	}
	before := len(got)
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, response, readAll(t, response), 404, "unknown_url")
	if len(got) != before {
		t.Error("/metrics has reached the other server")
	}
	if n := len(completions(server)); n != 1 {
		t.Errorf("%d requests have reached the Harmony server, want 1", n)
	}
	up.stop(t, syscall.SIGTERM)
}

var exampleConfig = inRepository("examples/config.yaml")

// TestUpConfig serves the example configuration, with its servers replaced by a simulated one.
func TestUpConfig(t *testing.T) {
	path, err := filepath.Abs(exampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(c.Models))
	for i := range c.Models {
		names = append(names, c.Models[i].ServerModel)
	}
	server, serverURL := runSim(t, sim.Options{Models: names})
	args := []string{"--config", path, "--envoy", script(t, t.TempDir(), "envoy", `exec "$ENVOY" "$@"`)}
	for i := range c.Models {
		args = append(args, "--backend", c.Models[i].Name+"=vllm="+serverURL)
	}
	up, url := startUp(t, args...)
	for i := range c.Models {
		m := &c.Models[i]
		response, body := post(t, url+"/v1/chat/completions", chatBody(m.Name, "Hello"))
		if response.StatusCode != 200 {
			t.Errorf("%s: status %d: %s", m.Name, response.StatusCode, body)
			continue
		}
		sent := completions(server)
		prompt := vocabulary.DecodeString(sent[len(sent)-1].PromptIDs)
		if want := "Reasoning: " + m.System.Effort; !strings.Contains(prompt, want) {
			t.Errorf("%s: the prompt does not say %q:\n%s", m.Name, want, prompt)
		}
	}
	up.stop(t, syscall.SIGTERM)
}

// TestExampleConfigNamesEverySetting keeps the example complete.
func TestExampleConfigNamesEverySetting(t *testing.T) {
	data, err := os.ReadFile(exampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			// What is embedded has no name of its own, and is looked at as any block.
			if name := f.Tag.Get("yaml"); !f.Anonymous && (name == "" || !bytes.Contains(data, []byte(name+":"))) {
				t.Errorf("%s of %s is not in %s", name, of.Name(), exampleConfig)
			}
			inner := f.Type
			if inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				look(inner)
			}
		}
	}
	look(reflect.TypeFor[config.Config]())
}
