package look

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// answers runs a mode over lines and returns the decoded output, which must have one object for each line.
func answers(t *testing.T, mode string, lines []string) []map[string]any {
	t.Helper()
	file := clitest.WriteFile(t, "lines", strings.Join(lines, "\n"))
	code, stdout, stderr := command(t, t.Context(), "inspect", mode, file)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	out := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(out) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(out), len(lines))
	}
	decoded := make([]map[string]any, len(out))
	for i, line := range out {
		if err := json.Unmarshal([]byte(line), &decoded[i]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return decoded
}

// streams returns the recorded token streams that a line of the command can express. A line cannot express an end of
// the stream in the middle.
func streams(t *testing.T) (places []vectors.Place, list []*vectors.Stream) {
	t.Helper()
	err := vectors.Each("../../../harmonycore/harmony/testdata", "parse_*.jsonl", 2000,
		func(at vectors.Place, v *vectors.Stream) error {
			if _, ok := v.IDs(); ok {
				places, list = append(places, at), append(list, v)
			}
			return nil
		})
	if err != nil || len(list) < 1500 {
		t.Fatal(len(list), err)
	}
	return places, list
}

func TestParseVectors(t *testing.T) {
	places, list := streams(t)
	lines := make([]string, len(list))
	for i, v := range list {
		line, _ := json.Marshal(map[string]any{
			"id": places[i], "tokens": v.Tokens, "role": v.Role, "strict": v.Strict, "resume": v.Resume})
		lines[i] = string(line)
	}
	for i, got := range answers(t, "parse", lines) {
		v := list[i]
		steps := make([]any, len(v.Steps))
		for j := range v.Steps {
			steps[j] = printedStep(&v.Steps[j])
		}
		want := map[string]any{"id": places[i], "messages": v.Messages, "steps": steps}
		if v.Ended {
			want["steps"], want["eos"] = steps[:len(steps)-1], steps[len(steps)-1]
		}
		if want = asJSON(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %v\nwant %v", lines[i], got, want)
		}
	}
}

// printedStep returns a step as the command prints it.
func printedStep(s *vectors.Step) any {
	six := []any{s.State, s.Role, s.Channel, s.Recipient, s.ContentType, s.Delta}
	if s.Error == nil {
		return six
	}
	return map[string]any{"error": map[string]any{"class": "HarmonyError", "message": s.Error}, "after": six}
}

func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenderVectors(t *testing.T) {
	var lines []string
	var list []*vectors.Conversation
	err := vectors.Each("../../../harmonycore/harmony/testdata", "render_*.jsonl", 2000,
		func(at vectors.Place, v *vectors.Conversation) error {
			question := map[string]any{"id": at, "conversation_json": v.Text, "next_role": v.NextRole,
				"auto_drop_analysis": v.Drop}
			if len(list)%2 == 0 && v.Text != "null" && rawjson.Validate([]byte(v.Text), rawjson.MaxDepth-1) == nil {
				// This is the other form of a question, in which the conversation is nested one level deeper. json.Marshal would
				// change its text.
				question["conversation"] = json.RawMessage(`"HERE"`)
				delete(question, "conversation_json")
			}
			line, err := json.Marshal(question)
			text := strings.ReplaceAll(v.Text, "\n", " ")
			lines, list = append(lines, strings.Replace(string(line), `"HERE"`, text, 1)), append(list, v)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range answers(t, "render", lines) {
		if !sameResult(t, got["completion"], &list[i].Completion) || !sameResult(t, got["training"], &list[i].Training) {
			t.Errorf("%s\n got %v", lines[i], got)
		}
	}
}

// sameResult compares ids or errors. Of an error that contains a message of the reference's JSON reader, only the
// beginning is compared.
func sameResult(t *testing.T, got any, want *vectors.Rendered) bool {
	t.Helper()
	if want.Error == nil {
		return reflect.DeepEqual(got, asJSON(t, map[string]any{"ids": want.IDs})["ids"]) ||
			len(want.IDs) == 0 && reflect.DeepEqual(got, []any{})
	}
	g, _ := got.(map[string]any)
	g, _ = g["error"].(map[string]any)
	errOutput, _ := g["message"].(string)
	const reading = "invalid conversation JSON: "
	return g["class"] == want.Error.Class &&
		(errOutput == want.Error.Message || strings.HasPrefix(errOutput, reading) &&
			strings.HasPrefix(want.Error.Message, reading))
}

// TestStreamVectors parses the recorded streams in the tolerant mode, by ids and by text, and explains them.
func TestStreamVectors(t *testing.T) {
	_, list := streams(t)
	var byIDs, byText, explained []string
	for _, v := range list {
		ids, _ := v.IDs()
		text := o200k.Tokenizer().DecodeString(ids)
		// Both ways must get the same stream: without unknown ids and broken characters, and with text that spells a marker
		// as that marker.
		same := o200k.Tokenizer().AppendEncodeSpecial([]uint32{}, text)
		line, _ := json.Marshal(map[string]any{"tokens": same, "role": "assistant", "mode": "tolerant"})
		byIDs = append(byIDs, string(line))
		line, _ = json.Marshal(map[string]any{"text": text, "role": "assistant", "cuts": []int{len(text) / 3, len(text) / 2}})
		byText = append(byText, string(line))
		line, _ = json.Marshal(append([]uint32{}, ids...))
		explained = append(explained, string(line))
	}
	texts := answers(t, "parse", byText)
	for i, got := range answers(t, "parse", byIDs) {
		if !reflect.DeepEqual(got, texts[i]) {
			t.Errorf("%s\n by ids  %v\n by text %v", byText[i], got, texts[i])
		}
	}
	for _, ids := range explained {
		code, stdout, stderr := command(t, t.Context(), "inspect", "explain", "--role", "assistant", "--color", "never",
			clitest.WriteFile(t, "ids", ids))
		if code != 0 || strings.ContainsFunc(stdout,
			func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%s: exit %d, %s\n%q", ids, code, stderr, stdout)
		}
	}
}

// TestTokenizerVectors checks encode and decode with the vectors of the tokenizer. The comments of
// harmonycore/tokenizer/vectors_test.go describe the files.
func TestTokenizerVectors(t *testing.T) {
	for _, tt := range []struct {
		file           string
		text, ids      int // columns
		encode, decode bool
		special        bool
	}{{"encode.txt", 1, 2, true, true, false}, {"special.txt", 1, 2, true, true, true},
		{"decode.txt", 1, 0, false, true, false}} {
		data, err := os.ReadFile("../../../harmonycore/tokenizer/testdata/" + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		var encode, decode []string
		var texts, ids []any
		for line := range strings.Lines(string(data)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			text, list := vectorText(t, columns[tt.text]), vectorIDs(t, columns[tt.ids])
			question, _ := json.Marshal(map[string]any{"text": text, "special": tt.special})
			back, _ := json.Marshal(map[string]any{"ids": list})
			encode, decode = append(encode, string(question)), append(decode, string(back))
			texts, ids = append(texts, text), append(ids, list)
		}
		if len(decode) < 270 {
			t.Fatalf("%s: only %d vectors", tt.file, len(decode))
		}
		if tt.encode {
			for i, got := range answers(t, "tokenize", encode) {
				if !reflect.DeepEqual(got["ids"], ids[i]) {
					t.Errorf("%s: %.200s gives other ids", tt.file, encode[i])
				}
			}
		}
		for i, got := range answers(t, "tokenize", decode) {
			if got["text"] != texts[i] {
				t.Errorf("%s: %.200s gives another text", tt.file, decode[i])
			}
		}
	}
}

// vectorText parses "..." or "..."*N.
func vectorText(t *testing.T, s string) string {
	t.Helper()
	end := strings.LastIndexByte(s, '"') + 1
	text, err := strconv.Unquote(s[:end])
	if err != nil {
		t.Fatal(s, err)
	}
	return strings.Repeat(text, times(t, s[end:]))
}

// vectorIDs parses groups "1,2,3*N" with spaces between them. Its numbers have the type that encoding/json gives them.
func vectorIDs(t *testing.T, s string) []any {
	t.Helper()
	list := []any{}
	for group := range strings.FieldsSeq(s) {
		numbers := group
		if i := strings.IndexByte(group, '*'); i >= 0 {
			numbers = group[:i]
		}
		var part []any
		if err := json.Unmarshal([]byte("["+numbers+"]"), &part); err != nil {
			t.Fatal(group, err)
		}
		list = append(list, slices.Repeat(part, times(t, group[len(numbers):]))...)
	}
	return list
}

// times parses "*N"; "" is 1.
func times(t *testing.T, s string) int {
	t.Helper()
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(s, "*"))
	if err != nil {
		t.Fatal(s, err)
	}
	return n
}
