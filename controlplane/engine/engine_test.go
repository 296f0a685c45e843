package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestKindsHaveEngines checks that every kind of server is one program's, except the kinds of any program that
// takes text or conversations.
func TestKindsHaveEngines(t *testing.T) {
	for _, kind := range contract.ServerKinds() {
		var of []string
		for i := range engines {
			if engines[i].Serves(kind) {
				of = append(of, engines[i].ID)
			}
		}
		if len(of) != 1 && kind != contract.Text && kind != contract.Chat {
			t.Errorf("%s is of the programs %q: its name begins with its program's ID, as vllm-generate does", kind, of)
		}
	}
}

// TestMisfit checks which kinds are named for a server of another kind.
func TestMisfit(t *testing.T) {
	for _, tt := range []struct {
		engine, kind string
		first        string // of the kinds that fit
	}{
		{VLLM, "vllm", ""}, {VLLM, "vllm-generate", ""}, {SGLang, "vllm", "sglang"}, {VLLM, "sglang", "vllm"},
		{VLLM, "text", ""}, {"", "vllm", ""},
	} {
		got := Named(tt.engine).Misfit(tt.kind)
		if tt.first == "" && len(got) > 0 || tt.first != "" && (len(got) == 0 || got[0] != tt.first) {
			t.Errorf("%s as %s: %q", tt.engine, tt.kind, got)
		}
	}
}

// TestModelLists checks what a model list tells. Members that the gateway can do without may be of any type.
func TestModelLists(t *testing.T) {
	for _, tt := range []struct {
		answer, models, program string
		context                 int
		ok                      bool
	}{
		{`{"data":[{"id":"m","owned_by":"vllm","max_model_len":7},{"id":"n","max_model_len":9}]}`, "m n", "vLLM", 7, true},
		{`{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":1024}}]}`, "m", "llama.cpp", 1024, true},
		{`{"data":[{"id":"m","owned_by":"me","meta":null}]}`, "m", "unknown", 0, true},
		{`{"data":[{"id":"m","owned_by":5,"max_model_len":"a","meta":[]}]}`, "m", "unknown", 0, true},
		{`{"data":[{"id":"m","max_model_len":-1}]}`, "m", "unknown", 0, true},
		{`{"data":[]}`, "", "unknown", 0, true},
		{`{"data":[{"id":5}]}`, "", "unknown", 0, false},
		{`{"data":null}`, "", "unknown", 0, false},
		{`<html>`, "", "unknown", 0, false},
	} {
		f, ok := ReadModels([]byte(tt.answer))
		if ok != tt.ok || strings.Join(f.Models, " ") != tt.models || f.Program() != tt.program || f.Context != tt.context {
			t.Errorf("%s: %v %+v", tt.answer, ok, f)
		}
	}
}

// TestFewTexts checks that few texts tell our vocabulary from others: from single bytes, and from the pieces that our
// own merges make without the last one.
func TestFewTexts(t *testing.T) {
	ours := o200k.Tokenizer()
	for name, tt := range map[string]struct {
		encode func(string) []uint32
		want   Texts
	}{
		"ours": {func(text string) []uint32 { return ours.AppendEncode(nil, text) }, Texts{Same: 4}},
		"ours, one higher": {func(text string) []uint32 {
			ids := ours.AppendEncode(nil, text)
			for i := range ids {
				ids[i]++
			}
			return ids
		}, Texts{Other: 4}},
		"bytes of ours": {func(text string) []uint32 {
			var ids []uint32
			for i := range len(text) {
				ids = ours.AppendEncode(ids, text[i:i+1])
			}
			return ids
		}, Texts{Split: 4}},
	} {
		got := new(Facts).Compare(FewTexts(), "m", func(request []byte) ([]byte, bool) {
			var q struct{ Prompt string }
			_ = json.Unmarshal(request, &q)
			answer, err := json.Marshal(map[string]any{"tokens": tt.encode(q.Prompt)})
			return answer, err == nil
		})
		if got.Example = ""; got != tt.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestFiftyTexts(t *testing.T) {
	if len(texts) != 50 {
		t.Errorf("there are %d texts", len(texts))
	}
	for i, text := range texts {
		if slices.Contains(texts[:i], text) || strings.Contains(text, "<|") {
			t.Errorf("%q is there twice, or spells a control token", text)
		}
	}
}

// TestClip checks that a server's text is one short line without control characters.
func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"0.33.0": "0.33.0", " a\n b\t": "a b", "a\x1b[31m": "a\ufffd[31m",
		strings.Repeat("é", 200): strings.Repeat("é", 150) + "…",
	} {
		if got := Clip(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if n := len(Clip(strings.Repeat("a\n", 1<<20))); n > maxText+len("…") {
		t.Errorf("%d bytes", n)
	}
}
