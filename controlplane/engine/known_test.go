package engine

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestKnown holds the known ids against the vocabulary.
func TestKnown(t *testing.T) {
	vocabulary := o200k.Tokenizer()
	for _, k := range known {
		ids := vocabulary.AppendEncode(nil, k.text)
		if k.text == greeting || k.text == FixedText {
			ids = vocabulary.AppendEncodeSpecial(nil, k.text)
		}
		if !slices.Equal(k.ids, ids) {
			t.Errorf("%q has the ids %v, want %v", k.text, k.ids, ids)
		}
	}
	for _, text := range append(FewTexts(), greeting, FixedText, texts[1]) {
		if got, want := encode(text), vocabulary.AppendEncode(nil, text); !slices.Equal(got, want) {
			t.Errorf("%q is encoded as %v, want %v", text, got, want)
		}
	}
}

func TestSpelling(t *testing.T) {
	vocabulary := o200k.Tokenizer()
	fixed := known[1].ids
	for _, ids := range [][]uint32{
		nil, {tokenizer.Return}, fixed, append(slices.Clone(fixed), tokenizer.Return), fixed[:4], known[0].ids,
		append(slices.Clone(fixed), 13225, tokenizer.Return), {13225}, {200018}, {4_000_000_000},
	} {
		if got, want := Spelling(ids), vocabulary.DecodeString(ids); got != want {
			t.Errorf("%v is spelled %q, want %q", ids, got, want)
		}
	}
}

// TestFewAreKnown: a start compares all of these without the table.
func TestFewAreKnown(t *testing.T) {
	for _, text := range FewTexts() {
		if !slices.ContainsFunc(known, func(k knownText) bool { return k.text == text }) {
			t.Errorf("the ids of %q are not known", text)
		}
	}
}
