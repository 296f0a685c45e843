//go:build e2e

package secrets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

const sealKeyB = "b:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="

// thought is what the model reasons before its call, and must be shown when it reads the call's result.
const thought = "I had better ask for Paris."

// secretive is the model whose reasoning is hidden.
const secretive = "secretive"

// sealHosts starts the three hosts with these keys in their environment. The tenant is in x-tenant.
func sealHosts(t *testing.T, server, keys string) []*hosts.Host {
	t.Setenv(contract.SealKeysVariable, keys)
	c := lab.OneModel(server)
	c.Seal.TenantHeader = "X-Tenant"
	lab.AddModel(c, secretive, server)
	c.Models[1].Answers.HideReasoning = true
	return []*hosts.Host{lab.RunNative(t, c), lab.RunWazero(t, c), lab.RunEnvoy(t, c)}
}

func sealServer(t *testing.T) (*sim.Server, string) {
	return lab.RunSim(t, sim.Options{Models: []string{lab.Model, secretive}, Script: sim.NewScript(
		sim.Line{Match: "21 degrees", Tokens: lab.Tokens("<|channel|>final<|message|>It is mild.<|return|>")},
		sim.Line{Match: "How warm", Tokens: lab.Tokens("<|channel|>analysis<|message|>" + thought +
			"<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>")},
	)})
}

// sealed is the first turn: the reasoning's item, and the call's.
type sealedTurn struct {
	body            string
	reasoning, call map[string]any
	encrypted       string
}

const sealTools = `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object",` +
	`"properties":{}}}],"include":["reasoning.encrypted_content"]`

func firstTurn(t *testing.T, host *hosts.Host, model, tenant string, stream bool) sealedTurn {
	t.Helper()
	a := lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+lab.ResponsesPath, http.Header{"X-Tenant": {tenant}},
		strings.NewReader(fmt.Sprintf(`{"model":%q,"input":"How warm is it?",%s,"stream":%t}`, model, sealTools, stream)))
	turn := sealedTurn{body: a.Body}
	data := a.Body
	if stream {
		if _, err := grammar.ReadResponses(a.Body, false); err != nil {
			t.Fatalf("%s: %v", host.Name, err)
		}
		data = data[strings.LastIndex(data, "data: ")+len("data: "):]
	}
	var whole struct {
		Response *json.RawMessage
		Output   []map[string]any
	}
	if err := json.Unmarshal([]byte(data), &whole); err != nil || a.Status != 200 {
		t.Fatalf("%s: %+v", host.Name, a)
	}
	if whole.Response != nil {
		if err := json.Unmarshal(*whole.Response, &whole); err != nil {
			t.Fatal(err)
		}
	}
	if len(whole.Output) != 2 {
		t.Fatalf("%s: %s", host.Name, data)
	}
	turn.reasoning, turn.call = whole.Output[0], whole.Output[1]
	turn.encrypted, _ = turn.reasoning["encrypted_content"].(string)
	return turn
}

