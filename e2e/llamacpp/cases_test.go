//go:build e2e && llamacpp

package llamacpp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
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
		with, why := carrying(t, c)
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
var counted = regexp.MustCompile(`"(prompt_tokens|input_tokens|total_tokens|cached_tokens)":\d+`)

func agreeing(view string) string {
	return counted.ReplaceAllString(strings.TrimSpace(cases.Fold(view)), `"$1":0`)
}

// mark is a text that the gateway renders as it is, and that no case has.
const mark = "Says the puppet."

// carrying returns the case with its script in the text of the request's last message, or why it cannot carry it.
func carrying(t *testing.T, c *cases.Case) (*cases.Case, string) {
	t.Helper()
	switch {
	case c.API() == "" || !strings.HasPrefix(c.Member("want"), "200"):
		return nil, "no answer of a model"
	case c.Settings["server_fault"] != "" || c.Settings["server_context"] != "" || c.Settings["front_end"] != "":
		return nil, "about a server's fault, context or front end"
	case c.Settings["context_length"] != "" || c.Settings["thinking_token_budget"] != "":
		return nil, "about the context's length, or a server's limit on reasoning"
	case c.ByChannels() && strings.Contains(c.Member("want"), `"conversation"`):
		return nil, "an answer that repeats the request's text"
	case strings.Contains(c.Member("want"), "\uFFFD"):
		return nil, "a part of a character, of which the server shows nothing"
	}
	script, why := scriptOf(c)
	if why != "" {
		return nil, why
	}
	marked, ok := withText(c, mark)
	if !ok {
		return nil, "the last message is not a user's text or a tool's result"
	}
	sent := sentFor(t, marked.On(contract.LlamaCPP))
	if sent.refused {
		return marked, "" // the refusal is looked at
	}
	prompt := strings.Split(o200k.Tokenizer().DecodeString(sent.Prompt), mark)
	if len(prompt) != 2 {
		return nil, "the text is not rendered as it is"
	}
	if !slices.Equal(sent.Prompt, sentFor(t, marked).Prompt) {
		return nil, "a call that begins in the prompt, which the cases with structured_outputs: none have"
	}
	ids := engines.Spell(script)
	if !slices.ContainsFunc(ids, isEnd) && sent.Predict >= len(ids) {
		return nil, "the script has no end"
	}
	text, err := engines.Text(script, prompt[1])
	if err != nil {
		return nil, "no text can spell the script"
	}
	with, _ := withText(c, text)
	return with, ""
}

// sentRequest is what a server gets of a case's request.
type sentRequest struct {
	Prompt  []uint32 `json:"prompt"`
	Predict int      `json:"n_predict"`
	// refused reports whether it gets nothing, because the gateway refuses the request.
	refused bool
}

// sentFor returns what the case's server gets.
func sentFor(t *testing.T, c *cases.Case) (sent sentRequest) {
	t.Helper()
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	config.Mode = contract.ModeFull
	action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: o200k.Tokenizer()}))
	if action.Forward == nil {
		return sentRequest{refused: true}
	}
	if err := json.Unmarshal(action.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent
}

// scriptOf returns the script of a case, with control tokens spelled, or why it is not one that a model can say.
func scriptOf(c *cases.Case) (script, why string) {
	lines := strings.Split(strings.TrimSpace(c.Member("script")), "\n")
	var line struct {
		Text   string          `json:"text"`
		Tokens []uint32        `json:"tokens"`
		Fault  json.RawMessage `json:"fault"`
		Finish string          `json:"finish"`
	}
	if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &line) != nil {
		return "", "no script of one line"
	}
	switch {
	case line.Fault != nil || line.Finish != "":
		return "", "about a server's fault, context or front end"
	case line.Text != "":
		return line.Text, ""
	}
	script = o200k.Tokenizer().DecodeString(line.Tokens)
	if !slices.Equal(engines.Spell(script), line.Tokens) {
		return "", "tokens that no text is encoded as"
	}
	return script, ""
}

// withText returns the case with another text of its last message. It reports false if that is not a user's text or a
// tool's result. The rest of the request stays as it is, since answers repeat parts of it.
func withText(c *cases.Case, text string) (*cases.Case, bool) {
	at := lastText(c)
	if at == nil {
		return nil, false
	}
	body, err := jsonparser.Set(bytes.Clone(c.Body), []byte(lab.Quote(text)), at...)
	with := *c
	with.Body = body
	return &with, err == nil
}

// lastText returns where the text of the last message is, or nil if that is not a user's text or a tool's result.
func lastText(c *cases.Case) []string {
	at := "messages"
	if c.API() == "responses" {
		at = "input"
	}
	if _, kind, _, err := jsonparser.Get(c.Body, at); err == nil && kind == jsonparser.String {
		return []string{at}
	}
	last, count := []byte(nil), 0
	if _, err := jsonparser.ArrayEach(c.Body, func(item []byte, _ jsonparser.ValueType, _ int, _ error) {
		last, count = item, count+1
	}, at); err != nil || count == 0 {
		return nil
	}
	role, _ := jsonparser.GetString(last, "role")
	kind, _ := jsonparser.GetString(last, "type")
	path := []string{at, fmt.Sprintf("[%d]", count-1), "content"}
	switch {
	case role == "user" || role == "tool":
	case kind == "function_call_output" || kind == "custom_tool_call_output":
		path[2] = "output"
	default:
		return nil
	}
	switch content, kind, _, _ := jsonparser.Get(last, path[2]); kind {
	case jsonparser.String:
		return path
	case jsonparser.Array:
		_, _, _, err := jsonparser.Get(content, "[1]")
		if _, alone := jsonparser.GetString(content, "[0]", "text"); alone == nil && err != nil {
			return append(path, "[0]", "text")
		}
	}
	return nil
}

// gateway starts an Envoy before the server.
func gateway(t *testing.T, s *Server) *hosts.Host {
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
