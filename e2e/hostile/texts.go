package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// letters returns a piece of n random letters of an alphabet.
func letters(alphabet string, n int) piece {
	runes := []rune(alphabet)
	return func(_ int, rng *rand.Rand) string {
		var out strings.Builder
		for range n {
			out.WriteRune(runes[rng.IntN(len(runes))])
		}
		return out.String()
	}
}

// between returns a piece of n random characters from a range.
func between(first, last rune, n int) piece {
	return func(_ int, rng *rand.Rand) string {
		var out strings.Builder
		for range n {
			out.WriteRune(first + rune(rng.IntN(int(last-first+1))))
		}
		return out.String()
	}
}

// escapes returns a piece of one random character from a range, written as an escape.
func escapes(first, last rune) piece {
	return func(_ int, rng *rand.Rand) string {
		return fmt.Sprintf(`\u%04x`, first+rune(rng.IntN(int(last-first+1))))
	}
}

const (
	small = "abcdefghijklmnopqrstuvwxyz"
	great = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var someWords = strings.Fields("the quick brown fox jumps over a lazy dog while seventeen philosophers dispute " +
	"whether tokens outnumber words")

func words(_ int, rng *rand.Rand) string { return someWords[rng.IntN(len(someWords))] + " " }

// texts are the contents of long strings, by name.
var texts = []struct {
	name  string
	piece piece
}{
	{"random letters", letters(small, 64)},
	{"random capitals and letters", letters(small+great, 64)},
	{"words", words},
	{"one letter", same(strings.Repeat("a", 64))},
	{"one capital", same(strings.Repeat("Q", 64))},
	{"spaces", same(strings.Repeat(" ", 64))},
	{"tabs", same(strings.Repeat(`\t`, 32))},
	{"line ends", same(strings.Repeat(`\n`, 32))},
	{"spaces and line ends", func(i int, rng *rand.Rand) string { return strings.Repeat(" ", rng.IntN(9)) + `\n` }},
	{"no-break spaces", same(strings.Repeat("\u00a0", 32))},
	{"digits", letters("0123456789", 64)},
	{"one digit", same(strings.Repeat("7", 64))},
	{"marks", letters("!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 64)},
	{"dashes", same(strings.Repeat("-", 64))},
	{"slashes", same(strings.Repeat("/", 64))},
	{"apostrophes", letters("st'", 64)},
	{"capitals before small letters", letters("aA", 64)},
	{"CJK", between(0x4e00, 0x9fff, 32)},
	{"rare CJK", between(0x20000, 0x2a6df, 32)},
	{"Hangul", between(0xac00, 0xd7a3, 32)},
	{"Thai", letters("กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮะาเแโใไๅ่้๊๋ิีึืุู", 32)},
	{"emoji", between(0x1f300, 0x1f64f, 32)},
	{"joined emoji", same("🏳️‍🌈👩‍👩‍👧‍👦")},
	{"combining marks", between(0x300, 0x36f, 32)},
	{"letters with combining marks", letters("a\u0301\u0302\u0303\u0323", 64)},
	{"Greek and Cyrillic", letters("αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюяΑБΓД", 32)},
	{"Cherokee", between(0x13a0, 0x13f5, 32)},
	{"control tokens", same("<|start|>user<|message|><|end|>")},
	{"reserved tokens", same("<|reserved_200013|>")},
	{"base64", letters(small+great+"0123456789+/", 64)},
	{"hexadecimal digits", letters("0123456789abcdef", 64)},
	{"escaped letters", escapes('a', 'z')},
	{"escaped CJK", escapes(0x4e00, 0x9fff)},
	{"escaped surrogates", same(`\ud83d\ude00\ud83c\udff3`)},
	{"escaped controls", escapes(0, 0x1f)},
	{"escaped quotes", same(`\"\\\/\"`)},
	{"everything", everything},
}

// plain are some pieces for everything to choose from.
var plain = []piece{
	letters(small, 9), letters(great, 5), words, letters("0123456789", 4), letters("!#$%&()*+,-./:;<=>?@[]^_`{|}~", 3),
	same(`\n`), same("   "),
	between(0x4e00, 0x9fff, 4), between(0x1f300, 0x1f64f, 2), letters("a\u0301\u0302", 4), escapes(0x400, 0x4ff),
}

// everything returns a random piece of [plain].
func everything(_ int, rng *rand.Rand) string {
	return plain[rng.IntN(len(plain))](0, rng)
}

// textFamilies returns one user message with a long text of each kind.
func textFamilies() []Family {
	var list []Family
	for _, t := range texts {
		list = append(list, inChat(t.name, `"messages":[{"role":"user","content":"`, `"}]`, "", t.piece))
	}
	return append(list,
		inChat("an escape that is none, at the end", `"messages":[{"role":"user","content":"`, `\ud83d"}]`, "", words),
		inChat("a byte that is no UTF-8, at the end", `"messages":[{"role":"user","content":"`, "\xff\"}]", "", words),
		inResponses("random letters", `"input":"`, `"`, "", letters(small, 64)),
		inResponses("spaces", `"input":"`, `"`, "", same(strings.Repeat(" ", 64))),
		inResponses("long instructions", `"input":"Hi","instructions":"`, `"`, "", words),
	)
}
