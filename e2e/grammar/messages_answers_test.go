//go:build e2e

package grammar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// messagesForms are requests that differ in what they want to see of the reasoning.
var messagesForms = []string{``, `"thinking":{"type":"adaptive"},`,
	`"thinking":{"type":"adaptive","display":"omitted"},`}

// answered is the answer of Messages to a model that has written ids, which may have been cut off.
func answered(t *testing.T, form string, stream, cut bool, ids []uint32) string {
	t.Helper()
	body, failure := openai.Open([]byte(fmt.Sprintf(`{"model":"m","max_tokens":9000,%s"stream":%t,`+
		`"messages":[{"role":"user","content":"q"}],"tools":[{"name":"get_weather","input_schema":{"type":"object"}}]}`,
		form, stream)))
	if failure != nil {
		t.Fatal(failure)
	}
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	model := contract.Model{Name: "m"}
	model.ContextLength, model.Answers.UndeclaredCalls = contract.DefaultContextLength, contract.CallsAsCalls
	env := translate.Env{Now: 1_700_000_000, ID: "0123456789abcdef", Tokenizer: o200k.Tokenizer(),
		Sealing: translate.Sealing{Keys: keys, Lifetime: 60}}
	r, failure := translate.Messages(body, &model, env)
	if failure != nil {
		t.Fatal(failure)
	}
	r.CountedPrompt(10)
	r.KeepTrail(nil)
	a, finish := r.NewAnswer(), translate.Stop
	if cut {
		finish = translate.Length
	}
	a.Begin()
	parser := harmony.NewStreamParser(o200k.Tokenizer(), a.Choices()[0])
	for _, id := range ids {
		if r.Trail() != nil {
			r.Trail().Add(id)
		}
		parser.Process(id)
	}
	parser.Finish()
	a.Choices()[0].End(finish)
	a.Finish(translate.Usage{PromptTokens: 10, CachedTokens: 4, CachedKnown: true, CompletionTokens: len(ids)}, 0)
	return string(a.Ready().Take(nil))
}

// unsealed replaces what is sealed in a message, which differs each time, and parses the text of inputs that are no
// object as a whole answer has it.
func unsealed(message Object) Object {
	for _, block := range message["content"].([]any) {
		b := block.(Object)
		for _, member := range []string{"signature", "data"} {
			if s, _ := b[member].(string); s != "" {
				b[member] = "sealed"
			}
		}
		if text, ok := b["input"].(string); ok {
			b["input"] = Object{"__unparsedToolInput": Object{"raw": text, "len": float64(len([]rune(text)))}}
		}
	}
	return message
}

// messagesStride is one of how many of the vectors' streams TestMessagesAnswers reads.
const messagesStride = 97

// TestMessagesAnswers reads the answers to what the vectors' models have written, whole and cut off behind each token,
// streamed and in one piece. Both must say the same. From some Anthropic's own library builds the same messages.
func TestMessagesAnswers(t *testing.T) {
	streams, answers, blocks := 0, 0, map[string]int{}
	var asked []string
	var want []Object
	err := vectors.Each(lab.File("harmonycore/harmony/testdata"), "parse_*.jsonl", 1000,
		func(_ vectors.Place, v *vectors.Stream) error {
			ids, ok := v.IDs()
			if streams++; !ok || streams%messagesStride != 0 {
				return nil
			}
			for n := range len(ids) + 1 {
				for _, form := range messagesForms {
					stream := answered(t, form, true, n < len(ids), ids[:n])
					whole := answered(t, form, false, n < len(ids), ids[:n])
					built, _, err := ReadMessages(stream, false)
					if err != nil {
						t.Fatalf("%v: %v\n%s", ids[:n], err, stream)
					}
					message, err := ReadMessage(whole)
					if err != nil {
						t.Fatalf("%v: %v\n%s", ids[:n], err, whole)
					}
					if built, message = unsealed(built), unsealed(message); !reflect.DeepEqual(built, message) {
						t.Fatalf("%v: streamed\n%v\nwhole\n%v", ids[:n], built, message)
					}
					for _, block := range built["content"].([]any) {
						blocks[block.(Object)["type"].(string)]++
					}
					if answers++; n == len(ids) || n%9 == 0 {
						asked, want = append(asked, stream, whole), append(want, built, message)
					}
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"text", "thinking", "redacted_thinking", "tool_use"} {
		if blocks[kind] == 0 {
			t.Errorf("no block is %s: %v", kind, blocks)
		}
	}
	t.Logf("%d answers, of them %v", answers, blocks)
	asLibrary(t, asked, want)
}

// asLibrary compares messages with those that Anthropic's library builds from answers. It raises at arguments that
// begin an object and are no JSON.
func asLibrary(t *testing.T, answers []string, want []Object) {
	t.Helper()
	var in bytes.Buffer
	for _, answer := range answers {
		line, _ := json.Marshal(answer)
		in.Write(append(line, '\n'))
	}
	command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_ANTHROPIC_PYTHON"), "testdata/messages.py")
	command.Stdin = &in
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	same, broken, i := 0, 0, 0
	for ; lines.Scan(); i++ {
		var got Object
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil || i >= len(want) {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if why, _ := got["error"].(string); strings.Contains(why, "Unable to parse tool parameter JSON") {
			broken++
			continue
		}
		delete(got, "stop_details")
		if got["error"] != nil {
			t.Fatalf("%s\n%v", answers[i], got["error"])
		}
		if got = unsealed(got); !reflect.DeepEqual(got, want[i]) && !isHalfCall(want[i]) {
			t.Fatalf("%s\nthe library has\n%v\nwant\n%v", answers[i], got, want[i])
		}
		same++
	}
	if i != len(want) || same < 100 {
		t.Fatalf("%d of %d answers were read, %d are the same", i, len(want), same)
	}
	t.Logf("Anthropic's library builds %d messages as they are, and refuses the arguments of %d", same, broken)
}

// isHalfCall reports whether a message has a call whose arguments break off: the library makes an object of what came.
func isHalfCall(message Object) bool {
	text, _ := json.Marshal(message)
	return strings.Contains(string(text), `"raw":"{`)
}
