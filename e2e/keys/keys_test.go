//go:build e2e

package keys

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sim"
)

const keyA, keyB = "sk-harmony-a", "sk-harmony-b"

// writeKeys writes a keys file with the clients a and b, whose keys are keyA and keyB. limits are a's.
func writeKeys(t *testing.T, limits string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	replaceKeys(t, path, fmt.Sprintf("clients:\n- name: a\n  hashes: [%q]\n  limits: {%s}\n- name: b\n  hashes: [%q]\n",
		clients.HashOf(keyA), limits, clients.HashOf(keyB)))
	return path
}

func replaceKeys(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKeys: who is let in, on which paths, and what servers see of keys.
func TestKeys(t *testing.T) { lab.OnProxies(t, whoIsLetIn) }

func whoIsLetIn(t *testing.T, run lab.RunProxy) {
	gpu, url := lab.RunSim(t, sim.Options{})
	other, otherURL := lab.RunSim(t, sim.Options{AnyPrompt: true, Models: []string{"other"}})
	c := lab.OneModel(url)
	c.Passthrough, c.Clients.KeysFile = otherURL, writeKeys(t, "context: 200")
	h := run(t, c)
	client := lab.HTTP1(t)
	requests := []struct{ method, path, body string }{
		{http.MethodPost, lab.ChatPath, lab.ChatBody(lab.Model, "Hi")},
		{http.MethodPost, contract.ResponsesPath, `{"model":"gpt-oss-120b","input":"Hi","store":false}`},
		{http.MethodGet, contract.ModelsPath, ""},
		{http.MethodGet, contract.ModelsPath + "/" + lab.Model, ""},
		{http.MethodPost, contract.TokenizePath, `{"model":"gpt-oss-120b","prompt":"Hi"}`},
		{http.MethodPost, lab.RawPath, `{"model":"other","prompt":"Hi"}`},
		{http.MethodPost, "/v1/embeddings", `{"model":"other","input":"Hi"}`},
	}
	for _, r := range requests {
		for _, headers := range []http.Header{
			{}, {"Authorization": {"Bearer wrong"}}, {"Authorization": {"Bearer " + clients.HashOf(keyA).String()}},
			{contract.ClientHeader: {"a"}}, {contract.BehalfHeader: {"a"}},
		} {
			lab.WantRefused(t, lab.Do(client, r.method, h.URL+r.path, headers, strings.NewReader(r.body)), 401,
				"invalid_api_key")
		}
		for _, headers := range []http.Header{
			{"Authorization": {"Bearer " + keyA}}, {"Api-Key": {keyB}}, {"X-Api-Key": {keyB}, "Authorization": {"Bearer wrong"}},
		} {
			a := lab.Do(client, r.method, h.URL+r.path, headers, strings.NewReader(r.body))
			if a.Status != 200 && !(r.path == "/v1/embeddings" && a.Status == 404) {
				t.Errorf("%s with %v: %d %s", r.path, headers, a.Status, a.Body)
			}
		}
	}
	for name, server := range map[string]*sim.Server{"the model's server": gpu, "the other server": other} {
		if len(server.Requests()) == 0 {
			t.Errorf("%s got nothing", name)
		}
		for _, r := range server.Requests() {
			for header, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "sk-harmony") ||
					strings.HasPrefix(strings.ToLower(header), contract.InternalHeaderPrefix) {
					t.Errorf("%s gets %s: %s", name, header, values)
				}
			}
		}
	}
	long := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, http.Header{"Authorization": {"Bearer " + keyA}},
		strings.NewReader(lab.ChatBody(lab.Model, strings.Repeat("word ", 300))))
	lab.WantRefused(t, long, 400, "context_length_exceeded")
	if !strings.Contains(long.Body, "maximum context length is 200 tokens") {
		t.Errorf("got %s", long.Body)
	}
}

// TestManyClients: a file of the greatest size is accepted, and its last client is let in.
func TestManyClients(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	var b strings.Builder
	b.WriteString("clients:\n")
	for i := range clients.MaxClients {
		fmt.Fprintf(&b, "- name: client-%05d\n  hashes: [%q, %q]\n  limits: {context: %d}\n", i,
			clients.HashOf(fmt.Sprint("one-", i)), clients.HashOf(fmt.Sprint("two-", i)), 1000+i)
	}
	path := filepath.Join(t.TempDir(), "keys.yaml")
	replaceKeys(t, path, b.String())
	c := lab.OneModel(url)
	c.Clients.KeysFile = path
	h := lab.RunEnvoyOverADS(t, c)
	for key, status := range map[string]int{"one-0": 200, "two-9999": 200, "one-5000": 200, "two-10000": 401} {
		if a := lab.AskChat(lab.HTTP1(t), h.URL, "authorization", "Bearer "+key); a.Status != status {
			t.Errorf("%s: %d %s", key, a.Status, a.Body)
		}
	}
}

