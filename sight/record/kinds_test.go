package record

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	testPrompt = "<|start|>user<|message|>Hi<|end|><|start|>assistant"
	testAnswer = "<|channel|>analysis<|message|>They greet: é😀<|end|><|start|>assistant" +
		"<|channel|>commentary to=functions.f<|message|>{\"a\":1}<|call|>"
)

// asked returns a simulated server's request and answer. testAnswer is what it writes.
func asked(t *testing.T, o sim.Options) (sent, answer []byte, contentType string) {
	t.Helper()
	tok := o200k.Tokenizer()
	o.Script = sim.NewScript(sim.Line{Tokens: tok.AppendEncodeSpecial(nil, testAnswer)})
	o.AnyPrompt, o.CutBytes = true, 7
	s := sim.New(o)
	t.Cleanup(func() { s.Close() })
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := backend.Named(o.Kind)
	sent = kind.AppendRequest(nil, &backend.Request{
		Model: sim.DefaultModel, Prompt: tok.AppendEncodeSpecial(nil, testPrompt), PromptText: []byte(testPrompt),
		Conversation: func(dst []byte) []byte {
			return append(dst, `,"messages":[{"role":"user","content":"Hi"}],`+
				`"tools":[{"type":"function","function":{"name":"f"}}]`...)
		},
		MaxTokens: 100, StopTokens: []uint32{200002, 200012},
	})
	if kind.Facts().Renders {
		sent = rendered(t, url, sent)
	}
	response, err := http.Post(url+kind.Facts().Path, "application/json", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, answer)
	}
	return sent, answer, response.Header.Get("Content-Type")
}

// rendered has a server render a conversation, and returns what asks it for the answer.
func rendered(t *testing.T, url string, conversation []byte) []byte {
	t.Helper()
	response, err := http.Post(url+contract.RenderPath, "application/json", bytes.NewReader(conversation))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ids, out, ok := backend.ReadRendered(nil, body, contract.MaxContextLength)
	if err != nil || !ok {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, body)
	}
	return backend.AppendRendered(nil, sim.DefaultModel, ids, 100, &out, nil)
}

// recorded is what a record has of an answer.
type recorded struct {
	prompt, messages, text, chunks string
	ids                            int
}

func readRecorded(t *testing.T, r *Recorder, id string) recorded {
	t.Helper()
	lines, _ := r.Lines(id)
	var out recorded
	for text := range bytes.Lines(lines) {
		l, err := line.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		switch l := l.(type) {
		case *line.Sent:
			out.prompt = l.PromptText + o200k.Tokenizer().DecodeString(l.PromptIDs)
			if bytes.Contains(l.Body, []byte("200006")) || bytes.Contains(l.Body, []byte("<|start|>")) {
				t.Errorf("the prompt is in the body too: %s", l.Body)
			}
		case *line.Message:
			out.messages += "|" + l.Channel + " " + l.Recipient + ":"
		case *line.Tokens:
			out.messages += l.Content
			out.text += l.Text
			out.ids += len(l.IDs)
		case *line.Piece:
			if l.Type == line.TypeChunk {
				out.chunks += l.Body
			}
		}
	}
	return out
}

