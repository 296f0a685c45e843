package translate

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// sealedTurn returns the answer to what a model has written in ids, as a request of an API with sealed reasoning gets
// it.
func sealedTurn(t *testing.T, api API, thinking anthropic.Thinking, s Sealing, ids []uint32) map[string]any {
	t.Helper()
	_, r := readTurn(t, s, nil, `{"role":"user","content":"r"}`)
	if r.sealed = true; api == MessagesAPI {
		asMessages(r, false, thinking)
	}
	r.KeepTrail(nil)
	a := r.NewAnswer()
	a.Begin()
	parser := harmony.NewStreamParser(o200k.Tokenizer(), a.Choices()[0])
	for _, id := range ids {
		r.Trail().Add(id)
		parser.Process(id)
	}
	parser.Finish()
	a.Choices()[0].End(Stop)
	a.Finish(Usage{}, 0)
	return decode(t, string(a.Ready().Take(nil)))
}

// sealedInside returns what is sealed in the elements of an answer: of reasoning, in the member of a name.
func sealedInside(t *testing.T, elements any, member string, s Sealing) []string {
	t.Helper()
	var all []string
	for _, v := range elements.([]any) {
		sealed, _ := v.(map[string]any)[member].(string)
		if sealed == "" {
			continue
		}
		text, form, _, err := s.open([]byte(sealed), "m", testEnv.Now)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(form, hex.EncodeToString(text)))
	}
	return all
}

// TestMessagesSealAsResponses checks that reasoning is sealed as it is in Responses, with the ids with which the model
// has written it and the header of its call: the prompt of the next turn has them.
func TestMessagesSealAsResponses(t *testing.T) {
	s := sealing(t, 60)
	turns := [][]uint32{
		o200k.Tokenizer().AppendEncodeSpecial(nil, strings.ReplaceAll(thought, "«Hm»", "Hm")+callOfF+"{}<|call|>"),
		o200k.Tokenizer().AppendEncodeSpecial(nil, strings.ReplaceAll(thought, "«Hm»", "H<|start|>assistant")+callOfF+"{}"),
	}
	err := vectors.Each("../harmony/testdata", "parse_tidy.jsonl", 400, func(_ vectors.Place, v *vectors.Stream) error {
		if ids, ok := v.IDs(); ok && len(turns) < 300 {
			turns = append(turns, ids)
		}
		return nil
	})
	if err != nil || len(turns) < 100 {
		t.Fatal(len(turns), err)
	}
	asIDs, hidden := 0, 0
	for _, ids := range turns {
		response := sealedTurn(t, ResponsesAPI, 0, s, ids)
		want := sealedInside(t, response["output"], "encrypted_content", s)
		// Behind a call there is no reasoning in Messages.
		for i, v := range response["output"].([]any) {
			if v.(map[string]any)["call_id"] != nil {
				want = sealedInside(t, response["output"].([]any)[:i], "encrypted_content", s)
				break
			}
		}
		for _, thinking := range []anthropic.Thinking{anthropic.ThinkingShown, anthropic.ThinkingOmitted} {
			m := sealedTurn(t, MessagesAPI, thinking, s, ids)
			if got := sealedInside(t, m["content"], "signature", s); !slices.Equal(got, want) {
				t.Fatalf("%v: signatures hold %v, want %v", ids, got, want)
			}
		}
		off := sealedInside(t, sealedTurn(t, MessagesAPI, anthropic.ThinkingOff, s, ids)["content"], "data", s)
		for _, sealed := range off {
			if hidden++; !slices.Contains(want, sealed) {
				t.Fatalf("%v: hidden are %v, of %v", ids, off, want)
			}
		}
		for _, sealed := range want {
			if strings.HasPrefix(sealed, fmt.Sprint(seal.Message)) {
				asIDs++
			}
		}
	}
	if asIDs < 20 || hidden < 10 {
		t.Errorf("%d of the seals hold ids, %d are hidden", asIDs, hidden)
	}
	t.Logf("%d turns, %d seals with ids, %d hidden", len(turns), asIDs, hidden)
}