// TestChangedFile: a changed file is in force without a restart, and a wrong one leaves the last good one in force. The
// log names clients, and has no key.
func TestChangedFile(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	keys := writeKeys(t, "")
	log := filepath.Join(t.TempDir(), "access.log")
	config := lab.WriteConfig(t, fmt.Sprintf("access_log: %s\nclients: {keys_file: %s}\nmodels:\n- name: gpt-oss-120b\n"+
		"  servers: ['vllm=%s']\n", log, keys, url))
	up, base := lab.StartUp(t, "--config", config)
	client := lab.HTTP1(t)
	status := func(key string) int { return lab.AskChat(client, base, "authorization", "Bearer "+key).Status }
	becomes := func(key string, want int) {
		t.Helper()
		for end := time.Now().Add(lab.Patience); status(key) != want; {
			if time.Now().After(end) {
				t.Fatalf("the status with %s is %d, want %d", key, status(key), want)
			}
			time.Sleep(lab.Pause)
		}
	}
	becomes(keyA, 200)
	entry := func(name, key string) string {
		return fmt.Sprintf("- name: %s\n  hashes: [%q]\n", name, clients.HashOf(key))
	}
	replaceKeys(t, keys, "clients:\n"+entry("a", "new-key")+entry("b", keyB))
	becomes("new-key", 200)
	if got := status(keyA); got != 401 {
		t.Errorf("the old key has %d", got)
	}
	replaceKeys(t, keys, "clients:\n- name: c\n  hashes: [sk-not-a-hash]\n")
	for end := time.Now().Add(lab.Patience); !strings.Contains(up.Stderr.String(), "is not a hash"); {
		if time.Now().After(end) {
			t.Fatalf("a wrong file is not logged: %s", &up.Stderr)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := status("new-key"); got != 200 {
		t.Errorf("after a wrong file: %d", got)
	}
	if strings.Contains(up.Stderr.String(), "sk-not-a-hash") {
		t.Error("the log has what could be a key")
	}
	replaceKeys(t, keys, "clients:\n"+entry("c", "third-key"))
	becomes("third-key", 200)
	if got := status("new-key"); got != 401 {
		t.Errorf("a removed key has %d", got)
	}
	for _, want := range []string{`"client":"a"`, `"client":"c"`} {
		for end := time.Now().Add(lab.Patience); ; {
			data, _ := os.ReadFile(log)
			if strings.Contains(string(data), want) {
				if strings.Contains(string(data), "key\":\"sk-") || strings.Contains(string(data), "third-key") {
					t.Errorf("the log has a key: %s", data)
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the log lacks %s: %s", want, data)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// TestService: the responses service asks as its client. No other client sees the responses, and its limits
// count.
func TestService(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	log := filepath.Join(t.TempDir(), "access.log")
	config := lab.WriteConfig(t, fmt.Sprintf("access_log: %s\nclients: {keys_file: %s}\nlimits: {mode: local}\n"+
		"models:\n- name: gpt-oss-120b\n  servers: ['vllm=%s']\n", log, writeKeys(t, "requests_per_minute: 2"), url))
	_, base := lab.StartUp(t, "--config", config, "--store", filepath.Join(t.TempDir(), "store.db"))
	client := lab.HTTP1(t)
	ask := func(method, path, key, body string) lab.Answer {
		return lab.Do(client, method, base+path, http.Header{"Authorization": {"Bearer " + key},
			"Content-Type": {"application/json"}},
			strings.NewReader(body))
	}
	id := func(a lab.Answer) string {
		t.Helper()
		var r struct{ ID string }
		if err := json.Unmarshal([]byte(a.Body), &r); err != nil || a.Status != 200 || r.ID == "" {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		return r.ID
	}
	lab.WantRefused(t, ask(http.MethodPost, contract.ResponsesPath, "wrong", `{"model":"gpt-oss-120b","input":"Hi"}`), 401,
		"invalid_api_key")
	stored := id(ask(http.MethodPost, contract.ResponsesPath, keyA, `{"model":"gpt-oss-120b","input":"Hi"}`))
	one := contract.ResponsesPath + "/" + stored
	id(ask(http.MethodGet, one, keyA, ""))
	lab.WantRefused(t, ask(http.MethodGet, one, "wrong", ""), 401, "invalid_api_key")
	lab.WantRefused(t, ask(http.MethodGet, one, keyB, ""), 404, "")
	lab.WantRefused(t, ask(http.MethodPost, contract.ResponsesPath, keyB,
		`{"model":"gpt-oss-120b","input":"Hi","previous_response_id":"`+stored+`"}`), 400, "previous_response_not_found")
	id(ask(http.MethodPost, contract.ResponsesPath, keyA,
		`{"model":"gpt-oss-120b","input":"Hi","previous_response_id":"`+stored+`"}`))
	third := ask(http.MethodPost, contract.ResponsesPath, keyA, `{"model":"gpt-oss-120b","input":"Hi"}`)
	lab.WantRefused(t, third, 429, "rate_limit_exceeded")
	if third.Header.Get("retry-after") == "" {
		t.Errorf("nothing says when to ask again: %v", third.Header)
	}
	late := id(ask(http.MethodPost, contract.ResponsesPath, keyB,
		`{"model":"gpt-oss-120b","input":"Hi","background":true}`))
	for end := time.Now().Add(lab.Patience); ; {
		a := ask(http.MethodGet, contract.ResponsesPath+"/"+late, keyB, "")
		if strings.Contains(a.Body, `"status":"completed"`) {
			break
		}
		if time.Now().After(end) || strings.Contains(a.Body, `"status":"failed"`) {
			t.Fatalf("in the background: %s", a.Body)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for end := time.Now().Add(lab.Patience); ; {
		asked := map[string]int{}
		data, _ := os.ReadFile(log)
		for line := range strings.Lines(string(data)) {
			var r struct {
				Client, Server string
				Status         int
			}
			if json.Unmarshal([]byte(line), &r) == nil && r.Server == "vllm" && r.Status == 200 {
				asked[r.Client]++
			}
		}
		if asked["a"] == 2 && asked["b"] == 1 && len(asked) == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the model was asked for %v:\n%s", asked, data)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
