//go:build e2e && llamacpp

package llamacpp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// chatTemplate makes the server render conversations so that the puppet finds its script, and read answers as
// gpt-oss's.
var chatTemplate = []string{"--jinja", "--chat-template-file", "testdata/chat.jinja"}

// chatGateway starts an Envoy before the server's conversations.
func chatGateway(t *testing.T, s *engines.LlamaCPP, settings map[string]string) *hosts.Host {
	t.Helper()
	c := cases.Case{Settings: settings}
	config, err := c.On(contract.Chat).Config(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return lab.RunEnvoy(t, config)
}

const weatherTool = `{"type":"function","name":"get_weather","parameters":{"type":"object",` +
	`"properties":{"city":{"type":"string"}}}}`

// chatScripts are answers, and what clients see of them.
var chatScripts = []struct{ name, script, responses, chat string }{
	{"text", hello, `message "Hello!"`, `"Hello!" stop`},
	{"reasoning", "<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant" + hello,
		`reasoning "A greeting." message "Hello!"`, `(A greeting.) "Hello!" stop`},
	{"call", "<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather " +
		`<|constrain|>json<|message|>{"city":"Oslo"}<|call|>`,
		`reasoning "Look." call get_weather {"city":"Oslo"}`, `(Look.) get_weather {"city":"Oslo"} tool_calls`},
	{"preamble", "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary " +
		`to=functions.get_weather <|constrain|>json<|message|>{}<|call|>`,
		`message "I look." call get_weather {}`, `"I look." get_weather {} tool_calls`},
	{"several bytes", "<|channel|>final<|message|>naïve 🧑‍🚀" + engines.Goose + " 日本語<|return|>",
		`message "naïve 🧑‍🚀` + engines.Goose + ` 日本語"`, `"naïve 🧑‍🚀` + engines.Goose + ` 日本語" stop`},
}

// TestChatServer has a model behind llama.cpp's conversations, on Envoy with the filter that ships. The server reads
// the answers itself, or, with --reasoning-format none, leaves Harmony in the text. Clients must see the same.
func TestChatServer(t *testing.T) {
	for _, form := range []struct {
		name, reasoning string
		settings        map[string]string
	}{
		{"parsed", "auto", map[string]string{}},
		{"raw", "none", map[string]string{"speaks": contract.SpeaksHarmony}},
		{"raw, by its beginning", "none", map[string]string{}},
	} {
		t.Run(form.name, func(t *testing.T) {
			s := start(t, 1, 4096, append(chatTemplate, "--reasoning-format", form.reasoning)...)
			h := chatGateway(t, s, form.settings)
			for _, tt := range chatScripts {
				t.Run(tt.name, func(t *testing.T) {
					words, err := engines.Text(tt.script, engines.GenerationPrompt)
					if err != nil {
						t.Fatal(err)
					}
					if form.name == "raw, by its beginning" && tt.name == "preamble" {
						return // the server leaves out the header of the first message, so nothing says that it is Harmony
					}
					for _, stream := range []bool{false, true} {
						body := fmt.Sprintf(`{"model":%q,"stream":%v,"input":%s,"tools":[%s]}`,
							lab.Model, stream, lab.Quote(words), weatherTool)
						if got := responseLine(t, lab.Ask(client, h.URL+lab.ResponsesPath, body)); got != tt.responses {
							t.Errorf("Responses, streamed %v: %s\nwant %s", stream, got, tt.responses)
						}
						if form.name == "raw, by its beginning" {
							continue // Chat passes on unless the model is said to speak Harmony
						}
						body = fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%s}],`+
							`"tools":[{"type":"function","function":%s}]}`, lab.Model, stream, lab.Quote(words),
							strings.Replace(weatherTool, `"type":"function",`, "", 1))
						if got := chatLine(t, lab.Ask(client, h.URL+lab.ChatPath, body)); got != tt.chat {
							t.Errorf("Chat, streamed %v: %s\nwant %s", stream, got, tt.chat)
						}
					}
				})
			}
		})
	}
}

// lastData returns an answer of status 200, or the last event of a stream before [DONE].
func lastData(t *testing.T, a lab.Answer) (all []string) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d: %s", a.Status, a.Body)
	}
	if strings.HasPrefix(a.Body, "{") {
		return []string{a.Body}
	}
	for line := range strings.SplitSeq(a.Body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
			all = append(all, data)
		}
	}
	return all
}

// responseLine writes the items of a response in one line.
func responseLine(t *testing.T, a lab.Answer) string {
	t.Helper()
	data := lastData(t, a)
	type response struct {
		Status string `json:"status"`
		Output []struct {
			Type, Name, Arguments string
			Content               []struct{ Text string }
		} `json:"output"`
		Usage struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	var r struct {
		response
		Response *response `json:"response"`
	}
	if err := json.Unmarshal([]byte(data[len(data)-1]), &r); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	if r.Response != nil {
		r.response = *r.Response
	}
	if r.Status != "completed" || r.Usage.Input < engines.Distance() || r.Usage.Output < 5 {
		t.Errorf("%s, %+v", r.Status, r.Usage)
	}
	var words []string
	for _, item := range r.Output {
		if item.Type == "function_call" {
			words = append(words, "call "+item.Name+" "+item.Arguments)
			continue
		}
		for _, c := range item.Content {
			words = append(words, fmt.Sprintf(`%s "%s"`, item.Type, c.Text))
		}
	}
	return strings.Join(words, " ")
}

// chatLine writes a Chat answer in one line.
func chatLine(t *testing.T, a lab.Answer) string {
	t.Helper()
	type message struct {
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content"`
		Calls     []struct {
			Function struct{ Name, Arguments string } `json:"function"`
		} `json:"tool_calls"`
	}
	var reasoning, content, calls, finish string
	for _, data := range lastData(t, a) {
		var chunk struct {
			Choices []struct {
				Message, Delta message
				Finish         string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, c := range chunk.Choices {
			for _, m := range []message{c.Message, c.Delta} {
				reasoning, content = reasoning+m.Reasoning, content+m.Content
				for _, call := range m.Calls {
					if call.Function.Name != "" {
						calls += call.Function.Name + " "
					}
					calls += call.Function.Arguments
				}
			}
			finish += c.Finish
		}
	}
	var words []string
	if reasoning != "" {
		words = append(words, "("+reasoning+")")
	}
	if content != "" {
		words = append(words, `"`+content+`"`)
	}
	if calls != "" {
		words = append(words, calls)
	}
	return strings.Join(append(words, finish), " ")
}

// TestChatServerErrors has a conversation that is too long, an answer that is cut off, and one that the server's parser
// refuses.
func TestChatServerErrors(t *testing.T) {
	s := start(t, 1, 1024, chatTemplate...)
	h := chatGateway(t, s, map[string]string{})
	long := lab.Quote(strings.Repeat("x ", 3000))
	for _, stream := range []bool{false, true} {
		a := lab.Ask(client, h.URL+lab.ResponsesPath, fmt.Sprintf(
			`{"model":%q,"stream":%v,"input":%s}`, lab.Model, stream, long))
		lab.WantRefused(t, a, 400, "context_length_exceeded")
		a = lab.Ask(client, h.URL+lab.ChatPath, fmt.Sprintf(
			`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%s}]}`, lab.Model, stream, long))
		lab.WantRefused(t, a, 400, "context_length_exceeded")

		words, err := engines.Text("<|channel|>final<|message|>"+strings.Repeat("All work and no play. ", 9),
			engines.GenerationPrompt)
		if err != nil {
			t.Fatal(err)
		}
		a = lab.Ask(client, h.URL+lab.ResponsesPath, fmt.Sprintf(`{"model":%q,"stream":%v,"max_output_tokens":16,"input":%s}`,
			lab.Model, stream, lab.Quote(words)))
		if a.Status != 200 || !strings.Contains(a.Body, `"incomplete_details":{"reason":"max_output_tokens"}`) {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
		if words, err = engines.Text("Plain text.<|return|>", engines.GenerationPrompt); err != nil {
			t.Fatal(err)
		}
		a = lab.Ask(client, h.URL+lab.ResponsesPath, fmt.Sprintf(`{"model":%q,"stream":%v,"input":%s}`,
			lab.Model, stream, lab.Quote(words)))
		if a.Status != 500 || !strings.Contains(a.Body, `"message":"The model produced output that does not match`) {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
	}
}
