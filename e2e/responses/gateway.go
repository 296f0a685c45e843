//go:build e2e

package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// gateway is a run of the program that ships, with a store, before a simulated server.
type gateway struct {
	t       *testing.T
	url     string
	client  *http.Client
	sim     *sim.Server
	schemas *grammar.Schemas
	program *lab.Program
}

// storeKeys are for the variable of the environment with the store's keys.
const storeKeys = "HARMONY_STORE_KEYS=test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// start runs harmony up. database is a URL, or empty for a file of its own. settings are YAML for the file, and
// modelSettings for the model.
func start(t *testing.T, host, database, settings string, o sim.Options, modelSettings ...string) *gateway {
	t.Helper()
	return startWith(t, []string{storeKeys}, host, database, settings, o, modelSettings...)
}

// startWith is start with other variables of the environment.
func startWith(t *testing.T, env []string, host, database, settings string, o sim.Options, modelSettings ...string) *gateway {
	t.Helper()
	return startArgs(t, env, nil, host, database, settings, o, modelSettings...)
}

// startArgs is startWith with further arguments of the program.
func startArgs(t *testing.T, env, args []string, host, database, settings string, o sim.Options,
	modelSettings ...string) *gateway {
	t.Helper()
	server, serverURL := lab.RunSim(t, o)
	if database == "" {
		database = filepath.Join(t.TempDir(), "responses.db")
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`
responses_service:
  store: %s
  listen: %s
%s
models:
  - name: %s
    servers: [vllm=%s]
    %s
`, database, lab.FreeAddress(t), settings, lab.Model, serverURL, strings.Join(modelSettings, "\n    "))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, url := lab.StartUpWith(t, env, append([]string{"--host", host, "--concurrency", "1", "--config", file}, args...)...)
	return &gateway{t: t, url: url, client: lab.HTTP1(t), sim: server, schemas: grammar.LoadSchemas(t), program: program}
}

// onAll runs a test on each host and with each database. Without HARMONY_RESPONSES_ALL, which make responses-all sets,
// it leaves out half of the pairs.
func onAll(t *testing.T, test func(t *testing.T, host, database string)) {
	server := lab.StartPostgres(t)
	all := os.Getenv("HARMONY_RESPONSES_ALL") != ""
	for _, pair := range []struct {
		host, database string
		always         bool
	}{{"envoy", "postgres", true}, {"wazero", "sqlite", true}, {"envoy", "sqlite", false}, {"wazero", "postgres", false}} {
		if !pair.always && !all {
			continue
		}
		t.Run(pair.host+" "+pair.database, func(t *testing.T) {
			database := "" // a file of its own
			if pair.database == "postgres" {
				database = server.Database(pair.host)
			}
			test(t, pair.host, database)
		})
	}
}

// do sends a request, and wants an answer with a status.
func (g *gateway) do(method, path, body string, status int, headers ...string) lab.Answer {
	g.t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	var reader *strings.Reader
	if body != "" {
		reader = strings.NewReader(body)
	} else {
		reader = strings.NewReader("")
	}
	a := lab.Do(g.client, method, g.url+"/v1/"+path, h, reader)
	if a.Err != nil || a.Status != status {
		g.t.Fatalf("%s %s %s: status %d, %v: %s", method, path, body, a.Status, a.Err, a.Body)
	}
	return a
}

// response is what the tests read of a Response object.
type response struct {
	ID, Status         string
	Store, Background  bool
	PreviousResponseID *string              `json:"previous_response_id"`
	Conversation       *struct{ ID string } `json:"conversation"`
	Error              *struct{ Code, Message string }
	Output             []item
	Usage              *struct {
		InputTokens int `json:"input_tokens"`
	}
}

type item struct {
	ID, Type, Role, Status, Phase string
	Content                       []struct{ Type, Text string }
	Arguments, Name               string
	CallID                        string `json:"call_id"`
	EncryptedContent              string `json:"encrypted_content"`
}

// code returns the code of the error, or an empty string.
func (r *response) code() string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// text returns the text of the answer.
func (r *response) text() string {
	for _, i := range r.Output {
		if i.Type == "message" && len(i.Content) > 0 {
			return i.Content[0].Text
		}
	}
	return ""
}

// object checks an answer against a schema, and reads it.
func (g *gateway) object(schema string, a lab.Answer, into any) {
	g.t.Helper()
	if err := g.schemas.CheckStored(schema, a.Body); err != nil {
		g.t.Errorf("%v: %s", err, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		g.t.Fatalf("%v: %s", err, a.Body)
	}
}

// create asks for a response, as a whole. members are of the request, beside the model.
func (g *gateway) create(members string, headers ...string) *response {
	g.t.Helper()
	r := &response{}
	g.object("Response", g.do("POST", "responses", g.body(members), 200, headers...), r)
	return r
}

func (g *gateway) body(members string) string { return `{"model":"` + lab.Model + `",` + members + `}` }

// refused wants an error with a code.
func (g *gateway) refused(method, path, body string, status int, code string, headers ...string) lab.Answer {
	g.t.Helper()
	a := g.do(method, path, body, status, headers...)
	var e struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
		g.t.Errorf("%s %s: %s", method, path, a.Body)
	}
	if got := ""; code != "" && e.Error.Code != nil {
		if got = *e.Error.Code; got != code {
			g.t.Errorf("%s %s: code %s, want %s", method, path, got, code)
		}
	} else if code != "" || e.Error.Code != nil {
		g.t.Errorf("%s %s: %s, want the code %q", method, path, a.Body, code)
	}
	return a
}

// stream asks for a response as a stream, checks its grammar, and returns the last object and the events.
func (g *gateway) stream(members string) (*response, string) {
	g.t.Helper()
	a := g.do("POST", "responses", g.body(members+`,"stream":true`), 200)
	return g.lastOf(a.Body), a.Body
}

func (g *gateway) lastOf(body string) *response {
	g.t.Helper()
	if _, err := grammar.ReadResponses(body, false); err != nil {
		g.t.Errorf("%v", err)
	}
	frames := strings.Split(strings.TrimSpace(body), "\n\n")
	_, data, _ := strings.Cut(frames[len(frames)-1], "data: ")
	var last struct{ Response *response }
	if err := json.Unmarshal([]byte(data), &last); err != nil || last.Response == nil {
		g.t.Fatalf("%v: %s", err, body)
	}
	return last.Response
}

// list is a page of items.
type list struct {
	Data    []item
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
	HasMore bool   `json:"has_more"`
}

func (l *list) texts() string {
	var texts []string
	for _, i := range l.Data {
		switch {
		case len(i.Content) > 0:
			texts = append(texts, i.Content[0].Text)
		default:
			texts = append(texts, i.Type)
		}
	}
	return strings.Join(texts, "|")
}

// prompts returns the prompts that the model's server has got, as Harmony text.
func (g *gateway) prompts() (all []string) {
	for _, r := range lab.Completions(g.sim) {
		text, _ := lab.Vocabulary.AppendDecode(nil, r.PromptIDs)
		all = append(all, string(text))
	}
	return all
}

func (g *gateway) lastPrompt() string {
	g.t.Helper()
	all := g.prompts()
	if len(all) == 0 {
		g.t.Fatal("the model was not asked")
	}
	return all[len(all)-1]
}

// asked waits until the model's server has got so many requests.
func (g *gateway) asked(n int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), lab.Patience)
	defer cancel()
	if _, err := g.sim.Await(ctx, func([]sim.Request) bool { return len(lab.Completions(g.sim)) >= n }); err != nil {
		g.t.Fatal(err)
	}
}
