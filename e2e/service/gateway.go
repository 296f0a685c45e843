//go:build e2e

package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// Gateway is a run of the program that ships, with a store, before a simulated server.
type Gateway struct {
	T       *testing.T
	URL     string
	Client  *http.Client
	Sim     *sim.Server
	Schemas *grammar.Schemas
	Program *lab.Program
	// Database is the URL of its store, or the path of its file.
	Database string
	// File is its configuration.
	File string
	// Model is the name by which requests call the model. Empty: [lab.Model].
	Model string
}

// StoreKeys are for the variable of the environment with the store's keys.
const StoreKeys = "HARMONY_STORE_KEYS=test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// Options say how a gateway is started. Settings, ModelSettings and Configuration are YAML: for the responses service,
// for its model, and for the file.
type Options struct {
	Host string
	// Database is a URL. Without one, the store is a file of its own.
	Database                string
	Settings, Configuration string
	ModelSettings           []string
	// Environment is added to the test's. Without it, it has [StoreKeys].
	Environment, Arguments []string
	Sim                    sim.Options
}

// Start runs harmony up.
func Start(t *testing.T, o Options) *Gateway {
	t.Helper()
	server, serverURL := lab.RunSim(t, o.Sim)
	if o.Database == "" {
		o.Database = filepath.Join(t.TempDir(), "responses.db")
	}
	if o.Environment == nil {
		o.Environment = []string{StoreKeys}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	model := strings.Join(o.ModelSettings, "\n    ")
	text := fmt.Sprintf(`
responses_service:
  store: %s
  listen: %s
%s
models:
  - name: %s
    servers: [%s=%s]
    %s
%s`, o.Database, lab.FreeAddress(t), o.Settings, lab.Model, cmp.Or(o.Sim.Kind, sim.VLLM), serverURL, model,
		o.Configuration)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, url := lab.StartUpWith(t, o.Environment,
		append([]string{"--host", o.Host, "--concurrency", "1", "--config", file}, o.Arguments...)...)
	return &Gateway{T: t, URL: url, Client: lab.HTTP1(t), Sim: server, Schemas: grammar.LoadSchemas(t), Program: program,
		Database: o.Database, File: file}
}

// Change replaces a text in the gateway's configuration, which it reads again.
func (g *Gateway) Change(before, after string) {
	g.T.Helper()
	text, err := os.ReadFile(g.File)
	if err == nil && !strings.Contains(string(text), before) {
		err = fmt.Errorf("%s has no %q", text, before)
	}
	if err == nil {
		err = os.WriteFile(g.File+".new", []byte(strings.Replace(string(text), before, after, 1)), 0o600)
	}
	if err == nil {
		err = os.Rename(g.File+".new", g.File)
	}
	if err != nil {
		g.T.Fatal(err)
	}
}

// In returns the gateway for a test within its test.
func (g *Gateway) In(t *testing.T) *Gateway {
	within := *g
	within.T = t
	return &within
}

// At returns the gateway with another URL.
func (g *Gateway) At(url string) *Gateway {
	other := *g
	other.URL = url
	return &other
}

// Calling returns the gateway with requests that call the model by another name.
func (g *Gateway) Calling(model string) *Gateway {
	other := *g
	other.Model = model
	return &other
}

// Do sends a request, and wants an answer with a status.
func (g *Gateway) Do(method, path, body string, status int, headers ...string) lab.Answer {
	g.T.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	a := lab.Do(g.Client, method, g.URL+"/v1/"+path, h, strings.NewReader(body))
	if a.Err != nil || a.Status != status {
		g.T.Fatalf("%s %s %s: status %d, %v: %s", method, path, body, a.Status, a.Err, a.Body)
	}
	return a
}

// Object checks an answer against a schema, and reads it.
func (g *Gateway) Object(schema string, a lab.Answer, into any) {
	g.T.Helper()
	if err := g.Schemas.CheckStored(schema, a.Body); err != nil {
		g.T.Errorf("%v: %s", err, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		g.T.Fatalf("%v: %s", err, a.Body)
	}
}

// Create asks for a response, as a whole. members are of the request, beside the model.
func (g *Gateway) Create(members string, headers ...string) *Response {
	g.T.Helper()
	r := &Response{}
	g.Object("Response", g.Do("POST", "responses", g.Body(members), 200, headers...), r)
	return r
}

// Body returns the body of a request for a response.
func (g *Gateway) Body(members string) string {
	return `{"model":"` + cmp.Or(g.Model, lab.Model) + `",` + members + `}`
}

// Refused wants an error with a code.
func (g *Gateway) Refused(method, path, body string, status int, code string, headers ...string) lab.Answer {
	g.T.Helper()
	a := g.Do(method, path, body, status, headers...)
	var e struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		g.T.Errorf("%s %s: %s", method, path, a.Body)
	}
	if got := ""; code != "" && e.Error.Code != nil {
		if got = *e.Error.Code; got != code {
			g.T.Errorf("%s %s: code %s, want %s", method, path, got, code)
		}
	} else if code != "" || e.Error.Code != nil {
		g.T.Errorf("%s %s: %s, want the code %q", method, path, a.Body, code)
	}
	return a
}

// Stream asks for a response as a stream, checks its grammar, and returns the last object and the events.
func (g *Gateway) Stream(members string, headers ...string) (*Response, string) {
	g.T.Helper()
	a := g.Do("POST", "responses", g.Body(members+`,"stream":true`), 200, headers...)
	return g.LastOf(a.Body), a.Body
}

// LastOf checks a stream, and returns the last object.
func (g *Gateway) LastOf(body string) *Response {
	g.T.Helper()
	if err := g.Schemas.CheckStream(body); err != nil {
		g.T.Errorf("%v", err)
	}
	frames := strings.Split(strings.TrimSpace(body), "\n\n")
	_, data, _ := strings.Cut(frames[len(frames)-1], "data: ")
	var last struct{ Response *Response }
	if err := json.Unmarshal([]byte(data), &last); err != nil || last.Response == nil {
		g.T.Fatalf("%v: %s", err, body)
	}
	return last.Response
}

// Prompts returns the prompts that the model's server has got, as Harmony text.
func (g *Gateway) Prompts() (all []string) {
	for _, r := range lab.Completions(g.Sim) {
		text, _ := lab.Vocabulary.AppendDecode(nil, r.PromptIDs)
		all = append(all, string(text))
	}
	return all
}

// LastPrompt returns the newest of them.
func (g *Gateway) LastPrompt() string {
	g.T.Helper()
	all := g.Prompts()
	if len(all) == 0 {
		g.T.Fatal("the model was not asked")
	}
	return all[len(all)-1]
}

// InOrder wants the newest prompt to have these parts in this order.
func (g *Gateway) InOrder(parts ...string) {
	g.T.Helper()
	prompt, at := g.LastPrompt(), 0
	for _, part := range parts {
		next := strings.Index(prompt[at:], part)
		if next < 0 {
			g.T.Errorf("the prompt has no %q behind the other parts: %s", part, prompt)
			return
		}
		at += next + len(part)
	}
}

// Asked waits until the model's server has got so many requests.
func (g *Gateway) Asked(n int) {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), lab.Patience)
	defer cancel()
	if _, err := g.Sim.Await(ctx, func([]sim.Request) bool { return len(lab.Completions(g.Sim)) >= n }); err != nil {
		g.T.Fatal(err)
	}
}

// Await polls a response until it has ended.
func (g *Gateway) Await(id string) *Response {
	g.T.Helper()
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r := &Response{}
		g.Object("Response", g.Do("GET", "responses/"+id, "", 200), r)
		if r.Status != "queued" && r.Status != "in_progress" {
			return r
		}
	}
	g.T.Fatalf("%s has not ended", id)
	return nil
}
