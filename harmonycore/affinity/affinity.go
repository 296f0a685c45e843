package affinity

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// Hash is the hash of a prompt up to some place. Equal beginnings of one model's prompts have equal hashes, in every
// process. It is not cryptographic: whoever chooses a prompt can find another one with the same hash.
type Hash uint64

// Two odd constants with evenly spread bits.
const (
	factor Hash = 0xd6e8feb86659fd93
	origin Hash = 0x9e3779b97f4a7c15
)

// mix adds a word. It is a bijection of the hash, and of the word.
func (h Hash) mix(word uint64) Hash {
	h = (h ^ Hash(word)) * factor
	return h ^ h>>32
}

// Seed returns the hash of the empty prompt of a model.
func Seed(model string) Hash { return AppendText(origin, model) }

// AppendIDs returns the hash of a prompt that goes on with ids. The chain of blocks is made of it: its parts are not
// the same as in a single call, so AppendIDs(AppendIDs(h, a), b) differs from AppendIDs(h, ab).
func AppendIDs(h Hash, ids []uint32) Hash {
	n := len(ids)
	for len(ids) >= 8 { // one check of the bounds for eight ids
		p := (*[8]uint32)(ids)
		h = h.mix(uint64(p[0]) | uint64(p[1])<<32).mix(uint64(p[2]) | uint64(p[3])<<32)
		h = h.mix(uint64(p[4]) | uint64(p[5])<<32).mix(uint64(p[6]) | uint64(p[7])<<32)
		ids = ids[8:]
	}
	for len(ids) >= 2 {
		h = h.mix(uint64(ids[0]) | uint64(ids[1])<<32)
		ids = ids[2:]
	}
	last := uint64(n) << 32
	if len(ids) > 0 {
		last |= uint64(ids[0])
	}
	return h.mix(last).mix(0)
}

// AppendText returns the hash of a text that goes on with more of it.
func AppendText[Text string | []byte](h Hash, text Text) Hash {
	n := len(text)
	at := 0
	for ; at+8 <= n; at += 8 {
		h = h.mix(uint64(text[at]) | uint64(text[at+1])<<8 | uint64(text[at+2])<<16 | uint64(text[at+3])<<24 |
			uint64(text[at+4])<<32 | uint64(text[at+5])<<40 | uint64(text[at+6])<<48 | uint64(text[at+7])<<56)
	}
	var rest uint64
	for i := 0; at+i < n; i++ {
		rest |= uint64(text[at+i]) << (8 * i)
	}
	return h.mix(rest).mix(uint64(n))
}

// AppendBlocks appends the hashes of the first whole blocks of a prompt, at most limit of them. The hash of a block
// stands for the whole prompt up to the block's end.
func AppendBlocks(dst []Hash, seed Hash, ids []uint32, size, limit int) []Hash {
	for ; limit > 0 && len(ids) >= size; limit-- {
		seed = AppendIDs(seed, ids[:size])
		dst = append(dst, seed)
		ids = ids[size:]
	}
	return dst
}

// Prefix returns the hash of the part of a prompt that stays the same over a conversation: its first blocks of size
// ids, at most limit of them, but nothing after the first message of the user. user is the id of the user's role.
func Prefix(seed Hash, ids []uint32, user uint32, size, limit int) Hash {
	return AppendIDs(seed, ids[:Stable(ids, user, size*limit)])
}

// Stable returns how many of a prompt's ids stay the same over a conversation, at most limit: those up to the end of
// the first message of the user. user is the id of the user's role in a header.
func Stable(ids []uint32, user uint32, limit int) int {
	limit = min(limit, len(ids))
	inUser := false
	for i, id := range ids[:limit] {
		switch {
		case id < tokenizer.FirstSpecial: // nearly all
		case id == tokenizer.Start:
			inUser = i+1 < len(ids) && ids[i+1] == user
		case id == tokenizer.End && inUser:
			return i + 1
		}
	}
	return limit
}

// HashDigits is the length of a hash as text.
const HashDigits = 16

// AppendHex appends the hash as [HashDigits] hexadecimal digits.
func (h Hash) AppendHex(dst []byte) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[h>>shift&15])
	}
	return dst
}

// AppendList appends hashes as text, with commas between them.
func AppendList(dst []byte, hashes []Hash) []byte {
	for i, h := range hashes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = h.AppendHex(dst)
	}
	return dst
}
