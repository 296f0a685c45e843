//go:build e2e

package up

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

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
	old := lab.WriteScript(t, folder, "old-envoy", fmt.Sprintf(version, "1.36.5"))
	stranger := lab.WriteScript(t, folder, "stranger", "echo 'grep (GNU grep) 3.8'")
	broken := lab.WriteScript(t, folder, "broken-envoy",
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
		{"no model", nil, nil, usage, []string{"no server is given", "harmony up http://", "--config FILE"}},
		{"no server", model, nil, usage, []string{"no server is given", "--backend vllm=http://HOST:PORT"}},
		{"whose server", with("--model", "n"), nil, usage,
			[]string{"does not say which model", "--backend m=vllm=http://127.0.0.1:9"}},
		{"passthrough to a Harmony server", with("--passthrough", "http://127.0.0.1:9"), nil, usage,
			[]string{"passthrough", "use another server"}},
		{"missing wasm", with("--wasm", filepath.Join(folder, "none.wasm")), nil, usage,
			[]string{"--wasm", "none.wasm", "make wasm"}},
		{"wasm that is none", with("--wasm", file("text.wasm", "not a module")), nil, usage,
			[]string{"text.wasm is not a WebAssembly module"}},
		{"missing envoy", with("--envoy", filepath.Join(folder, "none")), nil, usage,
			[]string{"--envoy names", "install Envoy 1.37 or newer"}},
		{"missing envoy in the environment", good, []string{"ENVOY=" + filepath.Join(folder, "none")}, usage,
			[]string{"ENVOY names", "install Envoy 1.37 or newer"}},
		{"no envoy anywhere", with("--host", "envoy"), []string{"ENVOY=", "PATH=" + t.TempDir()}, failed,
			[]string{"no Envoy found", "install Envoy 1.37 or newer", "--envoy", "--host wazero needs none"}},
		{"unknown host", with("--host", "nginx"), nil, usage, []string{"--host nginx is not known", "envoy, wazero or auto"}},
		{"statistics without envoy", with("--host", "wazero", "--stats", "127.0.0.1:0"), nil, usage,
			[]string{"--stats is for Envoy", "leave it out"}},
		{"transcripts without lines", with("-v"), nil, usage, []string{"-v says what --watch prints", "add --watch"}},
		{"a file as the folder of records", with("--record", file("record", "")), nil, usage,
			[]string{"the folder of records", "not a directory"}},
		{"a folder of records that cannot be written", with("--record", "/proc/self"), nil, usage,
			[]string{"the folder of records"}},
		{"a page for everyone", with("--admin", "0.0.0.0:0"), nil, usage, []string{"0.0.0.0:0 is not on loopback"}},
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
			args := []string{"up", "--listen", "127.0.0.1:0", "--wasm", lab.Tool(t, "HARMONY_WASM")}
			run := lab.RunHarmony(t, c.env, append(args, c.args...)...)
			if !run.Ended(lab.ReadyLimit) {
				t.Fatal("it runs")
			}
			if code := run.ExitCode(t); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			said := run.Stderr.String()
			for _, want := range append([]string{"error: "}, c.want...) {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if run.Stdout.String() != "" {
				t.Errorf("on standard output: %s", &run.Stdout)
			}
			run.NothingLeft(t, false)
		})
	}
}

// TestUpStops interrupts harmony up while an answer is on its way that does not end within the drain time: nothing may
// be left of it.
func TestUpStops(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			_, server := lab.RunSim(t, sim.Options{Fault: sim.Fault{Kind: sim.FaultStall, After: 5}})
			up, url := lab.StartUp(t, "--model", lab.Model, "--backend", "vllm="+server)
			body := strings.Replace(lab.ChatBody(lab.Model, "Hello"), "{", `{"stream":true,`, 1)
			response, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := response.Body.Read(make([]byte, 1)); err != nil {
				t.Fatalf("the answer does not begin: %v", err)
			}
			up.Stop(t, signal)
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Error("an answer that was cut looks finished")
			}
			if _, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second); err == nil {
				t.Error("somebody still listens")
			}
			if said := up.Stderr.String(); !strings.Contains(
				said, "warning: cut after 100ms: 1 stream; --drain-time gives them longer\n") {
				t.Errorf("it does not say what it has cut: %s", said)
			}
		})
	}
}

