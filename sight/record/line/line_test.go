package line

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// TestLines writes a line of each type, and reads it again.
func TestLines(t *testing.T) {
	for _, l := range []Line{
		&Request{Head: Head{TypeRequest, 0}, Record: Version, Time: "t", Body: json.RawMessage(`{"a":"<|end|>"}`)},
		&Sent{Head: Head{TypeSent, 1}, SentHead: tap.SentHead{Model: "m", Translated: true}, PromptIDs: []uint32{1, 2}},
		&Response{Head{TypeHead, 1.5}, tap.ResponseHead{Status: 200, Local: true}},
		&Message{Head: Head{TypeMessage, 2}, Choice: 3, Role: "assistant", Channel: "final"},
		&Tokens{Head: Head{TypeTokens, 2}, IDs: []uint32{200007}, Texts: []string{"<|end|>"}, Content: "\u2028&"},
		&Recovery{Head{TypeRecovery, 2}, 0, 0, "missing_end"},
		&Piece{Head{TypeChunk, 2}, "\x00\n"},
		&Response{Head{TypeAnswerHead, 2}, tap.ResponseHead{Status: 500}},
		&Piece{Head{TypeAnswer, 2}, "x"},
		&End{Head: Head{TypeEnd, 3}, EndReport: tap.EndReport{Status: 200, FirstTokenMS: -1}, LostLines: 4, Broken: "b"},
	} {
		text := Append([]byte("before"), l)
		text, found := bytes.CutPrefix(text, []byte("before"))
		if !found || bytes.IndexByte(text, '\n') != len(text)-1 || bytes.Contains(text, []byte(`\u003c`)) {
			t.Errorf("%s", text)
		}
		if got, err := Read(text); err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{"type":"later","at_ms":1}`:     "",
		`{"type":"request","record":2}`:  "the record has version 2; this program reads 1",
		`{"type":"tokens","choice":"x"}`: "json: cannot unmarshal string into Go struct field Tokens.choice of type int",
		`[`:                              "unexpected end of JSON input",
	} {
		l, err := Read([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if l != nil || got != want {
			t.Errorf("%s: %+v, %s", text, l, got)
		}
	}
	if broken := Append([]byte("x"), &Request{Body: json.RawMessage("{")}); string(broken) != "x" {
		t.Errorf("a line that cannot be written leaves %s", broken)
	}
}

func TestBegun(t *testing.T) {
	tok := o200k.Tokenizer()
	for prompt, want := range map[string]string{
		"": "", "<|start|>user<|message|>Hi<|end|>": "", "<|start|>assistant": "",
		"<|start|>assistant<|message|>x<|end|><|start|>assistant<|channel|>commentary": "<|channel|>commentary",
	} {
		ids := BegunIDs(tok, tok.AppendEncodeSpecial(nil, prompt))
		if text := BegunText(prompt); text != want || !slices.Equal(ids, tok.AppendEncodeSpecial(nil, want)) {
			t.Errorf("%s: %v, %q", prompt, ids, text)
		}
	}
}
