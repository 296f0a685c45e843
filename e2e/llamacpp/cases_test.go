//go:build e2e && llamacpp

package llamacpp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestCases runs the suite's scripts through Envoy with the filter that ships: every case whose request can carry its
// script to the puppet in the text of its last message. The client must see what it sees before the simulated vLLM, in
// whatever pieces. Requests that llama.cpp cannot serve are refused.
func TestCases(t *testing.T) {
	s := start(t, 4, 4096)
	counts, told := map[string]int{}, map[string]int{}
	cases.Each(t, func(t *testing.T, c *cases.Case, _ string) *envoy {
		return &envoy{start: sync.OnceValue(func() *hosts.Host {
			config, err := c.On(contract.LlamaCPP).Config(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			return lab.RunEnvoy(t, config)
		})}
	}, func(t *testing.T, e *envoy, c *cases.Case, mode string) {
		if mode != contract.ModeFull {
			return // the engine is the same
		}
		with, why := engines.Carry(t, c, contract.LlamaCPP)
		if c.Settings["token_ids"] != "" {
			why = "about token ids, which these servers do not send"
		}
		if why != "" {
			counts[why]++
			return
		}
		client := &http.Client{Timeout: answerLimit}
		defer client.CloseIdleConnections()
		got, err := with.Send(client, e.start().URL)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(got, "400") {
			code := refusalCode.FindString(got)
			if code == "" {
				t.Errorf("refused: %s", got)
			}
			counts["refused: "+code]++
			return
		}
		told[c.API()]++
		if got, want := agreeing(got), agreeing(c.Member("want")); got != want {
			t.Errorf("the client sees\n%s\nwant\n%s", got, want)
		}
	})
	t.Logf("%v cases have been told by a real engine; left out: %v", told, counts)
	if told["chat"] < 95 || told["responses"] < 50 {
		t.Errorf("only %v cases have been told by a real engine", told)
	}
}

// envoy is an Envoy that starts with the first case that it is asked for.
type envoy struct{ start func() *hosts.Host }

// refusalCode finds the code of a refusal of what kinds of servers lack.
var refusalCode = regexp.MustCompile(`"code":"(unsupported_parameter|unsupported_value|tool_choice_not_supported)"`)

// counted finds the counts of a prompt, which is longer with a script in it.
var counted = regexp.MustCompile(`"(prompt_tokens|input_tokens|total_tokens|cached_tokens|cache_read_input_tokens)":\d+`)

func agreeing(view string) string {
	return counted.ReplaceAllString(strings.TrimSpace(cases.Fold(view)), `"$1":0`)
}

// gateway starts an Envoy before the server.
func gateway(t *testing.T, s *engines.LlamaCPP) *hosts.Host {
	t.Helper()
	c := cases.Case{Settings: map[string]string{}}
	config, err := c.On(contract.LlamaCPP).Config(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return lab.RunEnvoy(t, config)
}

// askThrough sends a Chat request whose answer is the script.
func askThrough(t *testing.T, url, script string, stream bool, header ...string) *http.Response {
	t.Helper()
	text, err := engines.Text(script, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"model": lab.Model, "stream": stream,
		"messages": []any{map[string]any{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+lab.ChatPath, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

const hello = "<|channel|>final<|message|>Hello!<|return|>"

// TestClientLeaves lets a client leave an answer without end. The server's only slot then answers the next request. The
// gateway does not pass on the header with the conversation's name, so no one can read the answer by that name.
func TestClientLeaves(t *testing.T) {
	s := start(t, 1, 131072)
	h := gateway(t, s)
	first := askThrough(t, h.URL, "<|channel|>final<|message|>On and on.", true, "X-Conversation-Id", "somebody")
	if n, err := first.Body.Read(make([]byte, 1)); n != 1 {
		t.Fatalf("no answer: %v", err)
	}
	if got := slotsInUse(t, s); got != 1 {
		t.Fatalf("%d slots in use beside an open stream, want 1", got)
	}
	first.Body.Close()
	began := time.Now()
	if body := string(readAll(t, askThrough(t, h.URL, hello, false))); !strings.Contains(body, `"content":"Hello!"`) {
		t.Errorf("got %s", body)
	}
	t.Logf("the next request was answered after %v", time.Since(began).Round(time.Millisecond))
	if replay := get(t, s, "/v1/stream?conv_id=somebody"); strings.Contains(replay, `"stop":false`) {
		t.Errorf("anyone can read %.200s", replay)
	}
}

// TestCachedTokens asks for the same twice: all tokens but the last come from the server's cache.
func TestCachedTokens(t *testing.T) {
	h := gateway(t, start(t, 1, 4096))
	for i := range 2 {
		var answer struct {
			Usage struct {
				Prompt  int `json:"prompt_tokens"`
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(readAll(t, askThrough(t, h.URL, hello, false)), &answer); err != nil {
			t.Fatal(err)
		}
		want := []int{0, answer.Usage.Prompt - 1}[i]
		if answer.Usage.Prompt < engines.Distance() || answer.Usage.Details.Cached != want {
			t.Errorf("request %d: %+v, want %d cached", i, answer.Usage, want)
		}
	}
}

// TestConnections sends streams one after another, as quickly as they come. The server closes the connection of each
// when it is used again, and no request may be lost.
func TestConnections(t *testing.T) {
	h := gateway(t, start(t, 1, 4096))
	for i := range 20 {
		if body := string(readAll(t, askThrough(t, h.URL, hello, true))); !strings.Contains(body, "[DONE]") {
			t.Fatalf("request %d: %s", i, body)
		}
	}
}
