package affinity

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// user is the token of the user's role.
var user = o200k.Tokenizer().AppendEncode(nil, "user")[0]

func promptOf(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }

const (
	head  = "<|start|>system<|message|>You.<|end|>"
	asked = head + "<|start|>user<|message|>What is it?<|end|>"
	later = "<|start|>assistant<|channel|>final<|message|>It.<|end|><|start|>user<|message|>And?<|end|>"
	next  = "<|start|>assistant"
)

// TestHashesStay: filters of all versions, and what reads their headers, agree about them.
func TestHashesStay(t *testing.T) {
	seed := Seed("gpt-oss-120b")
	list := string(AppendList(nil, AppendBlocks(nil, seed, []uint32{1, 2, 3, 4, 5, 6, 7}, 3, 9)))
	for got, want := range map[string]string{
		string(seed.AppendHex(nil)): "817f676d143321dd", list: "bd6c036ab7ec1fcc,5595df6ce3608fe5",
		string(AppendText(0, "a session").AppendHex(nil)): "cb8a565d20f9f5fb",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestPrefix: the turns of a conversation have one hash, and what begins otherwise has another.
func TestPrefix(t *testing.T) {
	of := func(model, text string, blocks int) Hash {
		return Prefix(Seed(model), promptOf(text), user, 16, blocks)
	}
	first := of("m", asked+next, 64)
	for _, turns := range []string{later, later + later, later + "<|start|>user<|message|>" + strings.Repeat("x ", 5000)} {
		if got := of("m", asked+turns+next, 64); got != first {
			t.Errorf("after %d bytes the hash is %x, and it was %x", len(turns), got, first)
		}
	}
	for name, other := range map[string]Hash{
		"another model":        of("n", asked+next, 64),
		"another question":     of("m", head+"<|start|>user<|message|>What is this?<|end|>"+next, 64),
		"another system":       of("m", strings.Replace(asked, "You.", "Me.", 1)+next, 64),
		"the question is open": of("m", strings.TrimSuffix(asked, "<|end|>"), 64),
	} {
		if other == first {
			t.Errorf("%s has the same hash", name)
		}
	}
	long := head + "<|start|>user<|message|>" + strings.Repeat("word ", 100)
	if of("m", long+"one<|end|>", 4) != of("m", long+"two<|end|>", 4) {
		t.Error("what follows the last block counts")
	}
	if of("m", long+"one<|end|>", 64) == of("m", long+"two<|end|>", 64) {
		t.Error("what is in the blocks does not count")
	}
	// A user with a name is a user, and a prompt without any user is all beginning.
	named := head + "<|start|>user:Ann<|message|>Hi<|end|>"
	if of("m", named+next, 64) != of("m", named+later+next, 64) {
		t.Error("a user with a name does not end the beginning")
	}
	if of("m", head, 64) == of("m", head+next, 64) {
		t.Error("a prompt without a user ends early")
	}
}

// TestBlocks: a block's hash stands for everything up to its end, and for nothing behind it.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([]uint32, 16*8+5)
	for i := range ids {
		ids[i] = r.Uint32N(201_088)
	}
	whole := AppendBlocks(nil, 7, ids, 16, 100)
	if len(whole) != 8 {
		t.Fatalf("%d blocks", len(whole))
	}
	for at := range ids {
		changed := slices.Clone(ids)
		changed[at] ^= 1
		for i, h := range AppendBlocks(nil, 7, changed, 16, 100) {
			if (h == whole[i]) != (i < at/16) {
				t.Errorf("id %d is changed: block %d is the same: %t", at, i, h == whole[i])
			}
		}
	}
	if got := AppendBlocks(nil, 7, ids, 16, 3); !slices.Equal(got, whole[:3]) {
		t.Errorf("the first three are %x, want %x", got, whole[:3])
	}
	if got := AppendBlocks(nil, 7, ids[:15], 16, 3); len(got) != 0 {
		t.Errorf("a part of a block has the hash %x", got)
	}
}

// TestNoCollisions: prompts that differ little have different hashes.
func TestNoCollisions(t *testing.T) {
	seen := map[Hash]bool{}
	ids := make([]uint32, 20)
	for i := range 1 << 19 {
		ids[i%20] = uint32(i)
		seen[AppendIDs(0, ids[:1+i%20])] = true
		seen[AppendText(0, binary.LittleEndian.AppendUint32(nil, uint32(i)))] = true
	}
	if want := 1 << 20; len(seen) != want {
		t.Errorf("%d of %d hashes differ", len(seen), want)
	}
	// Trailing zeros count, and so does where a text ends.
	for i := range 64 {
		for j := range i {
			if AppendText(1, make([]byte, i)) == AppendText(1, make([]byte, j)) || AppendIDs(1, make([]uint32, i)) ==
				AppendIDs(1, make([]uint32, j)) {
				t.Errorf("%d and %d zeros are the same", i, j)
			}
		}
	}
}

func TestBody(t *testing.T) {
	of := func(body string) Hash { return Body(7, []byte(body), 1000) }
	chat := func(messages string) string { return `{"model":"m","tools":[{"a":"}"}],"messages":[` + messages + `]}` }
	const question = `{"role":"system","content":"You."}, {"role":"user","content":"What is it?"}`
	first := of(chat(question))
	if got := of(chat(question + `,{"role":"assistant","content":"It."},{"role":"user","content":"And?"}`)); got != first {
		t.Errorf("the next turn has %x, and the first %x", got, first)
	}
	for _, body := range []string{
		chat(strings.Replace(question, "it", "this", 1)), chat(`{"role":"user","content":"What is it?"}`),
		`{"input":"What is it?"}`, `{"input":"What?"}`, `{"prompt":"What?!"}`, `{"prompt":[1,2,3]}`, `{"prompt":[1,2,4]}`,
		`{"input_ids":[[1,2,3]]}`, `{"text":"x","messages":[]}`, `{"prompt":["a","b"]}`, `{"messages":[]}`,
	} {
		got := of(body)
		if got == first || got == 7 != (body == `{"messages":[]}`) {
			t.Errorf("%s has the hash %x", body, got)
		}
		first = got
	}
	long := strings.Repeat("a", 1000)
	if of(`{"input":"`+long+`b"}`) != of(`{"input":"`+long+`c"}`) || of(`{"input":"`+long[1:]+`b"}`) ==
		of(`{"input":"`+long[1:]+`c"}`) {
		t.Error("the limit is not kept")
	}
	if none := of(`{"text":{"format":{}},"input":{"a":1},"messages":null}`); none != 7 {
		t.Errorf("no conversation has the hash %x", none)
	}
}

func TestNoGarbage(t *testing.T) {
	ids, hashes, text := promptOf(strings.Repeat(asked, 50)), make([]Hash, 0, 100), make([]byte, 0, 2000)
	body := []byte(`{"messages":[{"role":"user","content":"What is it?"}]}`)
	if n := testing.AllocsPerRun(10, func() {
		hashes = AppendBlocks(hashes[:0], 1, ids, 16, 100)
		text = AppendList(text[:0], hashes)
		Prefix(1, ids, user, 16, 64)
		Body(1, body, 1000)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add([]byte{1, 0, 2, 0}, []byte{3}, 2, 3)
	f.Fuzz(func(t *testing.T, before, after []byte, size, blocks int) {
		size, blocks = 1+size&63, 1+blocks&63
		words := []uint32{tokenizer.Start, tokenizer.End, user, tokenizer.Message, 1, 2, 3, 4}
		var ids []uint32
		for _, b := range before {
			ids = append(ids, words[b&7])
		}
		n := Stable(ids, user, size*blocks)
		if n > len(ids) || n > size*blocks {
			t.Fatalf("%d of %d ids", n, len(ids))
		}
		whole := slices.Clone(ids)
		for _, b := range after {
			whole = append(whole, words[b&7])
		}
		// Where the beginning has ended, nothing that follows counts.
		if n < len(ids) && Prefix(9, ids, user, size, blocks) != Prefix(9, whole, user, size, blocks) {
			t.Fatal("what follows counts")
		}
		a, b := AppendBlocks(nil, 9, ids, size, blocks), AppendBlocks(nil, 9, whole, size, blocks)
		if !slices.Equal(a, b[:len(a)]) {
			t.Fatal("blocks depend on what follows them")
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{`{"messages":[{"role":"user"}]}`, `{"input":"\u0061"}`, `{"prompt":[1]}`, `{"a`, `[`, ``,
		`{"messages":[{"role":`, `{"messages":[1,`} {
		f.Add([]byte(body), 10)
	}
	f.Fuzz(func(t *testing.T, body []byte, limit int) {
		if Body(1, body, limit) != Body(1, slices.Clone(body), limit) {
			t.Fatal("two hashes of one body")
		}
	})
}

func BenchmarkPrefix(b *testing.B) {
	ids := make([]uint32, 100_000)
	hashes := make([]Hash, 0, 2048)
	b.Run("prefix of 64 blocks", func(b *testing.B) {
		for range b.N { // TinyGo has no b.Loop
			Prefix(1, ids, user, 16, 64)
		}
	})
	b.Run("2048 blocks", func(b *testing.B) {
		for range b.N {
			hashes = AppendBlocks(hashes[:0], 1, ids, 16, 2048)
		}
	})
}