// secondTurn sends the first one back with the call's result, its reasoning as given.
func secondTurn(t *testing.T, host *hosts.Host, model, tenant string, turn sealedTurn,
	reasoning map[string]any) lab.Answer {
	t.Helper()
	input, err := json.Marshal([]any{
		map[string]any{"role": "user", "content": "How warm is it?"}, reasoning, turn.call,
		map[string]any{"type": "function_call_output", "call_id": turn.call["call_id"], "output": "21 degrees"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+lab.ResponsesPath, http.Header{"X-Tenant": {tenant}},
		strings.NewReader(fmt.Sprintf(`{"model":%q,"input":%s,%s}`, model, input, sealTools)))
}

// sealedAlone is reasoning of which the client sends back nothing that it could have written.
func sealedAlone(encrypted string) map[string]any {
	return map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": encrypted}
}

// checkThought: the server has read the thought between the question and the call.
func checkThought(t *testing.T, server *sim.Server, a lab.Answer) {
	t.Helper()
	if a.Status != 200 || !strings.Contains(a.Body, "It is mild.") {
		t.Fatalf("got %+v", a)
	}
	requests := server.Requests()
	prompt := lab.Vocabulary.DecodeString(requests[len(requests)-1].PromptIDs)
	if !strings.Contains(prompt, "How warm is it?<|end|><|start|>assistant<|channel|>analysis<|message|>"+thought+
		"<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}") {
		t.Errorf("the prompt is %s", prompt)
	}
}

// checkThoughtless: the server has read the question and the call, and no reasoning of another service between them.
func checkThoughtless(t *testing.T, server *sim.Server, a lab.Answer) {
	t.Helper()
	if a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	requests := server.Requests()
	prompt := lab.Vocabulary.DecodeString(requests[len(requests)-1].PromptIDs)
	if !strings.Contains(prompt, "How warm is it?<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather") {
		t.Errorf("the prompt is %s", prompt)
	}
}

func TestSealedReasoning(t *testing.T) {
	server, url := sealServer(t)
	for _, host := range sealHosts(t, url, lab.SealKey) {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", host.Name, stream), func(t *testing.T) {
				turn := firstTurn(t, host, lab.Model, "acme", stream)
				if turn.encrypted == "" || !strings.Contains(turn.body, thought) {
					t.Fatalf("neither sealed nor shown: %s", turn.body)
				}
				checkThought(t, server, secondTurn(t, host, lab.Model, "acme", turn, sealedAlone(turn.encrypted)))
				checkThought(t, server, secondTurn(t, host, lab.Model, "acme", turn, turn.reasoning))

				hidden := firstTurn(t, host, secretive, "acme", stream)
				if hidden.encrypted == "" || strings.Contains(hidden.body, "better ask") ||
					strings.Contains(hidden.body, "reasoning_text") {
					t.Fatalf("the reasoning is not hidden: %s", hidden.body)
				}
				checkThought(t, server, secondTurn(t, host, secretive, "acme", hidden, hidden.reasoning))
			})
		}
		t.Run(host.Name+"/refused", func(t *testing.T) { sealRefused(t, host, server) })
	}
}

// sealRefused sends back what must not open: nothing of it reaches the server.
func sealRefused(t *testing.T, host *hosts.Host, server *sim.Server) {
	turn := firstTurn(t, host, lab.Model, "acme", false)
	before := len(server.Requests())
	changed := []byte(turn.encrypted)
	changed[len(changed)/2] ^= 1
	for name, tt := range map[string]struct{ model, tenant, encrypted string }{
		"forged":         {lab.Model, "acme", string(changed)},
		"another tenant": {lab.Model, "evil", turn.encrypted},
		"another model":  {secretive, "acme", turn.encrypted},
	} {
		checkNotOpened(t, name, secondTurn(t, host, tt.model, tt.tenant, turn, sealedAlone(tt.encrypted)))
	}
	if n := len(server.Requests()); n != before {
		t.Errorf("%d requests reached the server", n-before)
	}
}

func checkNotOpened(t *testing.T, name string, a lab.Answer) {
	t.Helper()
	if a.Status != 400 || !strings.Contains(
		a.Body, `"param":"input[1].encrypted_content","code":"invalid_encrypted_content"`) {
		t.Errorf("%s: got %+v", name, a)
	}
}

