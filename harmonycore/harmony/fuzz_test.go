package harmony

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// A fuzzer's bytes stand for tokens: the first ones for what matters in the format, the rest for tokens of one byte.
var fuzzTokens = func() [][]uint32 {
	list := [][]uint32{{tokenizer.Start}, {tokenizer.Channel}, {tokenizer.Message}, {tokenizer.Constrain}, {tokenizer.End},
		{tokenizer.Return}, {tokenizer.Call}, {tokenizer.EndOfText}, {200500}, {201089}, {1 << 31}}
	for _, text := range []string{"assistant", "user", "tool", "analysis", "commentary", "final", " to=", "to=functions.f",
		"functions.f", " json",
		"Hello", " there", "😀", "🜁", "\n", "<|end|>", "{\"a\":1}", "?"} {
		list = append(list, o200k.Tokenizer().AppendEncode(nil, text))
	}
	return list
}()

func fuzzed(data []byte) []uint32 {
	var ids []uint32
	for _, c := range data {
		if int(c) < len(fuzzTokens) {
			ids = append(ids, fuzzTokens[c]...)
		} else {
			ids = append(ids, byteToken(c))
		}
	}
	return ids
}

// byteToken is the token of one byte, which the vocabulary has for each.
func byteToken(c byte) uint32 {
	return o200k.Tokenizer().AppendEncode(nil, string([]byte{c}))[0]
}

// inBytes spells the ordinary tokens by one token for each byte.
func inBytes(ids []uint32) []uint32 {
	var out []uint32
	for _, id := range ids {
		b, ok := o200k.Tokenizer().TokenBytes(id)
		if !ok || tokenizer.IsSpecial(id) {
			out = append(out, id)
			continue
		}
		for _, c := range b {
			out = append(out, byteToken(c))
		}
	}
	return out
}

func addFuzzSeeds(f *testing.F) {
	f.Add([]byte{1, 14, 2, 21, 22, 4, 0, 11, 1, 16, 2, 23, 5})
	f.Add([]byte{1, 15, 17, 19, 3, 20, 2, 27, 6, 4, 4, 21})
	f.Add([]byte{0, 0, 11, 11, 1, 1, 15, 28, 2, 0xF0, 0x9F, 9, 0x98, 1, 16, 0xC3, 5, 21})
	f.Add([]byte{21, 5, 18, 27, 6, 25, 0, 22, 7, 8, 26, 1, 28, 4})
	f.Add([]byte("assistant analysis to=x"))
}

func FuzzStreamParser(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { checkInvariants(t, fuzzed(data)) })
}

// FuzzStreamParserContent: between a message token and an end every ordinary token is content once, and nothing else
// is.
func FuzzStreamParserContent(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := []uint32{tokenizer.Message}
		var content []uint32
		for _, id := range fuzzed(data) {
			switch _, known := o200k.Tokenizer().TokenBytes(id); {
			case known && !tokenizer.IsSpecial(id):
				content = append(content, id)
			case id == tokenizer.Start, id == tokenizer.Channel, id == tokenizer.End, id == tokenizer.Return,
				id == tokenizer.Call:
				continue // these end the message, or may
			}
			ids = append(ids, id)
		}
		got := record(append(ids, tokenizer.End)).messages
		want := recorded{Header{Role: Assistant}, o200k.Tokenizer().DecodeString(content), len(content), EndedByEnd}
		if len(got) != 1 || got[0] != want {
			t.Fatalf("%v\n got %+v\nwant %+v", ids, got, want)
		}
	})
}

// FuzzStreamParserSplit: the messages depend on the text, not on where tokens cut it.
func FuzzStreamParserSplit(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := fuzzed(data)
		whole, split := record(ids), record(inBytes(ids))
		if whole.seen[LongHeader] > 0 || split.seen[LongHeader] > 0 || len(data) > MaxHeaderTokens/4 {
			return // the limit counts tokens
		}
		if formatMessages(whole.messages) != formatMessages(split.messages) {
			t.Fatalf("%v\n by tokens %q\n  by bytes %q", ids, formatMessages(whole.messages), formatMessages(split.messages))
		}
	})
}

func FuzzStrictParser(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, strict := range []bool{true, false} {
			p := NewStrictParser(o200k.Tokenizer(), Assistant, strict)
			deltas := ""
			for _, id := range fuzzed(data) {
				before := p.State()
				err := p.Process(id)
				if err != nil && p.State() != before && id != tokenizer.Message {
					t.Fatalf("an error moved state %d to %d", before, p.State())
				}
				if p.State() != InContent {
					deltas = ""
				}
				if deltas += p.LastDelta().Value; deltas != p.Content() {
					t.Fatalf("content %q, deltas %q", p.Content(), deltas)
				}
			}
		}
	})
}

// FuzzStrictCheck: the check finds the error that the parser stops at.
func FuzzStrictCheck(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := fuzzed(data)
		check := NewStrictCheck(o200k.Tokenizer())
		for _, id := range ids {
			check.Process(id)
		}
		check.Finish()
		want := firstError(ids)
		if got := check.Err(); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Fatalf("%v\n got %+v\nwant %+v", ids, got, want)
		}
	})
}

// firstError is the error that a strict parser of an answer stops at.
func firstError(ids []uint32) *ParseError {
	p := NewStrictParser(o200k.Tokenizer(), Assistant, true)
	var err error
	for i := 0; i < len(ids) && err == nil; i++ {
		err = p.Process(ids[i])
	}
	if err == nil {
		err = p.ProcessEOS()
	}
	e, _ := err.(*ParseError)
	return e
}

// FuzzDecodeConversation: no text makes the reader or the renderer fail otherwise than by an error, and rendering
// leaves what was there before.
func FuzzDecodeConversation(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"system","content":[{"type":"system_content","reasoning_effort":"High"}]}]}`))
	f.Add([]byte(`{"messages":[{"role":"tool","name":"functions.f","recipient":"assistant","content":"x",` +
		`"channel":"commentary"}]}`))
	f.Add(
		[]byte(
			`{"messages":[{"role":"developer","content":[{"type":"developer_content","tools":{"functions":{"name":"functions","tools":[
		{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"oneOf":[{"type":"string","default":1e-7}],"nullable":true}}}}]}}}]}]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","channel":"final","content":["x"],"content":"y"}]}`))
	r := NewRenderer(o200k.Tokenizer())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeConversation(data)
		if err != nil {
			return
		}
		before := []uint32{1, 2, 3}
		for _, policy := range []AnalysisPolicy{KeepAnalysis, DropReference, DropBeforeLastFinal} {
			ids, err := r.AppendCompletion(slices.Clone(before), c, Assistant, policy)
			if !slices.Equal(ids[:3], before) || err != nil && len(ids) != 3 {
				t.Fatalf("rendering changed what stood before: %v, %v", ids, err)
			}
		}
	})
}
