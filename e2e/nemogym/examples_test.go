//go:build e2e

package nemogym

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	apiKey   = "token-abc123"
	question = "What is the weather in Paris?"
	// thenCall and thenAnswer are what the model writes. The simulated server shows them as vLLM does with the parsers
	// hermes and qwen3.
	thenCall = "<|channel|>analysis<|message|>I need the tool.<|end|><|start|>assistant<|channel|>commentary " +
		"to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Paris\"}<|call|>"
	thenAnswer = "<|channel|>analysis<|message|>It rains.<|end|><|start|>assistant<|channel|>final<|message|>Rain." +
		"<|return|>"
)

// policyServers runs two servers with Qwen3. An empty key is none.
func policyServers(t *testing.T, key string) (servers [2]*sim.Server, urls [2]string) {
	t.Helper()
	for i := range servers {
		servers[i], urls[i] = lab.RunSim(t, sim.Options{
			Kind: sim.Chat, Models: []string{theModel}, APIKey: key, ChatForm: sim.ChatReasoning,
			Script: sim.NewScript(
				sim.Line{Last: "Rain", Tokens: lab.Tokens(thenAnswer)},
				sim.Line{Match: question, Tokens: lab.Tokens(thenCall)},
			),
		})
	}
	return servers, urls
}

// example returns an example's file with these servers instead of its own. The host wazero knows no sessions,
// and has no keys for servers.
func example(t *testing.T, host, name string, urls [2]string) string {
	t.Helper()
	text, err := os.ReadFile(lab.File("examples/nemo-gym/" + name))
	if err != nil {
		t.Fatal(err)
	}
	changes := []struct{ old, new string }{
		{"http://gpu-node-1:10240", urls[0]}, {"http://gpu-node-2:10240", urls[1]},
		{"policy: session", "policy: least_request"}, {"session:", "# session:"}, {"authorization:", "# authorization:"},
	}
	if host == "envoy" {
		changes = changes[:2]
	}
	for _, c := range changes {
		if bytes.Count(text, []byte("    "+c.old))+bytes.Count(text, []byte("- "+c.old)) != 1 {
			t.Fatalf("%s does not have %q once", name, c.old)
		}
		text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.new))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExamples serves examples/nemo-gym by the program, on both hosts, and has agents with a tool: in Envoy each keeps
// its server by a cookie, and the servers get the key, and what the files set.
func TestExamples(t *testing.T) {
	for _, host := range []string{"wazero", "envoy"} {
		for _, file := range []string{"inference.yaml", "training.yaml"} {
			t.Run(host+"/"+file, func(t *testing.T) {
				key := ""
				if host == "envoy" {
					key = apiKey
				}
				servers, urls := policyServers(t, key)
				up, url := lab.StartUpWith(t, []string{"POLICY_API_KEY=" + apiKey}, "--host", host, "--config",
					example(t, host, file, urls))
				training := file == "training.yaml"
				// Two servers and so many sessions: with fair dice one is left out once in 2^19 runs.
				const sessions = 20
				before := [2]int{}
				for range sessions {
					runAgent(t, url, training, unchanged)
					first := before[0]
					asked := askedSince(servers, &before)
					if host == "envoy" && before[0] == first+1 {
						t.Errorf("a session went to both servers")
					}
					checkAsked(t, asked, key, training)
				}
				for i, server := range servers {
					if host == "envoy" && len(lab.Completions(server)) == 0 {
						t.Errorf("server %d was not asked", i)
					}
				}
				if host == "wazero" {
					lab.StopWazero(t, up)
				} else {
					up.Stop(t, syscall.SIGTERM)
				}
			})
		}
	}
}

// passage reads a request or a response by a class of a client's, and writes it again.
type passage func(class string, value map[string]any) map[string]any

// unchanged is the passage through a client without classes.
func unchanged(_ string, value map[string]any) map[string]any { return value }

