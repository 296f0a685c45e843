package prefixmemory

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestSipHash compares with the vectors of SipHash's authors for a result of 128 bits (vectors_sip128 in vectors.h of
// the reference implementation): of no bytes, and of the bytes 0 to 7.
func TestSipHash(t *testing.T) {
	for _, test := range []struct {
		words []uint64
		want  string
	}{
		{[]uint64{0}, "a3817f04ba25a8e66df67214c7550293"},
		{[]uint64{0x0706050403020100, 8 << 56}, "3b62a9ba6258f5610f83e264f31497b4"},
	} {
		s := newSip(0x0706050403020100, 0x0f0e0d0c0b0a0908)
		for _, w := range test.words {
			s.word(w)
		}
		sum := s.sum()
		got := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, sum.a), sum.b)
		if hex.EncodeToString(got) != test.want {
			t.Errorf("%v: %x, want %s", test.words, got, test.want)
		}
	}
}

// TestCompress compares with NH as it is defined, for blocks of all lengths.
func TestCompress(t *testing.T) {
	h := newHasher(&[KeySize]byte{1, 2, 3, 31: 9})
	rng := rand.New(rand.NewPCG(1, 2))
	block := make([]byte, hashBlock)
	for i := range block {
		block[i] = byte(rng.Uint32())
	}
	for size := range len(block) + 1 {
		padded := append(append([]byte(nil), block[:size]...), make([]byte, hashBlock-size)...)
		var want [2]uint64
		words := (size + stride - 1) / stride * stride / 8 // strides of zeros are left out: the length is hashed too
		for pass := range want {
			for i := range words {
				sum := binary.LittleEndian.Uint64(padded[8*i:]) + h.nh[2*pass+i]
				want[pass] += (sum & 0xffffffff) * (sum >> 32)
			}
		}
		if a, b := h.compress(block[:size]); a != want[0] || b != want[1] {
			t.Fatalf("%d bytes: %x, %x, want %x", size, a, b, want)
		}
	}
}

// TestCarryKeepsTheBound counts keys under which the products of two texts have a given difference. For words of w bits
// these are at most 2^w of the 2^2w keys, as for NH without the carry, so the probability is 2^-w. It counts for all
// pairs of texts and all differences, with w of 3 and of 4. RATIONALE.md#252 says why that holds for each w.
func TestCarryKeepsTheBound(t *testing.T) {
	for _, w := range []int{3, 4} {
		mask := 1<<(2*w) - 1
		product := func(sum int) int { return (sum & (1<<w - 1)) * (sum & mask >> w) }
		for x := range mask + 1 {
			for y := range x {
				keys := make([]int, mask+1)
				for key := range mask + 1 {
					difference := (product(x+key) - product(y+key)) & mask
					if keys[difference]++; keys[difference] > 1<<w {
						t.Fatalf("%d bits: %d and %d differ by %d under more than %d keys", w, x, y, difference, 1<<w)
					}
				}
			}
		}
	}
}

// TestTagsDiffer: no two of many similar texts have one tag, under any key: such that differ in a bit, in their length,
// or in how they are divided.
func TestTagsDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	keys := map[Tag]bool{}
	for range 3 {
		var key [KeySize]byte
		for i := range key {
			key[i] = byte(rng.Uint32())
		}
		h := newHasher(&key)
		text := make([]byte, 3000)
		seen := map[Tag]int{}
		note := func(tag Tag) { seen[tag]++ }
		for i := range text {
			note(h.bytes(text[:i]))
			text[i] ^= 1 << rng.IntN(8)
			note(h.bytes(text))
		}
		note(h.texts(Tag{}, []string{"ab", "c"}))
		note(h.texts(Tag{}, []string{"a", "bc"}))
		note(h.texts(Tag{}, []string{"abc"}))
		note(h.texts(Tag{a: 1}, []string{"abc"}))
		for tag, n := range seen {
			if n > 1 || keys[tag] {
				t.Fatalf("%x was seen %d times", tag, n)
			}
			keys[tag] = true
		}
	}
}
