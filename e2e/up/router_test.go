//go:build e2e

package up

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// tagRouter is a router before a simulated SGLang that drops structural tags, as long as it does.
type tagRouter struct {
	url      string
	dropping atomic.Bool
	// tagged reports whether the last request of a client had a tag when it came.
	tagged atomic.Bool
}

func startTagRouter(t *testing.T) *tagRouter {
	s := sim.New(sim.Options{Kind: sim.SGLang, Models: []string{lab.Model}})
	t.Cleanup(s.Close)
	r := &tagRouter{}
	r.dropping.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/v1/models" && !r.dropping.Load() {
			// Another list is what a control plane takes for another start of the server.
			_, _ = io.WriteString(w, `{"data":[{"id":"`+lab.Model+`","owned_by":"sglang"},{"id":"other"}]}`)
			return
		}
		r.forward(s, w, request)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *tagRouter) forward(s *sim.Server, w http.ResponseWriter, request *http.Request) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var body map[string]any
	if json.Unmarshal(text, &body) == nil {
		sampling, _ := body["sampling_params"].(map[string]any)
		if tag, _ := sampling["structural_tag"].(string); !strings.Contains(tag, engine.FixedText) {
			r.tagged.Store(tag != "")
		}
		if r.dropping.Load() {
			delete(sampling, "structural_tag")
		}
		text, _ = json.Marshal(body)
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	s.Handler().ServeHTTP(w, request)
}

// TestTagsLost checks what becomes of a named tool choice before a router that drops structural tags: it is degraded or
// refused as configured, the status says so, and both end when the router is exchanged for a good one, without a
// restart.
func TestTagsLost(t *testing.T) {
	const named = `"tools":[{"type":"function","function":{"name":"f"}}],` +
		`"tool_choice":{"type":"function","function":{"name":"f"}},`
	for _, tt := range []struct{ host, onLost string }{
		{"envoy", "degrade"}, {"envoy", "refuse"}, {"wazero", "degrade"}, {"wazero", "refuse"},
	} {
		t.Run(tt.host+" "+tt.onLost, func(t *testing.T) {
			router := startTagRouter(t)
			file := filepath.Join(t.TempDir(), "h.yaml")
			text := "models:\n  - name: " + lab.Model + "\n    pool: gpus\npools:\n  - name: gpus\n    kind: sglang\n" +
				"    servers: [" + router.url + "]\n    probe: { on_lost_tags: " + tt.onLost + " }\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			up, url := lab.StartUp(t, "--host", tt.host, "--config", file)
			page := up.Announced(t, `(?m)^page.*: http://(\S+)$`)
			client := lab.HTTP1(t)
			ask := func() lab.Answer {
				return lab.Do(client, http.MethodPost, url+lab.ChatPath, nil,
					strings.NewReader(`{`+named+lab.ChatBody(lab.Model, "Hi")[1:]))
			}
			until := func(what string, ok func(lab.Answer) bool) {
				t.Helper()
				for end := time.Now().Add(lab.Patience); ; {
					a := ask()
					if ok(a) {
						return
					}
					if time.Now().After(end) {
						t.Fatalf("there was never %s, but %+v\n%s", what, a, &up.Stderr)
					}
					time.Sleep(lab.Pause)
				}
			}
			status := func(code int, want string) {
				t.Helper()
				said := lab.RunHarmony(t, nil, "status", "--address", page)
				if !said.Ended(lab.ReadyLimit) || said.ExitCode(t) != code || !strings.Contains(said.Stdout.String(), want) {
					t.Errorf("harmony status ends with %d and not %d, or does not say %q:\n%s%s", said.ExitCode(t), code, want,
						&said.Stdout, &said.Stderr)
				}
			}
			if tt.onLost == "refuse" {
				until("a refusal", func(a lab.Answer) bool {
					return a.Status == http.StatusBadRequest && strings.Contains(a.Body, contract.CodeToolChoiceNotSupported)
				})
				status(1, "structured_outputs of "+lab.Model+" is refuse")
			} else {
				until("a call without a tag", func(a lab.Answer) bool {
					return a.Status == http.StatusOK && strings.Contains(a.Body, `"tool_calls"`) && !router.tagged.Load()
				})
				status(1, "1 of 1 servers pass over structural tags")
			}
			router.dropping.Store(false)
			until("a call with a tag", func(a lab.Answer) bool {
				return a.Status == http.StatusOK && strings.Contains(a.Body, `"tool_calls"`) && router.tagged.Load()
			})
			status(0, "ready")
			if tt.host == "envoy" {
				up.Stop(t, syscall.SIGTERM)
			} else {
				lab.StopWazero(t, up)
			}
		})
	}
}