// TestKinds records the answer of each kind of server, in pieces that end anywhere.
func TestKinds(t *testing.T) {
	const want = `|analysis :They greet: é😀|commentary functions.f:{"a":1}`
	for _, name := range contract.ServerKinds() {
		t.Run(name, func(t *testing.T) {
			kind := contract.KindNamed(name)
			o := sim.Options{Kind: name}
			o.PrintSpecials = name == contract.Text || name == contract.Ollama
			sent, answer, contentType := asked(t, o)
			r := newRecorder(t, Options{})
			var b batch
			b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "k"})
			b.add(tap.Sent, 1, 0, tap.SentHead{Path: kind.Path, API: "chat", Server: name, Translated: true})
			b.add(tap.SentBody, 1, 0, string(sent))
			b.add(tap.Head, 1, 1, tap.ResponseHead{Status: 200, ContentType: contentType})
			for i := range answer {
				b.add(tap.Chunk, 1, int64(i), string(answer[i:i+1]))
			}
			b.add(tap.End, 1, int64(len(answer)), tap.EndReport{FirstTokenMS: -1})
			b.post(t, r, "1")
			got := readRecorded(t, r, "k")
			if got.messages != want {
				t.Errorf("messages are %s\nwant %s", got.messages, want)
			}
			if got.chunks != "" {
				t.Errorf("no tokens: %s", got.chunks)
			}
			if !kind.Conversations && got.prompt != testPrompt {
				t.Errorf("the prompt is %s", got.prompt)
			}
			ids := len(o200k.Tokenizer().AppendEncodeSpecial(nil, testAnswer))
			if !kind.TextAnswers && got.ids != ids {
				t.Errorf("%d ids, want %d", got.ids, ids)
			}
			if kind.TextAnswers && !kind.Conversations && !strings.Contains(got.text, "They greet: é😀") {
				t.Errorf("the server's text is %q", got.text)
			}
		})
	}
}

// TestOwnAPIs records answers of servers that pass untouched.
func TestOwnAPIs(t *testing.T) {
	_, stream, _ := asked(t, sim.Options{Kind: sim.Chat})
	const want = `|analysis :They greet: é😀|commentary functions.f:{"a":1}`
	for _, tt := range []struct{ name, path, media, answer, want string }{
		{"a Chat stream", "/openai/v1/chat/completions?x=1", "text/event-stream; charset=utf-8", string(stream), want},
		{"a Chat answer", contract.ChatPath, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant",` +
			`"reasoning_content":"They greet: é😀","tool_calls":[{"id":"c","type":"function","function":{"name":"f",` +
			`"arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`, want},
		{"a response", contract.ResponsesPath, "application/json", `{"object":"response","status":"completed","output":[` +
			`{"type":"message","content":[{"type":"output_text","text":"Hey"}]}]}`, "|final :Hey"},
		{"Responses events", contract.ResponsesPath, "text/event-stream",
			"data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hey\"}\n\n", "|final :Hey"},
		{"a message", "/anthropic" + contract.MessagesPath, "application/json", `{"type":"message","content":[` +
			`{"type":"thinking","thinking":"They greet: é😀","signature":"s"},{"type":"tool_use","id":"c","name":"f",` +
			`"input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":3}}`, want},
		{"events of a message", contract.MessagesPath, "text/event-stream", "event: content_block_delta\ndata: " +
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hey"}}` + "\n\n", "|final :Hey"},
		{"a list", contract.ModelsPath, "application/json", `{"data":[]}`, ""},
		{"a raw prompt", contract.CompletionsPath, "text/event-stream",
			"data: {\"choices\":[{\"token_ids\":[1]}]}\n\n", ""},
	} {
		r := newRecorder(t, Options{})
		var b batch
		b.add(tap.Request, 1, 0, tap.RequestHead{RequestID: "k"})
		b.add(tap.Sent, 1, 0, tap.SentHead{Path: tt.path, Server: "vllm"})
		b.add(tap.Head, 1, 1, tap.ResponseHead{Status: 200, ContentType: tt.media})
		b.add(tap.Chunk, 1, 2, tt.answer).add(tap.Passed, 1, 2, nil)
		b.add(tap.End, 1, 3, tap.EndReport{FirstTokenMS: -1})
		b.post(t, r, "1")
		got := readRecorded(t, r, "k")
		if got.messages != tt.want || (got.chunks == tt.answer) != (tt.want == "") {
			t.Errorf("%s: messages %s, chunks %s", tt.name, got.messages, got.chunks)
		}
		if lines, _ := r.Lines("k"); !strings.Contains(string(lines), `"type":"answer"`) {
			t.Errorf("%s: no answer in\n%s", tt.name, lines)
		}
	}
}
