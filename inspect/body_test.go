package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestRenderBodies shows that one conversation has the same prompt in both APIs, in a line of its own and in a field,
// and that a body's own members stay the body's.
func TestRenderBodies(t *testing.T) {
	lines := []string{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}],"date":"2001-01-01"}`,
		`{"chat":{"model":"m","messages":[{"role":"user","content":"Hi"}]}}`,
		`{"model":"another","input":"Hi"}`,
		`{"responses":{"model":"m","input":[{"role":"user","content":"Hi"}]}}`,
	}
	var out bytes.Buffer
	if tally, err := Run(strings.NewReader(strings.Join(lines, "\n")), &out, Render, o200k.Tokenizer()); err != nil ||
		tally.Failed > 0 {
		t.Fatal(tally, err)
	}
	var first []uint32
	for i, answer := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var a struct{ Completion []uint32 }
		if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Completion) == 0 {
			t.Fatalf("%s is answered %s", lines[i], answer)
		}
		if i == 0 {
			first = a.Completion
		}
		// The day may change in between: the system message is not compared.
		user := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|start|>user<|message|>Hi<|end|><|start|>assistant")
		if n := len(a.Completion); n != len(first) || !slices.Equal(a.Completion[n-len(user):], user) {
			t.Errorf("%s is rendered as %s", lines[i], o200k.Tokenizer().DecodeString(a.Completion))
		}
	}
	if strings.Contains(o200k.Tokenizer().DecodeString(first), "2001-01-01") {
		t.Error("a member of a body is taken for a field of the line")
	}
}

// TestLargeBody shows that a body that the gateway refuses for its size gets the gateway's error.
func TestLargeBody(t *testing.T) {
	line := `{"model":"m","input":"` + strings.Repeat("x", 17<<20) + `"}`
	var out bytes.Buffer
	if _, err := Run(strings.NewReader(line), &out, Render, o200k.Tokenizer()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), `{"status":413,"error":{`) {
		t.Errorf("%.200s", out.String())
	}
}
