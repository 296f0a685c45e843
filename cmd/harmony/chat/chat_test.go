package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// gateway answers the requests of both APIs with streams, one after the other, and keeps what it got.
type gateway struct {
	*httptest.Server
	got []string
}

func startGateway(t *testing.T, streams ...string) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"gpt-oss-20b"},{"id":"other"}]}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		g.got = append(g.got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		if len(g.got) > len(streams) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`)
			return
		}
		fmt.Fprint(w, streams[len(g.got)-1])
	}))
	t.Cleanup(g.Close)
	return g
}

// events returns a stream.
func events(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

func talkTo(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	root := cli.Root(Command())
	root.SetIn(strings.NewReader(input))
	var out, errors bytes.Buffer
	code = cli.Execute(t.Context(), root, append([]string{"chat"}, args...), &out, &errors)
	return code, out.String(), errors.String()
}

var chatCalls = events(`{"choices":[{"delta":{"reasoning":"Look it "}}]}`, `{"choices":[{"delta":{"reasoning":"up."}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":""}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Paris\"}"}}]}}]}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"time","arguments":"{}"}}]}}]}`,
	`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `{"choices":[],"usage":{}}`, `[DONE]`)

var chatAnswer = events(`{"choices":[{"delta":{"content":"Sunny,\nat no"}}]}`, `{"choices":[{"delta":{"content":"on.\u001b[2J"}}]}`,
	`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)

const paris = `{"type":"function_call","call_id":"c1","name":"weather","arguments":"{\"city\":\"Paris\"}"}`

var responsesCalls = events(`{"type":"response.created","response":{}}`, `{"type":"response.reasoning_text.delta","delta":"Look it "}`,
	`{"type":"response.reasoning_text.delta","delta":"up."}`,
	`{"type":"response.output_item.added","item":{"type":"function_call","name":"weather"}}`,
	`{"type":"response.function_call_arguments.delta","delta":"{\"city\":\"Paris\"}"}`,
	`{"type":"response.output_item.added","item":{"type":"function_call","name":"time"}}`,
	`{"type":"response.function_call_arguments.delta","delta":"{}"}`,
	`{"type":"response.completed","response":{"output":[{"type":"reasoning","encrypted_content":"xyz"},`+paris+
		`,{"type":"function_call","call_id":"c2","name":"time","arguments":"{}"}]}}`)

var responsesAnswer = events(`{"type":"response.output_text.delta","delta":"Sunny,\nat no"}`,
	`{"type":"response.output_text.delta","delta":"on.\u001b[2J"}`,
	`{"type":"response.completed","response":{"output":[{"type":"message","role":"assistant"}]}}`)

const shown = "Look it up.\nweather{\"city\":\"Paris\"}\ntime{}\nSunny,\nat noon.\\x1b[2J\n"

// TestSave checks that a file of another origin is not replaced, and that ~ is the user's home.
func TestSave(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	notes := filepath.Join(home, "notes.txt")
	if err := os.WriteFile(notes, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startGateway(t, chatAnswer)
	_, stdout, _ := talkTo(t, "/save ~/empty.json\na\n/save "+notes+"\n/save ~/chat.json\n/save ~/chat.json\n", g.URL)
	if text, err := os.ReadFile(notes); err != nil || string(text) != "precious" ||
		!strings.Contains(stdout, notes+" exists; name another file") {
		t.Errorf("%s, %v\n%s", text, err, stdout)
	}
	if _, err := os.Stat(filepath.Join(home, "empty.json")); err == nil ||
		!strings.Contains(stdout, "nothing has been said yet") {
		t.Errorf("%v\n%s", err, stdout)
	}
	if strings.Count(stdout, "saved in ~/chat.json") != 2 {
		t.Errorf("its own file: %s", stdout)
	}
	if text, err := os.ReadFile(filepath.Join(home, "chat.json")); err != nil || !strings.Contains(string(text), "Sunny") {
		t.Errorf("%s, %v\n%s", text, err, stdout)
	}
}

// TestTalk talks by each API: the model thinks, calls two tools, gets their results, and answers. The next message has
// all of that, and one of a new conversation nothing.
func TestTalk(t *testing.T) {
	t.Setenv(cli.OpenAIKeyVariable, "sk-1")
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(`[{"type":"function","name":"weather"},{"type":"function","function":{"name":"time"}}]`),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path     string
		args           []string
		calls, answers string
		first          []string
		kept           []string // in the second message's request
	}{
		{"Chat", "/v1/chat/completions", nil, chatCalls, chatAnswer,
			[]string{`"content":"Weather?"`, `"reasoning_effort":"low"`, `{"role":"developer","content":"Be brief."}`,
				`{"function":{"name":"weather"},"type":"function"}`, `{"function":{"name":"time"},"type":"function"}`},
			[]string{`"reasoning":"Look it up."`, `{"role":"tool","content":"sun","tool_call_id":"c1"}`,
				`{"role":"tool","content":"noon","tool_call_id":"c2"}`, `"content":"Sunny,\nat noon.`}},
		{"Responses", "/v1/responses", []string{"--responses"}, responsesCalls, responsesAnswer,
			[]string{`"content":"Weather?"`, `"reasoning":{"effort":"low"}`, `"instructions":"Be brief."`,
				`{"name":"weather","type":"function"}`, `{"name":"time","type":"function"}`},
			[]string{`"encrypted_content":"xyz"`, `{"call_id":"c1","output":"sun","type":"function_call_output"}`,
				`{"call_id":"c2","output":"noon","type":"function_call_output"}`, `{"type":"message","role":"assistant"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startGateway(t, tt.calls, tt.answers, tt.answers, tt.answers)
			saved := filepath.Join(t.TempDir(), "saved.json")
			code, stdout, stderr := talkTo(t, "Weather?\nsun\nnoon\n\nMore?\n/save "+saved+"\n/new\nAgain?",
				append([]string{g.URL + "/v1/", "--effort", "low", "--instructions", "Be brief.", "--tools", tools}, tt.args...)...)
			if code != 0 || stderr != "" || !strings.HasPrefix(stdout, shown+"Sunny") {
				t.Fatalf("%d %q\n%s", code, stderr, stdout)
			}
			if len(g.got) != 4 || !strings.HasPrefix(g.got[0], tt.path+" Bearer sk-1 ") {
				t.Fatalf("the gateway got %q", g.got)
			}
			for _, want := range tt.first {
				if !strings.Contains(g.got[0], want) {
					t.Errorf("no %s in %s", want, g.got[0])
				}
			}
			for _, want := range append(tt.kept, `"content":"Weather?"`) {
				if !strings.Contains(g.got[2], want) || strings.Contains(g.got[3], want) {
					t.Errorf("%s is not in the second message only:\n%s\n%s", want, g.got[2], g.got[3])
				}
			}
			text, err := os.ReadFile(saved)
			var items []any
			if err != nil || json.Unmarshal(text, &items) != nil || len(items) < 7 {
				t.Errorf("saved: %v %s", err, text)
			}
		})
	}
}

// TestTalkFails sees refusals, streams without an end, and an address without a gateway in words. The talk goes on, and
// the exit status tells whether the last answer failed.
func TestTalkFails(t *testing.T) {
	cut := events(`{"choices":[{"delta":{"content":"Sun"}}]}`)
	failed := events(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"It died."}}}`)
	for _, tt := range []struct {
		name, input, want string
		streams, args     []string
		code              int
	}{
		{"refused", "a\n", "429 rate_limit_exceeded: Slow down.", nil, nil, 1},
		{"cut", "a\n", "Sun\nthe stream ended before the answer did\n", []string{cut}, nil, 1},
		{"cut, then answered", "a\nb\n", "Sun\nthe stream ended", []string{cut, chatAnswer}, nil, 0},
		{"failed", "a\n", "server_error: It died.", []string{failed}, []string{"--responses"}, 1},
		{"failed in the stream", "a\n", "Broken.", []string{events(`{"error":{"message":"Broken."}}`)}, nil, 1},
		{"a command", "/what\n/help\n/save\n/exit\na\n", "/what is not known", nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startGateway(t, tt.streams...)
			code, stdout, stderr := talkTo(t, tt.input, append([]string{g.URL}, tt.args...)...)
			if code != tt.code || !strings.Contains(stdout, tt.want) {
				t.Errorf("%d %q\n%s", code, stderr, stdout)
			}
		})
	}
	for want, args := range map[string][]string{
		"is not the URL of a gateway": {"here"}, "is not expected here": {"http://a", "http://b"},
		"no-such-file": {"http://a", "--tools", "no-such-file"}, "--color x is not known": {"http://a", "--color", "x"},
	} {
		if code, _, stderr := talkTo(t, "", args...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"message":"Not Found","type":"Not Found","param":null,"code":404}}`)
	}))
	t.Cleanup(engine.Close)
	if code, stdout, _ := talkTo(t, "a\n", engine.URL, "--model", "m"); code != 1 || !strings.Contains(stdout,
		"has no /v1/chat/completions: is it the gateway, and not the server behind it?") {
		t.Errorf("%d %s", code, stdout)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if code, _, stderr := talkTo(t, "a\n", gone.URL); code != 1 || !strings.Contains(stderr, "is harmony up running?") {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestGatewayThatRunsHere checks which gateway is asked when none is named.
func TestGatewayThatRunsHere(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range cli.OpenAIServerVariables {
		t.Setenv(name, "")
	}
	wants := func(want string, failure string) {
		t.Helper()
		if got, err := gatewayOf(nil); got != want || (err == nil) != (failure == "") ||
			err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("got %q, %v; want %q, %s", got, err, want, failure)
		}
	}
	wants("http://127.0.0.1:8080", "")
	t.Setenv("OPENAI_API_BASE", "http://engine/v1")
	wants("http://engine/v1", "")
	for i, want := range []string{"http://127.0.0.1:9001", ""} {
		folder, err := cli.NewRunFolder()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(folder.Remove)
		run := cli.Run{Page: "127.0.0.1:1", Gateway: fmt.Sprintf("http://127.0.0.1:900%d", i+1)}
		if err := run.Announce(folder); err != nil {
			t.Fatal(err)
		}
		failure := ""
		if i == 1 {
			failure = "2 gateways run here; name one: http://127.0.0.1:9001, http://127.0.0.1:9002"
		}
		wants(want, failure)
	}
	if got, err := gatewayOf([]string{"http://named"}); got != "http://named" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