// runAgent has a session of two turns: a call, and an answer.
func runAgent(t *testing.T, url string, training bool, through passage) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := lab.HTTP1(t)
	client.Jar = jar
	request := map[string]any{
		"model": "any-name",
		"tools": []any{map[string]any{"type": "function", "name": "get_weather", "strict": false,
			"parameters": map[string]any{"type": "object", "properties": map[string]any{
				"city": map[string]any{"type": "string"}}}}},
		"input": question,
	}
	ask := func() []any {
		a := lab.Ask(client, url+lab.ResponsesPath, encode(t, through("NeMoGymResponseCreateParamsNonStreaming", request)))
		if a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %s (%v)", a.Status, a.Body, a.Err)
		}
		response := through("NeMoGymResponse", object(t, a.Body))
		if response["model"] != "any-name" {
			t.Errorf("the answer's model is %v", response["model"])
		}
		return elements(response["output"])
	}
	first := ask()
	call, _ := first[len(first)-1].(map[string]any)
	want := sayings{reasoning: "I need the tool.", calls: fmt.Sprintln(call["call_id"], "get_weather", `{"city":"Paris"}`)}
	if got := said(first); got != want {
		t.Errorf("the first turn says %+v, want %+v", got, want)
	}
	request["input"] = grown("responses", question, map[string]any{"output": first}, []any{map[string]any{
		"type": "function_call_output", "call_id": call["call_id"], "output": "Rain"}})
	second := ask()
	if got := said(second); got != (sayings{reasoning: "It rains.", text: "Rain."}) {
		t.Errorf("the second turn says %+v", got)
	}
	for i, items := range [][]any{first, second} {
		last, _ := items[len(items)-1].(map[string]any)
		for _, name := range idMembers {
			if n := len(elements(last[name])); (n > 0) != training {
				t.Errorf("turn %d has %d elements in %s", i, n, name)
			}
		}
	}
}

// askedSince returns what the servers were asked since they had so many requests, and sets how many they have now.
func askedSince(servers [2]*sim.Server, before *[2]int) (asked []sim.Request) {
	for i, server := range servers {
		all := lab.Completions(server)
		asked = append(asked, all[before[i]:]...)
		before[i] = len(all)
	}
	return asked
}

// checkAsked looks at the two requests of a session, in any order.
func checkAsked(t *testing.T, asked []sim.Request, key string, training bool) {
	t.Helper()
	slices.SortFunc(asked, func(a, b sim.Request) int { return len(a.Body) - len(b.Body) })
	if len(asked) != 2 {
		t.Fatalf("a session of %d requests", len(asked))
	}
	for i := range asked {
		if got := strings.TrimPrefix(asked[i].Header.Get("authorization"), "Bearer "); got != key {
			t.Errorf("the server got the authorization %q", got)
		}
		body := object(t, string(asked[i].Body))
		if body["model"] != theModel {
			t.Errorf("the server was asked for the model %v", body["model"])
		}
		kwargs, _ := body["chat_template_kwargs"].(map[string]any)
		if !training && (kwargs["enable_thinking"] != true || number(body["top_k"]) != 20) {
			t.Errorf("the server was asked %s", asked[i].Body)
		}
	}
	messages := elements(object(t, string(asked[1].Body))["messages"])
	if len(messages) != 3 {
		t.Fatalf("%d messages in the second turn", len(messages))
	}
	message, _ := messages[1].(map[string]any)
	for _, name := range []string{"reasoning", "reasoning_content"} {
		if message[name] != "I need the tool." {
			t.Errorf("%s went back as %v", name, message[name])
		}
	}
	for _, name := range idMembers {
		if (len(elements(message[name])) > 0) != training {
			t.Errorf("%s went back as %s", name, shown(t, message[name]))
		}
	}
	if strings.Contains(string(asked[1].Body), "any-name") {
		t.Error("the server got the client's name of the model")
	}
}