// TestUpModels asks for the model that is served and for one that is not.
func TestUpModels(t *testing.T) {
	server, serverURL := lab.RunSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	up, url := lab.StartUp(t, "--model", lab.Model, "--server-model", "openai/gpt-oss-120b", "--backend",
		"vllm="+serverURL)
	client := lab.HTTP1(t)
	a := lab.Ask(client, url+lab.ChatPath, lab.ChatBody(lab.Model, "Hello"))
	if a.Status != 200 || !strings.Contains(a.Body, "You said: Hello") {
		t.Errorf("got %+v", a)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
		lab.WantRefused(t, lab.Ask(client, url+path, lab.ChatBody("gpt-4o", "Hello")), 404, "model_not_found")
	}
	a = lab.Ask(client, url+lab.RawPath, `{"model":"`+lab.Model+`","prompt":"<|start|>"}`)
	lab.WantRefused(t, a, 403, "raw_prompt_not_allowed")
	// The gateway answers a path that is not the API's, never the server.
	for _, path := range []string{"/metrics", "/v1/modelsx", "/healthz", "/"} {
		lab.WantRefused(t, lab.Do(client, http.MethodGet, url+path, nil, nil), 404, "unknown_url")
	}
	if n := len(lab.Completions(server)); n != 1 {
		t.Errorf("%d requests have reached the server, want 1", n)
	}
	up.Stop(t, syscall.SIGTERM)
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
	server, serverURL := lab.RunSim(t, sim.Options{})
	up, url := lab.StartUp(t, "--model", lab.Model, "--backend", "vllm="+serverURL, "--passthrough", other.URL)

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
		request.Header.Set("x-harmony-internal-pool", lab.Model)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		a := lab.ReadAnswer(response)
		if a.Err != nil || a.Status != http.StatusTeapot || a.Header.Get("x-other") != "yes" || a.Body != "the other server" {
			t.Errorf("%s %s: got %+v", c.method, c.target, a)
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
	client := lab.HTTP1(t)
	a := lab.Ask(client, url+lab.ChatPath, lab.ChatBody(lab.Model, "Hello"))
	if a.Status != 200 || !strings.Contains(a.Body, "You said: Hello") {
		t.Errorf("our own model: got %+v", a)
	}
	before := len(got)
	lab.WantRefused(t, lab.Do(client, http.MethodGet, url+"/metrics", nil, nil), 404, "unknown_url")
	if len(got) != before {
		t.Error("/metrics has reached the other server")
	}
	if n := len(lab.Completions(server)); n != 1 {
		t.Errorf("%d requests have reached the Harmony server, want 1", n)
	}
	up.Stop(t, syscall.SIGTERM)
}

var exampleConfig = lab.File("examples/config.yaml")

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
	server, serverURL := lab.RunSim(t, sim.Options{Models: names})
	chatServer, chatURL := lab.RunSim(t, sim.Options{Kind: sim.Chat, Models: names, APIPath: "/openai/v1"})
	args := []string{"--config", path, "--envoy", lab.WriteScript(t, t.TempDir(), "envoy", `exec "$ENVOY" "$@"`)}
	for i := range c.Models {
		backend := "vllm=" + serverURL
		if c.Filter().Models[i].Server == contract.Chat {
			backend = "chat=" + chatURL + c.Filter().Models[i].APIPath
		}
		args = append(args, "--backend", c.Models[i].Name+"="+backend)
	}
	up, url := lab.StartUp(t, args...)
	for i := range c.Models {
		m := &c.Models[i]
		if a := lab.Ask(lab.HTTP1(t), url+lab.ChatPath, lab.ChatBody(m.Name, "Hello")); a.Status != 200 {
			t.Errorf("%s: got %+v", m.Name, a)
			continue
		}
		if c.Filter().Models[i].Server == contract.Chat {
			if n := len(lab.Completions(chatServer)); n != 1 {
				t.Errorf("%s: %d requests have reached its server, want 1", m.Name, n)
			}
			continue
		}
		sent := lab.Completions(server)
		prompt := lab.Vocabulary.DecodeString(sent[len(sent)-1].PromptIDs)
		if want := "Reasoning: " + m.System.Effort; !strings.Contains(prompt, want) {
			t.Errorf("%s: the prompt does not say %q:\n%s", m.Name, want, prompt)
		}
	}
	up.Stop(t, syscall.SIGTERM)
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
			// An embedded struct has no name of its own, and is looked at as any block.
			// A dash is for what only a flag sets.
			if name := f.Tag.Get("yaml"); !f.Anonymous && name != "-" && (name == "" || !bytes.Contains(data, []byte(name+":"))) {
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
