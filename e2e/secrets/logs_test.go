//go:build e2e

package secrets

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The words that are put into every text of a request and of an answer. They stand nowhere else.
const (
	asked    = "kanarienvogel"
	answered = "zaunkoenig"
)

// TestNoTextInLogs makes the requests of the suite with canaries in all their texts, and in the model's, while
// everything that can say something says as much as it can: harmony up, Envoy with the filter, the access log, the
// statistics. No canary may be there.
func TestNoTextInLogs(t *testing.T) {
	for _, level := range []string{"debug", "trace"} {
		t.Run(level, func(t *testing.T) { noTextInLogs(t, level) })
	}
}

func noTextInLogs(t *testing.T, level string) {
	cases := cases.All(t)
	var current atomic.Pointer[sim.Server]
	current.Store(sim.New(sim.Options{})) // what asks it before the first case
	gpu := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { current.Load().Handler().ServeHTTP(w, r) }))
	defer gpu.Close()
	folder := t.TempDir()
	access, settings := filepath.Join(folder, "access.json"), filepath.Join(folder, "harmony.yaml")
	yaml := "access_log: " + access + "\nstall_timeout: 1s\nmodels:\n- name: " + lab.Model + "\n  servers: [vllm=" +
		gpu.URL + "]\n"
	if err := os.WriteFile(settings, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c, base := lab.StartUp(t, "--config", settings, "--admin", "127.0.0.1:0", "--log-level", level)

	var prompts, answers, good int
	for _, tc := range cases {
		server, err := tc.WithScript(canaryScript).Server(0, 0)
		if err != nil {
			t.Fatalf("%s: %v", tc.Name, err)
		}
		current.Store(server)
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
		a := lab.Do(client, tc.Method, base+tc.Target, tc.Header.Clone(), strings.NewReader(withCanaries(tc.Body)))
		client.CloseIdleConnections()
		if a.Status == http.StatusOK {
			good++
		}
		if strings.Contains(a.Body, answered) {
			answers++
		}
		for _, r := range server.Requests() {
			if strings.Contains(lab.Vocabulary.DecodeString(r.PromptIDs), asked) {
				prompts++
			}
		}
		server.Close()
	}
	// Were the canaries not in many of them, their absence below would mean nothing. A stream has them in pieces, and does
	// not count.
	t.Logf("%d cases, %d with status 200, %d prompts and %d answers with a canary", len(cases), good, prompts, answers)
	if least := len(cases) / 3; good < least || prompts < least || answers < least {
		t.Errorf("%d cases, but %d with status 200, %d prompts and %d answers with a canary", len(cases), good, prompts,
			answers)
	}
	c.Stop(t, syscall.SIGTERM)
	log, err := os.ReadFile(access)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "\n"); n != len(cases) {
		t.Errorf("%d requests, %d lines in the access log", len(cases), n)
	}
	said := c.Stderr.String()
	if !strings.Contains(said, "["+level+"][http]") {
		t.Errorf("Envoy's log of level %s is not there: %d bytes", level, len(said))
	}
	for where, text := range map[string]string{
		"standard output": c.Stdout.String(), "standard error": said, "access log": string(log)} {
		for line := range strings.Lines(text) {
			if lower := strings.ToLower(line); strings.Contains(lower, asked) || strings.Contains(lower, answered) {
				t.Errorf("%s: %.2000s", where, line)
				break
			}
		}
	}
}

// canaryScript puts the canary after each message token of a script, given as text or as ids.
func canaryScript(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) != nil {
			out.WriteString(line)
			continue
		}
		if text, ok := fields["text"].(string); ok {
			fields["text"] = strings.ReplaceAll(text, "<|message|>", "<|message|>"+answered+" ")
		}
		if ids, ok := fields["tokens"].([]any); ok {
			var all []any
			for _, id := range ids {
				all = append(all, id)
				if id == float64(tokenizer.Message) {
					for _, more := range lab.Tokens(answered) {
						all = append(all, more)
					}
				}
			}
			fields["tokens"] = all
		}
		delete(fields, "match")  // it is for the text as it was
		delete(fields, "chunks") // so are these
		data, _ := json.Marshal(fields)
		out.Write(append(data, '\n'))
	}
	return out.String()
}

// withCanaries puts the canary into every text that a request has: whatever is a message, an argument or a description.
func withCanaries(body []byte) string {
	var request any
	if json.Unmarshal(body, &request) != nil {
		return string(body) + asked
	}
	data, _ := json.Marshal(inTexts(request, ""))
	return string(data)
}

var texts = map[string]bool{
	"content": true, "text": true, "input": true, "instructions": true, "output": true, "description": true,
	"refusal":   true,
	"reasoning": true, "reasoning_content": true, "thinking": true, "prompt": true, "summary": true,
}

func inTexts(v any, key string) any {
	switch v := v.(type) {
	case string:
		if texts[key] {
			return v + " " + asked
		}
	case []any:
		for i := range v {
			v[i] = inTexts(v[i], key)
		}
	case map[string]any:
		for name := range v {
			v[name] = inTexts(v[name], name)
		}
	}
	return v
}
