package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestRenderBodies shows that one conversation has the same prompt in all APIs, in a line of its own and in a field,
// and that a body's own members stay the body's.
func TestRenderBodies(t *testing.T) {
	lines := []string{
		`{"model":"m","messages":[{"role":"user","content":"Hi"}],"date":"2001-01-01"}`,
		`{"chat":{"model":"m","messages":[{"role":"user","content":"Hi"}]}}`,
		`{"model":"another","input":"Hi"}`,
		`{"responses":{"model":"m","input":[{"role":"user","content":"Hi"}]}}`,
		`{"messages":{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}}`,
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

// TestTurns shows how many ids the form of the chat template costs: all of a turn's behind the first header that differs.
func TestTurns(t *testing.T) {
	const line = `{"chat":{"model":"m","messages":[{"role":"user","content":"q"},` +
		`{"role":"assistant","content":"no call"},{"role":"user","content":"q"},` +
		`{"role":"assistant","reasoning":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"f",` +
		`"arguments":"{\"x\": [1,2]}"}},{"id":"b","type":"custom","custom":{"name":"g","input":"x"}}]},` +
		`{"role":"tool","tool_call_id":"a","content":"r"},{"role":"tool","tool_call_id":"b","content":"r"},` +
		`{"role":"assistant","content":"Wait.","tool_calls":[{"id":"c","type":"custom","custom":{"name":"g","input":""}}]},` +
		`{"role":"tool","tool_call_id":"c","content":"r"}]},"turns":true}`
	var out bytes.Buffer
	if tally, err := Run(strings.NewReader(line), &out, Render, o200k.Tokenizer()); err != nil || tally.Failed > 0 {
		t.Fatal(tally, err)
	}
	v := o200k.Tokenizer()
	count := func(text string) int { return len(v.AppendEncodeSpecial(nil, text)) }
	const (
		thought = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>"
		calls   = " to=functions.f<|channel|>commentary json<|message|>{\"x\": [1,2]}<|call|>" +
			"<|start|>assistant to=functions.g<|channel|>commentary<|message|>x<|call|>"
		preamble = "<|start|>assistant<|channel|>commentary<|message|>Wait.<|end|>"
		empty    = " to=functions.g<|channel|>commentary<|message|><|call|>"
		begun    = "<|start|>assistant"
	)
	type turn struct{ IDs, Again int }
	var got struct{ Turns []turn }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []turn{{count(thought + begun + calls), count(calls)}, {count(preamble + begun + empty), count(empty)}}
	if !slices.Equal(got.Turns, want) {
		t.Errorf("got %v, want %v", got.Turns, want)
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
