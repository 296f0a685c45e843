package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// answers runs a mode over lines and decodes what it prints, which must be one object for each.
func answers(t *testing.T, mode string, lines []string) []map[string]any {
	t.Helper()
	code, stdout, stderr := harmonyRun("inspect", mode, writeFile(t, "lines", strings.Join(lines, "\n")))
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

// vectors are the lines of a file of the reference's own results, as they are and decoded.
func vectors(t *testing.T, name string) (lines []string, decoded []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../harmonycore", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		lines, decoded = append(lines, line), append(decoded, v)
	}
	return lines, decoded
}

// TestParseVectors: the recorded line itself is the question; what it says of the answer is passed over.
func TestParseVectors(t *testing.T) {
	lines, want := vectors(t, "harmony/testdata/parse.jsonl")
	for i, got := range answers(t, "parse", lines) {
		w := map[string]any{"id": want[i]["id"], "messages": want[i]["messages"]}
		if eos, there := want[i]["eos"]; there {
			w["eos"] = eos
		}
		steps, _ := want[i]["steps"].([]any)
		for j := range steps {
			if steps[j] == 0.0 && j > 0 {
				steps[j] = steps[j-1] // that is how the file says "as before"
			}
		}
		w["steps"] = steps
		if !reflect.DeepEqual(got, w) {
			t.Errorf("%s\n got %v\nwant %v", lines[i], got, w)
		}
	}
}

func TestRenderVectors(t *testing.T) {
	lines, want := vectors(t, "harmony/testdata/render.jsonl")
	for i, got := range answers(t, "render", lines) {
		completion := want[i]["completion"]
		training := want[i]["training"]
		if change, ok := training.([]any); ok { // [how much of completion, and then]
			base, _ := completion.([]any)
			training = append(append([]any{}, base[:int(change[0].(float64))]...), change[1].([]any)...)
		}
		if got["id"] != want[i]["id"] || !sameResult(got["completion"], completion) || !sameResult(got["training"], training) {
			t.Errorf("%s\n got %v", lines[i], got)
		}
	}
}

// sameResult compares ids, or errors: where ours has the reference's own JSON reader's words to say, only how they begin.
func sameResult(got, want any) bool {
	g, failed := got.(map[string]any)
	w, fails := want.(map[string]any)
	if !failed || !fails {
		return reflect.DeepEqual(got, want)
	}
	g, _ = g["error"].(map[string]any)
	w, _ = w["error"].(map[string]any)
	said, _ := g["message"].(string)
	meant, _ := w["message"].(string)
	const reading = "invalid conversation JSON: "
	return g["class"] == w["class"] && (said == meant || strings.HasPrefix(said, reading) && strings.HasPrefix(meant, reading))
}

// TestStreamVectors gives every recorded stream to the tolerant mode, by ids and by text, and to explain.
func TestStreamVectors(t *testing.T) {
	_, want := vectors(t, "harmony/testdata/parse.jsonl")
	var byIDs, byText []string
	for _, v := range want {
		ids := []uint32{}
		for _, id := range v["tokens"].([]any) {
			ids = append(ids, uint32(id.(float64)))
		}
		text := o200k.Tokenizer().DecodeString(ids)
		// The same stream on both ways: no unknown ids, no broken characters, and what spells a marker is one.
		same := o200k.Tokenizer().AppendEncodeSpecial([]uint32{}, text)
		line, _ := json.Marshal(map[string]any{"tokens": same, "role": "assistant", "mode": "tolerant"})
		byIDs = append(byIDs, string(line))
		line, _ = json.Marshal(map[string]any{"text": text, "role": "assistant", "cuts": []int{len(text) / 3, len(text) / 2}})
		byText = append(byText, string(line))

		list, _ := json.Marshal(ids)
		code, stdout, stderr := harmonyRun("inspect", "explain", "--role", "assistant", "--color", "never", writeFile(t, "ids", string(list)))
		if code != 0 || strings.ContainsFunc(stdout, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%s: exit %d, %s\n%q", list, code, stderr, stdout)
		}
	}
	texts := answers(t, "parse", byText)
	for i, got := range answers(t, "parse", byIDs) {
		if !reflect.DeepEqual(got, texts[i]) {
			t.Errorf("%s\n by ids  %v\n by text %v", byText[i], got, texts[i])
		}
	}
}

// TestTokenizerVectors: the files are described in harmonycore/tokenizer/vectors_test.go.
func TestTokenizerVectors(t *testing.T) {
	for _, tt := range []struct {
		file           string
		text, ids      int // columns
		encode, decode bool
		special        bool
	}{{"encode.txt", 1, 2, true, true, false}, {"special.txt", 1, 2, true, true, true}, {"decode.txt", 1, 0, false, true, false}} {
		data, err := os.ReadFile("../../harmonycore/tokenizer/testdata/" + tt.file)
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

// vectorText reads "..." or "..."*N.
func vectorText(t *testing.T, s string) string {
	t.Helper()
	end := strings.LastIndexByte(s, '"') + 1
	text, err := strconv.Unquote(s[:end])
	if err != nil {
		t.Fatal(s, err)
	}
	return strings.Repeat(text, times(t, s[end:]))
}

// vectorIDs reads groups "1,2,3*N" with spaces between, as encoding/json would.
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

// times reads "*N", or nothing for once.
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
