package anthropic

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestInput checks that the input of a call is an object, whatever the model has written.
func TestInput(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	for _, tt := range []struct{ arguments, want string }{
		{``, `{}`},
		{" \n", `{}`},
		{`{}`, `{}`},
		{` {"a": [1, "é"]} `, `{"a": [1, "é"]} `},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`{"a`, `{"__unparsedToolInput":{"raw":"{\"a","len":3}}`},
		{`{}{}`, `{"__unparsedToolInput":{"raw":"{}{}","len":4}}`},
		{`[1]`, `{"__unparsedToolInput":{"raw":"[1]","len":3}}`},
		{`"😀"`, `{"__unparsedToolInput":{"raw":"\"😀\"","len":4}}`},
		{"{\"a\":\"\xff\"}", `{"__unparsedToolInput":{"raw":"{\"a\":\"` + "�" + `\"}","len":9}}`},
		{deep, `{"__unparsedToolInput":{"raw":"` + strings.ReplaceAll(deep, `"`, `\"`) + `","len":12001}}`},
	} {
		block := OutputBlock{Kind: OutputToolUse, ID: "i\"", Name: "f", Arguments: []byte(tt.arguments)}
		got := string(AppendOutput(nil, &block))
		want := `{"type":"tool_use","id":"i\"","name":"f","input":` + tt.want + `}`
		var v struct{ Input map[string]any }
		if err := json.Unmarshal([]byte(got), &v); got != want || err != nil || v.Input == nil {
			t.Errorf("%.40q: %v, %s, want %s", tt.arguments, err, got, want)
		}
	}
}

// TestDeltasAllocateNothing checks that a piece costs no garbage.
func TestDeltasAllocateNothing(t *testing.T) {
	var w Events
	out := w.AppendBlockOpened(make([]byte, 0, 1<<12), &OutputBlock{Kind: OutputText})
	piece := []byte("a \"piece\"")
	if n := testing.AllocsPerRun(100, func() { out = w.AppendDelta(out[:0], piece) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	const want = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0," +
		"\"delta\":{\"type\":\"text_delta\",\"text\":\"a \\\"piece\\\"\"}}\n\n"
	if string(out) != want {
		t.Errorf("%s, want %s", out, want)
	}
}

func TestPing(t *testing.T) {
	if got := string(AppendPing(nil)); got != "event: ping\ndata: {\"type\":\"ping\"}\n\n" {
		t.Error(got)
	}
}
