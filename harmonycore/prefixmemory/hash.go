package prefixmemory

import (
	"math/bits"
	"unsafe"
)

// KeySize is the size of the random key of a [Memory], in bytes.
const KeySize = 32

// Tag is a keyed hash.
type Tag struct{ a, b uint64 }

// hasher makes tags. Each kilobyte is compressed to 16 bytes by NH, a universal hash of two passes, and SipHash-2-4
// makes a tag of 128 bits of the results and the length. A client that does not know the key finds two texts with one
// tag with a probability of 2^-64 for each pair: their NH of the first kilobyte that differs is the same with that
// probability, and SipHash is a keyed random function of it.
//
// NH adds a key to each of two words of 32 bits and multiplies the sums. Here one addition of 64 bits adds both keys,
// so the first sum carries into the second. The bound stays (RATIONALE.md#252).
type hasher struct {
	k0, k1 uint64
	// nh are the keys of the first pass. Those of the second begin two later.
	nh [keysPerBlock + 2]uint64
}

const (
	hashBlock    = 1024
	keysPerBlock = hashBlock / 8
	// stride is how many bytes are hashed at once.
	stride = 32
)

// The first word of what SipHash reads, by the use of it.
const (
	ofKeys uint64 = iota + 1
	ofBytes
	ofTexts
	ofPairs
)

func newHasher(key *[KeySize]byte) (h hasher) {
	h.k0, h.k1 = word(key[:], 0), word(key[:], 8)
	for i := 0; i < len(h.nh); i += 2 {
		s := h.sip(ofKeys)
		s.word(word(key[:], 16))
		s.word(word(key[:], 24))
		s.word(uint64(i))
		t := s.sum()
		h.nh[i], h.nh[i+1] = t.a, t.b
	}
	return h
}

func word(b []byte, at int) (w uint64) {
	for i := range 8 {
		if at+i < len(b) {
			w |= uint64(b[at+i]) << (8 * i)
		}
	}
	return w
}

// bytes returns the tag of data.
func (h *hasher) bytes(data []byte) Tag {
	s := h.sip(ofBytes)
	size := len(data)
	for len(data) > 0 {
		n := min(len(data), hashBlock)
		a, b := h.compress(data[:n])
		s.word(a)
		s.word(b)
		data = data[n:]
	}
	s.word(uint64(size))
	return s.sum()
}

// compress is NH of a block, which has at most hashBlock bytes. A part of a stride at its end is filled up with zeros.
func (h *hasher) compress(block []byte) (a, b uint64) {
	whole := min(len(block), hashBlock) &^ (stride - 1)
	text, keys := unsafe.Pointer(unsafe.SliceData(block)), unsafe.Pointer(&h.nh)
	for at := 0; at < whole; at += stride { // every read is within the block, and within the keys, which are longer
		m, key := (*[4]uint64)(unsafe.Add(text, at)), (*[6]uint64)(unsafe.Add(keys, at))
		m0, m1, m2, m3 := m[0], m[1], m[2], m[3]
		k2, k3 := key[2], key[3]
		a += nh(m0+key[0]) + nh(m1+key[1]) + nh(m2+k2) + nh(m3+k3)
		b += nh(m0+k2) + nh(m1+k3) + nh(m2+key[4]) + nh(m3+key[5])
	}
	if rest := block[whole:]; len(rest) > 0 && whole < hashBlock {
		key := (*[6]uint64)(unsafe.Add(keys, whole))
		for i := range stride / 8 {
			m := word(rest, 8*i)
			a += nh(m + key[i])
			b += nh(m + key[i+2])
		}
	}
	return a, b
}

// nh multiplies two words, each with its key.
func nh(sum uint64) uint64 { return uint64(uint32(sum)) * (sum >> 32) }

// texts returns the tag of a list of texts that follows another tag.
func (h *hasher) texts(before Tag, texts []string) Tag {
	s := h.sip(ofTexts)
	s.word(before.a)
	s.word(before.b)
	for _, t := range texts {
		s.word(uint64(len(t)))
		for at := 0; at < len(t); at += 8 {
			var w uint64
			for i := range min(8, len(t)-at) {
				w |= uint64(t[at+i]) << (8 * i)
			}
			s.word(w)
		}
	}
	s.word(uint64(len(texts)))
	return s.sum()
}

// sip is the state of SipHash-2-4 with a result of 128 bits. It reads words of 64 bits.
type sip struct{ v0, v1, v2, v3 uint64 }

func (h *hasher) sip(use uint64) sip {
	s := newSip(h.k0, h.k1)
	s.word(use)
	return s
}

func newSip(k0, k1 uint64) sip {
	return sip{
		v0: k0 ^ 0x736f6d6570736575, v1: k1 ^ 0x646f72616e646f6d ^ 0xee,
		v2: k0 ^ 0x6c7967656e657261, v3: k1 ^ 0x7465646279746573,
	}
}

func (s *sip) word(m uint64) {
	s.v3 ^= m
	s.round()
	s.round()
	s.v0 ^= m
}

func (s *sip) sum() (t Tag) {
	s.v2 ^= 0xee
	for range 4 {
		s.round()
	}
	t.a = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
	s.v1 ^= 0xdd
	for range 4 {
		s.round()
	}
	t.b = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
	return t
}

func (s *sip) round() {
	s.v0 += s.v1
	s.v2 += s.v3
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v1
	s.v0 += s.v3
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

// Digest is what is kept of bytes to know them again.
type Digest struct {
	size   int
	sample uint64
	tag    Tag
}

// samples is how many words of a text its sample is made of.
const samples = 12

// sampleOf returns a number that most different texts differ in. It saves hashing texts that are not the same, and
// proves nothing.
func sampleOf(data []byte) (s uint64) {
	if len(data) < 8 {
		return word(data, 0)
	}
	step := (len(data) - 8) / samples
	for i := range samples + 1 {
		at := len(data) - 8 - i*step
		w := *(*uint64)(unsafe.Pointer(unsafe.SliceData(data[at : at+8])))
		s = bits.RotateLeft64(s, 9)*0x9e3779b97f4a7c15 ^ w
	}
	return s
}
