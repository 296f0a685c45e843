package items

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestPreambles: a model's words before a call are no answer, also where they have no phase.
func TestPreambles(t *testing.T) {
	for _, tt := range []struct {
		output []string
		want   []bool
	}{
		{[]string{`{"type":"message"}`}, []bool{false}},
		{[]string{`{"type":"message"}`, `{"type":"reasoning"}`, `{"type":"function_call"}`}, []bool{true, false, false}},
		{[]string{`{"type":"message"}`, `{"type":"mcp_call"}`, `{"type":"message"}`}, []bool{true, false, false}},
		{[]string{`{"type":"message","phase":"commentary"}`}, []bool{true}},
		{[]string{`{"type":"message","phase":"final_answer"}`, `{"type":"function_call"}`}, []bool{false, false}},
		{[]string{`5`, `{}`}, []bool{false, false}},
		{nil, nil},
	} {
		var output []json.RawMessage
		for _, item := range tt.output {
			output = append(output, json.RawMessage(item))
		}
		if got := Preambles(output); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.output, got, tt.want)
		}
	}
}
