//go:build e2e

package anthropic

import (
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
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

const key = "sk-harmony-a"

// body is a request with one message, and further members.
func body(model, text, rest string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":64,"messages":[{"role":"user","content":%q}]%s}`, model, text, rest)
}

// ask sends a request as Anthropic's clients do, with an id of the client's own.
func ask(client *http.Client, method, url, body string, headers ...string) lab.Answer {
	header := http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Request-Id": {`id-"1"`}}
	for i := 0; i+1 < len(headers); i += 2 {
		header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return lab.Do(client, method, url, header, strings.NewReader(body))
}

// TestMessages: answers, counts and models have the form of Anthropic's API, and the counts agree.
func TestMessages(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, url := lab.RunSim(t, sim.Options{})
		c := lab.OneModel(url)
		c.Models[0].Aliases = []string{"claude-oss"}
		h, client := run(t, c), lab.HTTP1(t)

		whole := ask(client, http.MethodPost, h.URL+contract.MessagesPath, body("claude-oss", "Hi", ""))
		var message struct {
			Type, Model string
			Usage       struct {
				Input     int `json:"input_tokens"`
				CacheRead int `json:"cache_read_input_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(whole.Body), &message); err != nil || whole.Status != 200 ||
			message.Type != "message" || message.Model != "claude-oss" || whole.Header.Get("request-id") != `id-"1"` {
			t.Errorf("whole: %d %v %s", whole.Status, whole.Header, whole.Body)
		}
		stream := ask(client, http.MethodPost, h.URL+contract.MessagesPath+"?beta=true",
			body("claude-oss", "Hi", `,"stream":true`))
		if _, _, err := grammar.ReadMessages(stream.Body, false); err != nil || stream.Status != 200 ||
			stream.Header.Get("content-type") != "text/event-stream" || stream.Header.Get("request-id") != `id-"1"` {
			t.Errorf("stream: %d %v %v\n%s", stream.Status, err, stream.Header, stream.Body)
		}
		count := ask(client, http.MethodPost, h.URL+contract.CountTokensPath+"?beta=true", body("claude-oss", "Hi", ""))
		want := fmt.Sprintf(`{"input_tokens":%d}`, message.Usage.Input+message.Usage.CacheRead)
		if count.Status != 200 || count.Body != want {
			t.Errorf("count: %d %s, want %s", count.Status, count.Body, want)
		}
		list := ask(client, http.MethodGet, h.URL+contract.ModelsPath+"?limit=1000", "")
		if !strings.Contains(list.Body, `"has_more":false,"first_id":"gpt-oss-120b","last_id":"claude-oss"}`) {
			t.Errorf("models: %d %s", list.Status, list.Body)
		}
		one := ask(client, http.MethodGet, h.URL+contract.ModelsPath+"/claude-oss", "")
		if !strings.HasPrefix(one.Body, `{"type":"model","id":"claude-oss","display_name":"claude-oss",`) {
			t.Errorf("a model: %d %s", one.Status, one.Body)
		}
	})
}

// TestErrors: whoever refuses a request, the client gets an error of Anthropic's API, with the id of the request.
func TestErrors(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
			Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
		c := lab.OneModel(url)
		c.RequestTimeout, c.StallTimeout = config.Duration(time.Second), config.Duration(time.Second)
		c.Clients.KeysFile = keysFile(t)
		m := config.DefaultModel("down", "vllm=http://127.0.0.1:1")
		c.Models = append(c.Models, m)
		h, client := run(t, c), lab.HTTP1(t)
		for _, tt := range []struct {
			name, method, path, body string
			headers                  []string
			status                   int
			kind, message            string
		}{
			{"no key", "", "", body(lab.Model, "Hi", ""), []string{"x-api-key", ""}, 401, "authentication_error", "API key"},
			{"no max_tokens", "", "", `{"model":"gpt-oss-120b","messages":[]}`, nil, 400, "invalid_request_error",
				"max_tokens: Field required"},
			{"another model", "", "", body("claude-x", "Hi", ""), nil, 404, "not_found_error", "'claude-x' does not exist"},
			{"a model that is not listed", "GET", contract.ModelsPath + "/claude-x", "", nil, 404, "not_found_error", "claude-x"},
			{"batches", "", "/v1/messages/batches", `{}`, nil, 404, "not_found_error", "Nothing is served"},
			{"files", "GET", "/v1/files", "", nil, 404, "not_found_error", "Nothing is served"},
			{"another method", "GET", contract.MessagesPath, "", nil, 405, "invalid_request_error", "POST"},
			{"a large body", "", "", body(lab.Model, strings.Repeat("x", 1<<21), ""), nil, 413, "request_too_large", "larger"},
			{"a long prompt", "", "", body(lab.Model, strings.Repeat("a ", 140_000), ""), nil, 400, "invalid_request_error",
				"prompt is too long: "},
			{"no server", "", "", body("down", "Hi", ""), nil, 503, "api_error", "can be reached"},
			{"a server's error", "", "", body(lab.Model, "Hi", ""), []string{"x-sim-fault", "status:500"}, 500, "api_error", ""},
			{"a busy server", "", "", body(lab.Model, "Hi", ""), []string{"x-sim-fault", "status:429:7"}, 429,
				"rate_limit_error", ""},
			{"a server that ends at once", "", "", body(lab.Model, "Hi", ""), []string{"x-sim-fault", "drop"}, 503, "api_error",
				"closed the connection"},
			{"one that ends in a whole answer", "", "", body(lab.Model, "Hi", ""), []string{"x-sim-fault", "close:3"}, 502,
				"api_error", "closed the connection"},
			{"a silent server", "", "", body(lab.Model, "Hi", ""), []string{"x-sim-fault", "mute"}, 504, "timeout_error",
				"silent"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				method, path := tt.method, tt.path
				if method == "" {
					method = http.MethodPost
				}
				if path == "" {
					path = contract.MessagesPath
				}
				headers := append([]string{"x-api-key", key}, tt.headers...)
				a := ask(client, method, h.URL+path, tt.body, headers...)
				err := grammar.ReadMessagesError(a.Body)
				if err != nil || a.Status != tt.status || !strings.Contains(a.Body, `"type":"`+tt.kind+`"`) ||
					!strings.Contains(a.Body, tt.message) || a.Header.Get("content-type") != "application/json" {
					t.Errorf("%v %d %s: %v\n%s", a.Err, a.Status, a.Header.Get("content-type"), err, a.Body)
				}
				if path != "/v1/files" && (!strings.Contains(a.Body, `"request_id":"id-\"1\""`) ||
					a.Header.Get("request-id") != `id-"1"`) {
					t.Errorf("the id of the request: %v %s", a.Header, a.Body)
				}
				if (a.Header.Get("retry-after") != "") != (tt.status == 429) {
					t.Errorf("retry-after: %q", a.Header.Get("retry-after"))
				}
				if (a.Header.Get("x-should-retry") == "false") != (tt.status == 401) {
					t.Errorf("x-should-retry: %q", a.Header.Get("x-should-retry"))
				}
			})
		}
		t.Run("in a stream", func(t *testing.T) {
			a := ask(client, http.MethodPost, h.URL+contract.MessagesPath, body(lab.Model, "Hi", `,"stream":true`),
				"x-api-key", key, "x-sim-fault", "error-event:4")
			if _, _, err := grammar.ReadMessages(a.Body, false); err != nil || a.Status != 200 ||
				!strings.Contains(a.Body, `data: {"type":"error","error":{"type":"api_error"`) {
				t.Errorf("%d %v\n%s", a.Status, err, a.Body)
			}
		})
	})
}

// keysFile is a file of one client, whose key is key.
func keysFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(fmt.Sprintf("clients:\n- name: a\n  hashes: [%q]\n", clients.HashOf(key))),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