// TestSealRotation changes the key as an operator does: a new one in front, later the old one away.
func TestSealRotation(t *testing.T) {
	server, url := sealServer(t)
	var turns []sealedTurn
	for _, host := range sealHosts(t, url, lab.SealKey) {
		turns = append(turns, firstTurn(t, host, lab.Model, "acme", false))
	}
	both := sealHosts(t, url, sealKeyB+","+lab.SealKey)
	for i, host := range both {
		// Sealed reasoning of one host opens in every other.
		for _, turn := range turns {
			checkThought(t, server, secondTurn(t, host, lab.Model, "acme", turn, sealedAlone(turn.encrypted)))
		}
		turns[i] = firstTurn(t, host, lab.Model, "acme", false)
	}
	old := firstTurn(t, sealHosts(t, url, lab.SealKey)[0], lab.Model, "acme", false)
	for i, host := range sealHosts(t, url, sealKeyB) {
		checkThought(t, server, secondTurn(t, host, lab.Model, "acme", turns[i], sealedAlone(turns[i].encrypted)))
		checkNotOpened(t, host.Name, secondTurn(t, host, lab.Model, "acme", old, sealedAlone(old.encrypted)))
	}
}

// TestNoSealKeys: without keys encrypted_content is null, and the reasoning travels in the open.
func TestNoSealKeys(t *testing.T) {
	server, url := sealServer(t)
	for _, host := range sealHosts(t, url, "") {
		turn := firstTurn(t, host, lab.Model, "acme", false)
		if value, there := turn.reasoning["encrypted_content"]; !there || value != nil {
			t.Errorf("%s: encrypted_content is %v", host.Name, value)
		}
		checkThought(t, server, secondTurn(t, host, lab.Model, "acme", turn, turn.reasoning))
		checkThoughtless(t, server, secondTurn(t, host, lab.Model, "acme", turn, sealedAlone("gAAAAABotdZ0")))
	}
}

// TestSealKeysStaySecret: Envoy's interface shows the configuration to everyone who may ask for it, and its log at
// debug level all that it does with it. Neither may have a key.
func TestSealKeysStaySecret(t *testing.T) {
	_, url := sealServer(t)
	t.Setenv(contract.SealKeysVariable, lab.SealKey)
	c, base := lab.StartUp(t, "--backend", "vllm="+url, "--model", lab.Model, "--admin", "127.0.0.1:0", "--log-level",
		"trace")
	host := &hosts.Host{Name: "harmony up", URL: base}
	if firstTurn(t, host, lab.Model, "", false).encrypted == "" {
		t.Fatal("nothing is sealed")
	}
	_, admin, _ := strings.Cut(c.Stdout.String(), "Envoy's admin interface: ")
	admin, _, _ = strings.Cut(admin, "\n")
	dump := lab.Do(lab.HTTP1(t), http.MethodGet, admin+"/config_dump", nil, nil)
	c.Stop(t, syscall.SIGTERM)
	_, key, _ := strings.Cut(lab.SealKey, ":")
	for where, text := range map[string]string{
		"config_dump": dump.Body, "standard output": c.Stdout.String(), "standard error": c.Stderr.String()} {
		if strings.Contains(text, key[:12]) {
			t.Errorf("a key is in the %s", where)
		}
	}
	if !strings.Contains(dump.Body, contract.SealKeysVariable) {
		t.Error("the dump has no configuration of ours")
	}
}

// TestWrongSealKeys: what cannot be read as keys stops the start, with the place and without the key.
func TestWrongSealKeys(t *testing.T) {
	t.Setenv(contract.SealKeysVariable, "a:c2VjcmV0")
	for _, kind := range []string{"envoy", "wazero"} {
		c := lab.RunHarmony(t, nil, "up", "--listen", "127.0.0.1:0", "--wasm", lab.Tool(t, "HARMONY_WASM"), "--host", kind,
			"--model", lab.Model, "--backend", "vllm=http://127.0.0.1:9")
		if !c.Ended(lab.ReadyLimit) {
			t.Fatalf("%s: it starts", kind)
		}
		said := c.Stderr.String()
		if c.ExitCode(t) == 0 || !strings.Contains(said, "HARMONY_SEAL_KEYS: key 1 (a): not 32 bytes") ||
			strings.Contains(said, "c2VjcmV0") {
			t.Errorf("%s: %s", kind, said)
		}
	}
}
