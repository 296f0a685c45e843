package repetition_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/repetition"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// defaults are those of the setting repetition_detection.
var defaults = func() repetition.Limits {
	r := contract.DefaultModel("").Repetition
	return repetition.Limits{MaxPatternSize: r.MaxPatternSize, MinCount: r.MinCount, MinTokens: r.MinTokens}
}()

// foundAfter returns the number of tokens of the text before the detector finds a repetition, or 0.
func foundAfter(text string) (found, tokens int) {
	d := repetition.New(defaults, o200k.Tokenizer())
	ids := o200k.Tokenizer().AppendEncode(nil, text)
	for at, id := range ids {
		if d.Add(id) && d.Look() {
			return at + 1, len(ids)
		}
	}
	return 0, len(ids)
}

// read returns the files of a pattern below the repository's root.
func read(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", pattern))
	if err != nil || len(names) == 0 {
		t.Fatal(pattern, names, err)
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// TestNoFalseStops: what people ask a model to write is no repetition, but for equal lines (TestEqualLines).
func TestNoFalseStops(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{
		"harmonycore/*/*.go", "controlplane/*/*.go", "e2e/*/*.go", // code
		"docs/*.md", "docs/rationale/*.md", // prose and tables
		"examples/*.yaml", "operator/config/schema.json", "examples/monitoring/dashboard.json", "go.sum",
	} {
		for name, text := range read(t, pattern) {
			texts[name] = text
		}
	}
	delete(texts, "../../harmonycore/tokenizer/classes_table.go") // rows of equal numbers: see TestEqualLines
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for at := range noise {
		noise[at] = byte(random.Uint32())
	}
	texts["base64"] = base64.StdEncoding.EncodeToString(noise)
	texts["a poem"] = poem()
	texts["rows that are counted"] = rows(10_000, func(at int) string { return fmt.Sprintf(`{"id":%d,"ok":true,"tags":[]},`, at) })
	texts["a table of numbers"] = rows(2_000, func(int) string { return fmt.Sprintf("| %d | %d | 0 |", random.IntN(9), random.IntN(99)) })
	texts["a bitmap"] = rows(300, func(int) string { return fmt.Sprintf("%032b", random.Uint32()) })
	texts["a rule"] = strings.Repeat("-", 500) + "\n" + strings.Repeat("=", 500)
	all := 0
	for name, text := range texts {
		found, tokens := foundAfter(text)
		if all += tokens; found > 0 {
			t.Errorf("%s: taken for a repetition after %d of %d tokens", name, found, tokens)
		}
	}
	t.Logf("%d texts, %d tokens", len(texts), all)
	if all < 1_000_000 {
		t.Errorf("only %d tokens", all)
	}
}

func rows(n int, row func(int) string) string {
	var b strings.Builder
	for at := range n {
		b.WriteString(row(at))
		b.WriteByte('\n')
	}
	return b.String()
}

// poem returns many verses with one refrain, whose last line is sung three times.
func poem() string {
	return rows(400, func(at int) string {
		return fmt.Sprintf("The kettle sang of harbour %d,\nand all the gulls came home.\n", at*7919%1000) +
			strings.Repeat("Row on, row on, and home.\n", 3)
	})
}

// TestEqualLines: a model can be asked for lines that are all equal, and to the detector they are a repetition. So the
// text of answers is not looked at by default (docs/ending-early.md#repetitions).
func TestEqualLines(t *testing.T) {
	for _, row := range []string{`{"a":0,"b":null},`, "0 0 0 0 0 0 0 0", "| | | |", "0x00, 0x00, 0x00, 0x00,"} {
		found, tokens := foundAfter(strings.Repeat(row+"\n", 10_000))
		if found == 0 || found > 200 {
			t.Errorf("%q: found after %d of %d tokens", row, found, tokens)
		}
	}
}

// TestLoops: loops of the kinds that users have reported of models, in words of our own, end within 200 tokens of their
// beginning.
func TestLoops(t *testing.T) {
	const before = "The user wants the smallest port that is free. Let me look at what the tool has said so far.\n"
	for _, loop := range []string{
		"?!", "!", "0", " the", "\n", " \n\n", "…", "....", "\u200b",
		"Wait, that is not right. ", "I will now call the tool. Actually, let me check first. ",
		"No, use 8080. No, use 8081. But 8080 is taken. ",
		"So the answer is 42.\n\nBut the question asks for the port, and I should check it.\n\n",
		`{"type":"text","text":""},`, "## Step 1\n\n- look\n- think\n- look again\n\n",
		"我再检查一遍。", "</tool_call>\n<tool_call>\n",
	} {
		start := len(o200k.Tokenizer().AppendEncode(nil, before))
		found, _ := foundAfter(before + strings.Repeat(loop, 3_000))
		if found == 0 || found-start > 200 {
			t.Errorf("%q: found %d tokens after it began", loop, found-start)
		}
	}
}
