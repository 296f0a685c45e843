package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// spelledOut returns the ids of a Harmony text in which the model has spelled what stands between « and » byte by byte,
// as no encoder does.
func spelledOut(text string) (ids []uint32) {
	v := o200k.Tokenizer()
	for text != "" {
		before, rest, found := strings.Cut(text, "«")
		ids = v.AppendEncodeSpecial(ids, before)
		if !found {
			break
		}
		odd, after, _ := strings.Cut(rest, "»")
		for i := range len(odd) {
			ids = v.AppendEncode(ids, odd[i:i+1])
		}
		text = after
	}
	return ids
}

// turnStream is a server's stream of these ids, in events of so many.
func turnStream(ids []uint32, size int) string {
	var b strings.Builder
	for from := 0; from < len(ids); from += size {
		b.WriteString(logprobsChunk(ids[from:min(from+size, len(ids))], from, "null"))
	}
	return b.String() + logprobsChunk([]uint32{}, 0, `"stop"`) + serverUsage + serverDone
}

// writtenTurns are what a model writes in ten steps of a loop: calls in one form and another, with text before them,
// with reasoning in pieces, two at once, and words in other tokens than an encoder would choose.
var writtenTurns = []string{
	"<|channel|>analysis<|message|>I «look» it up.<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		" <|constrain|>json<|message|>{\"a\": «\"Paris\"»}<|call|>",
	"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
	"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":«\"naïve 👩‍👧\"»}<|call|>",
	"<|channel|>analysis<|message|>Two.<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		" <|constrain|>json<|message|>{\"a\":1}<|end|><|start|>assistant<|channel|>commentary to=functions.g" +
		" <|constrain|>json<|message|>{\"«two»\":2}<|call|>",
	"<|channel|>analysis<|message|>First I say what I do.<|end|><|start|>assistant<|channel|>commentary<|message|>I " +
		"«search»:<|end|><|start|>assistant<|channel|>commentary to=functions.f code<|message|>{ }<|call|>",
	"<|channel|>commentary<|message|>Wait.<|end|><|start|>assistant<|channel|>analysis<|message|>Then.<|end|>" +
		"<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{\"x\":[«1,2»]}<|call|>",
	"<|channel|>analysis<|message|>\n\n  «spaces»  \n<|end|><|start|>assistant<|channel|>commentary to=functions.run" +
		"<|message|>print(«\"hello\"»)<|call|>",
	"<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		" <|constrain|>json<|message|>not «json» at all<|call|>",
	"<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>analysis<|message|>Two.<|end|>" +
		"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"«b»\":1}<|call|>",
	"<|channel|>analysis<|message|>Last.<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		" <|constrain|>json<|message|>{\"end\":«true»}<|call|>",
}

// turnsLoop is an agent that sends back all that it gets.
type turnsLoop struct {
	path    string
	stream  bool
	options string
	history []json.RawMessage
}

const turnsTools = `{"type":"function",%s"name":"f"%s},{"type":"function",%s"name":"g"%s},{"type":"custom",%s"name":"run"%s}`

func (l *turnsLoop) body(t *testing.T) string {
	t.Helper()
	history, err := json.Marshal(l.history)
	if err != nil {
		t.Fatal(err)
	}
	member, open, end := "input", []any{"", "", "", "", "", ""}, ""
	if l.path == contract.ChatPath {
		member, open = "messages", []any{`"function":{`, "}", `"function":{`, "}", `"custom":{`, "}"}
	}
	return fmt.Sprintf(`{"model":%q,"stream":%t,"tools":[%s],%q:%s%s%s}`, testModel, l.stream,
		fmt.Sprintf(turnsTools, open...), member, history, l.options, end)
}

// take adds an answer to the history, and a result for each of its calls. It returns the results as the prompt has
// them.
func (l *turnsLoop) take(t *testing.T, events []string) (results string) {
	t.Helper()
	var calls []turnsCall
	if l.path == contract.ChatPath {
		calls = l.takeMessage(t, events)
	} else {
		calls = l.takeItems(t, events)
	}
	for i, c := range calls {
		text := fmt.Sprintf("result %d", i)
		result := map[string]any{"role": "tool", "tool_call_id": c.id, "content": text}
		if l.path != contract.ChatPath {
			result = map[string]any{"type": c.kind + "_output", "call_id": c.id, "output": text}
		}
		encoded, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		l.history = append(l.history, encoded)
		results += "<|start|>functions." + c.name + " to=assistant<|channel|>commentary<|message|>" + text + "<|end|>"
	}
	return results + "<|start|>assistant"
}

type turnsCall struct{ id, name, kind string }

func (l *turnsLoop) takeItems(t *testing.T, events []string) (calls []turnsCall) {
	t.Helper()
	var whole struct {
		Output   []json.RawMessage
		Response struct{ Output []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(events[len(events)-1]), &whole); err != nil {
		t.Fatal(err)
	}
	for _, item := range append(whole.Output, whole.Response.Output...) {
		var c struct {
			Type, Name string
			CallID     string `json:"call_id"`
		}
		if err := json.Unmarshal(item, &c); err != nil {
			t.Fatal(err)
		}
		l.history = append(l.history, item)
		if c.CallID != "" {
			calls = append(calls, turnsCall{c.CallID, c.Name, c.Type})
		}
	}
	return calls
}

func (l *turnsLoop) takeMessage(t *testing.T, events []string) (calls []turnsCall) {
	t.Helper()
	var whole struct {
		Choices []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal([]byte(events[len(events)-1]), &whole); err != nil || len(whole.Choices) != 1 {
		t.Fatalf("%v in %s", err, events)
	}
	var m struct {
		ToolCalls []struct {
			ID               string
			Function, Custom struct{ Name string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(whole.Choices[0].Message, &m); err != nil {
		t.Fatal(err)
	}
	l.history = append(l.history, whole.Choices[0].Message)
	for _, c := range m.ToolCalls {
		calls = append(calls, turnsCall{c.ID, c.Function.Name + c.Custom.Name, ""})
	}
	return calls
}

func sentPrompt(t *testing.T, sent []byte) []uint32 {
	t.Helper()
	var request struct{ Prompt []uint32 }
	if err := json.Unmarshal(sent, &request); err != nil {
		t.Fatal(err)
	}
	return request.Prompt
}

// TestTurnsAsWritten runs ten steps of an agent that sends back what it got, by each way in which ids come back. Every
// prompt is the one before it, what the model has written, and what is new, to the id.
func TestTurnsAsWritten(t *testing.T) {
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	traced := func(o *Options) { o.Models[0].Answers.TokenIDs = true }
	sealed := func(o *Options) { o.SealKeys, o.Seal.LifetimeS = keys, 3600 }
	hidden := func(o *Options) { sealed(o); o.Models[0].Answers.HideReasoning = true }
	const include = `,"include":["turn.sampled_ids"]`
	for _, tt := range []struct {
		name, path, options string
		stream              bool
		change              func(*Options)
	}{
		{"chat, token ids", contract.ChatPath, "", false, traced},
		{"responses, token ids", contract.ResponsesPath, "", false, traced},
		{"responses, token ids, streamed", contract.ResponsesPath, "", true, traced},
		{"sampled ids", contract.ResponsesPath, include, false, nil},
		{"sampled ids, streamed", contract.ResponsesPath, include, true, nil},
		{"sampled ids, sealed", contract.ResponsesPath, include, true, sealed},
		{"sampled ids, hidden", contract.ResponsesPath, include, false, hidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &turnsLoop{path: tt.path, stream: tt.stream, options: tt.options}
			l.play(t, testGateway(tt.change), writtenTurns)
		})
	}
}

// play runs a step for each of the texts that the model writes.
func (l *turnsLoop) play(t *testing.T, g *Gateway, texts []string) {
	t.Helper()
	l.history = []json.RawMessage{json.RawMessage(`{"role":"user","content":"Hi"}`)}
	var want []uint32
	for step, text := range texts {
		written := spelledOut(text)
		sent, events := exchanged(t, g, l.path, l.body(t), turnStream(written, 3))
		prompt := sentPrompt(t, sent)
		if step > 0 && !slices.Equal(prompt, want) {
			t.Fatalf("step %d: %q\nwant %q", step, ofIDs(prompt), ofIDs(want))
		}
		want = append(slices.Clone(prompt), written...)
		want = o200k.Tokenizer().AppendEncodeSpecial(want, l.take(t, events))
	}
}

// TestSealedReasoningAsWritten runs an agent that sends back sealed reasoning and no other ids. The reasoning and the
// header of the call after it are as the model has written them, and the arguments as an encoder writes them.
func TestSealedReasoningAsWritten(t *testing.T) {
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		"<|channel|>analysis<|message|>I «look» it up.<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
			" <|constrain|>json<|message|>{\"a\":1}<|call|>",
		"<|channel|>analysis<|message|>«Naïve 👩‍👧».<|end|><|start|>assistant to=functions.g<|channel|>commentary" +
			" code<|message|>{}<|call|>",
		"<|channel|>analysis<|message|>«One».<|end|><|start|>assistant<|channel|>analysis<|message|>«Two».<|end|>" +
			"<|start|>assistant<|channel|>commentary to=functions.run<|message|>1<|call|>",
		"<|channel|>analysis<|message|>«I say it».<|end|><|start|>assistant<|channel|>commentary<|message|>Wait.<|end|>" +
			"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
		"<|channel|>analysis<|message|>«Last».<|end|><|start|>assistant<|channel|>commentary «to=functions.f» json<|message|>{}<|call|>",
		"<|channel|>final<|message|>Done.<|return|>",
	}
	for _, stream := range []bool{false, true} {
		for _, hide := range []bool{false, true} {
			l := &turnsLoop{path: contract.ResponsesPath, stream: stream, options: `,"include":["reasoning.encrypted_content"]`}
			l.play(t, testGateway(func(o *Options) {
				o.SealKeys, o.Seal.LifetimeS, o.Models[0].Answers.HideReasoning = keys, 3600, hide
			}), texts)
		}
	}
}

// ofIDs returns the text of ids, with a bar where one ends and the next begins.
func ofIDs(ids []uint32) string {
	var b strings.Builder
	for _, id := range ids {
		text, _ := o200k.Tokenizer().TokenBytes(id)
		b.Write(text)
		if !tokenizer.IsSpecial(id) {
			b.WriteByte('|')
		}
	}
	return b.String()
}
