package structure_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
)

// callVector is an answer, and what vLLM's parsers made of it: docs/vectors.md#calls.
type callVector struct {
	Text            string
	Whole, Streamed *shownAnswer
}

// shownAnswer is what a client gets of an answer. Each call is a name and its arguments.
type shownAnswer struct {
	Reasoning, Content string
	Calls              [][2]string
	Error              string
}

// vectorForms are the forms by file.
var vectorForms = map[string]string{
	"hermes": contract.SpeaksHermes, "qwen3_coder": contract.SpeaksQwen3Coder, "glm45": contract.SpeaksGLM45,
	"kimi_k2": contract.SpeaksKimiK2, "deepseek_v3": contract.SpeaksDeepSeekV3, "deepseek_v31": contract.SpeaksDeepSeekV3,
	"deepseek_v32": contract.SpeaksDeepSeekV32, "mistral": contract.SpeaksMistral,
	"llama3_json": contract.SpeaksLlama3JSON,
}

// vectorTools returns the functions of the vectors' requests.
func vectorTools(t *testing.T) tools {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "calls", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	var declared []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &declared); err != nil {
		t.Fatal(err)
	}
	set := tools{}
	for _, tool := range declared {
		set[tool.Function.Name] = string(tool.Function.Parameters)
	}
	return set
}

// shownOf returns what a client gets of messages. Space around text is no difference, and a blank answer is none.
func shownOf(messages []structuretest.Message) *shownAnswer {
	shown := &shownAnswer{}
	for _, m := range messages {
		switch {
		case m.Recipient != "":
			shown.Calls = append(shown.Calls, [2]string{strings.TrimPrefix(m.Recipient, "functions."), m.Text})
		case m.Channel == harmony.Analysis:
			shown.Reasoning += m.Text
		default:
			shown.Content += m.Text
		}
	}
	return shown
}

// plainly returns an answer without differences that are none: space around text, and the spelling of JSON.
func (s *shownAnswer) plainly() *shownAnswer {
	plain := &shownAnswer{
		Reasoning: strings.TrimSpace(s.Reasoning), Content: strings.TrimSpace(s.Content), Error: s.Error,
		Calls: [][2]string{},
	}
	for _, call := range s.Calls {
		var value any
		if json.Unmarshal([]byte(call[1]), &value) == nil {
			spelled, _ := json.Marshal(value)
			call[1] = string(spelled)
		}
		plain.Calls = append(plain.Calls, call)
	}
	return plain
}

func (s *shownAnswer) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any{"reasoning": s.Reasoning, "content": s.Content, "calls": s.Calls, "error": s.Error})
	return strings.TrimSpace(b.String())
}

var update = flag.Bool("update", false, "write testdata/calls/differences.txt again, with the reasons that it has")

// differences are the answers of which we make something else than vLLM does: our answer, and the reason.
type differences map[string][2]string

// readDifferences reads testdata/calls/differences.txt: file, reason, quoted text and our answer, with tabs between.
func readDifferences(t *testing.T) differences {
	t.Helper()
	data, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	d := differences{}
	for line := range strings.Lines(string(data)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 4 {
			t.Fatalf("%s: %q", differencesFile, line)
		}
		d[part[0]+"\t"+part[2]] = [2]string{part[1], part[3]}
	}
	return d
}

var differencesFile = filepath.Join("testdata", "calls", "differences.txt")

// TestCallVectors compares the forms of calls with vLLM's own parsers, at every cut. A difference is in
// testdata/calls/differences.txt, with a reason that docs/structure.md explains.
func TestCallVectors(t *testing.T) {
	set, known := vectorTools(t), readDifferences(t)
	var found []string
	equal := 0
	for _, file := range slices.Sorted(maps.Keys(vectorForms)) {
		for _, v := range readVectors(t, file) {
			o := structure.Options{ThinkTags: contract.ThinkLeading, Tools: set}
			create := structure.NewCalls(vectorForms[file])
			got := shownOf(structuretest.Read(t, create, o, v.Text, true).Messages).plainly()
			if reflect.DeepEqual(got, v.Whole.plainly()) {
				equal++
				continue
			}
			key := file + "\t" + strconv.Quote(v.Text)
			reason, want := known[key][0], known[key][1]
			found = append(found, fmt.Sprintf("%s\t%s\t%q\t%s\n", file, cmp.Or(reason, "?"), v.Text, got))
			switch {
			case *update:
			case want != got.String():
				t.Errorf("%s: %q\n got %s\nvLLM %s\nwant %s", file, v.Text, got, v.Whole.plainly(), want)
			}
		}
	}
	t.Logf("%d answers are as vLLM has them, %d are not", equal, len(found))
	if *update {
		if err := os.WriteFile(differencesFile, []byte(strings.Join(found, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(found) != len(known) {
		t.Errorf("%s has %d lines, and there are %d differences", differencesFile, len(known), len(found))
	}
}

// TestDifferencesAreExplained: each reason of a difference is a row of a table in docs/structure.md.
func TestDifferencesAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "structure.md"))
	if err != nil {
		t.Fatal(err)
	}
	for key, difference := range readDifferences(t) {
		if !bytes.Contains(page, []byte("| `"+difference[0]+"` |")) {
			t.Errorf("%q: %s", difference[0], key)
		}
	}
}

// readVectors reads the vectors of a form.
func readVectors(t *testing.T, file string) (all []callVector) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "calls", file+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var v callVector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
