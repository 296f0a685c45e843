//go:build e2e

package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// refusingServer is a chat server that does not take something, in words of a real one.
type refusingServer struct {
	refuses func(q *chatAsked) bool
	status  int
	error   string
	// words are the ones before the server's own by which Claude Code finds what to leave out.
	words string
	// settings are of its model in the gateway's file.
	settings string
}

// chatAsked is what such a server looks at in a request.
type chatAsked struct {
	Model    string
	Effort   string          `json:"reasoning_effort"`
	Format   json.RawMessage `json:"response_format"`
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// The names of models whose servers do not take something.
const (
	noImages = "no-images"
	noEffort = "no-effort"
	noFormat = "no-format"
	noSystem = "no-late-system"
)

var refusingServers = map[string]refusingServer{
	noImages: {status: 400, error: "Qwen3-8B is not a multimodal model", // vLLM
		words: anthropic.NoImage,
		refuses: func(q *chatAsked) bool {
			for _, m := range q.Messages {
				if bytes.Contains(m.Content, []byte(`"image_url"`)) {
					return true
				}
			}
			return false
		}},
	noEffort: {status: 400, error: "Unsupported parameter: 'reasoning_effort' is not supported with this model.", // OpenAI
		words:   anthropic.NoEffort,
		refuses: func(q *chatAsked) bool { return q.Effort != "" }},
	noFormat: {status: 400, error: "This response_format type is unavailable now", // DeepSeek
		words:   anthropic.NoFormat,
		refuses: func(q *chatAsked) bool { return len(q.Format) > 0 }},
	noSystem: {status: 500, error: "system message must be at the beginning", // Ollama
		words:    anthropic.NoSystem,
		settings: ", chat: { late_instructions: keep }",
		refuses: func(q *chatAsked) bool {
			for i, m := range q.Messages {
				if i > 0 && m.Role == "system" {
					return true
				}
			}
			return false
		}},
}

// startRefusing starts the servers, and returns the models in the gateway's file.
func startRefusing(t *testing.T) (models string) {
	t.Helper()
	names := slices.Sorted(maps.Keys(refusingServers))
	_, behind := lab.RunSim(t, sim.Options{Kind: sim.Chat, Models: names, Script: sim.NewScript(failureLines(t)...)})
	to, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var q chatAsked
		_ = json.Unmarshal(body, &q) // others than conversations have none
		if s, ok := refusingServers[q.Model]; ok && s.refuses(&q) {
			w.Header().Set("content-type", "application/json")
			w.WriteHeader(s.status)
			text, _ := json.Marshal(s.error) // a text
			_, _ = fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":null}}`, text)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	for _, name := range names {
		models += fmt.Sprintf("  - { name: %s, servers: ['chat=%s']%s }\n", name, front.URL, refusingServers[name].settings)
	}
	return models
}

// hookQuestion begins what a hook asks of the model, and hookStops is what its user sees when the model says no.
const (
	hookQuestion = "Is this allowed?"
	hookStops    = "Operation stopped by hook: Not today."
)

// stopping are the acts of a model that says no to a hook.
var stopping = []act{asked(saying(done)), {seen: hookQuestion, after: "TAG",
	says: saying(`{"ok": false, "reason": "Not today."}`)}}

// hook has the model asked whether each question is allowed. The answer has a form.
func (c *claudeCell) hook(t *testing.T) {
	t.Helper()
	c.put(t, "../home/settings.json", []byte(`{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"prompt","prompt":"`+
		hookQuestion+` $ARGUMENTS"}]}]}}`))
}

// startNarrowEnvoy starts an Envoy that holds 32 KiB of a request, as Envoy Gateway's do by default.
func startNarrowEnvoy(t *testing.T) (url string) {
	t.Helper()
	_, server := lab.RunSim(t, sim.Options{Script: sim.NewScript(failureLines(t)...)})
	const held = 32 << 10
	return lab.RunEnvoy(t, lab.OneModel(server), func(t *testing.T, r *xds.Resources) {
		t.Helper()
		for _, l := range r.Listeners {
			l.PerConnectionBufferLimitBytes = wrapperspb.UInt32(held)
		}
		lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			for _, host := range m.GetRouteConfig().GetVirtualHosts() {
				host.RequestBodyBufferLimit = wrapperspb.UInt64(held)
				for _, route := range host.GetRoutes() {
					route.RequestBodyBufferLimit = nil
				}
			}
		})
	}).URL
}

// TestRefusedInWords: what a chat server does not take is said to Anthropic's clients with the server's own words.
func TestRefusedInWords(t *testing.T) {
	const question = `[{"role":"user","content":"Hi"}]`
	requests := map[string]string{
		noImages: `[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]`,
		noEffort: question + `,"output_config":{"effort":"low"}`,
		noFormat: question + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`,
		noSystem: `[{"role":"user","content":"Hi"},{"role":"system","content":"Be kind."}]`,
	}
	models := startRefusing(t)
	for _, host := range clientHosts {
		_, gateway := lab.StartUp(t, "--host", host, "--config", lab.WriteConfig(t, "models:\n"+models))
		for model, rest := range requests {
			body := fmt.Sprintf(`{"model":%q,"max_tokens":16,"messages":%s}`, model, rest)
			a := lab.Do(lab.HTTP1(t), http.MethodPost, gateway+contract.MessagesPath, nil, strings.NewReader(body))
			want := refusingServers[model].words + refusingServers[model].error
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, want) {
				t.Errorf("%s, %s: %d %s", host, model, a.Status, a.Body)
			}
		}
	}
}
