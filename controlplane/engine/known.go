package engine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

type knownText struct {
	text string
	ids  []uint32
}

// known are texts and the ids that they have. Each start of a gateway asks servers about these. The table of the
// vocabulary, which takes 0.15 to 0.3 s of a processor, is then made only for a server that answers something else.
var known = []knownText{
	{greeting, []uint32{200006, 17360, 200008, 3575, 553, 17554, 162016, 11, 261, 4410, 6439, 2359, 22203, 656, 7788,
		17527, 558, 87447, 100594, 25, 220, 1323, 19, 12, 3218, 279, 30377, 289, 25, 4465, 279, 2, 13888, 18403, 25, 8450,
		11, 49159, 11, 1721, 13, 21030, 2804, 413, 7360, 395, 1753, 3176, 13, 200007, 200006, 1428, 200008, 62316, 40617, 13,
		200007, 200006, 173781}},
	{FixedText, []uint32{200005, 17196, 200008, 19249, 24}},
	{texts[0], []uint32{13225, 11, 2375, 0}},
	{texts[11], []uint32{5652, 2758, 416, 405, 24728, 28250, 568, 3686, 1896, 739}},
	{texts[33], []uint32{3043, 3078, 40283, 12624, 55130, 50592, 84452, 12312, 121124, 24361, 17853, 2533}},
	{texts[45], []uint32{177519, 11, 28428, 0, 10941, 1487, 25896, 34633, 30}},
}

// encode returns the ids of a text, in which control tokens are only text.
func encode(text string) []uint32 {
	for _, k := range known {
		if k.text == text && k.text != greeting && k.text != FixedText {
			return slices.Clone(k.ids)
		}
	}
	return o200k.Tokenizer().AppendEncode(nil, text)
}

// Spelling returns the text of ids, with control tokens spelled out.
func Spelling(ids []uint32) string {
	var b strings.Builder
	for at := 0; at < len(ids); {
		text, n := spellingOf(ids[at:])
		if n == 0 {
			return decode(ids)
		}
		b.WriteString(text)
		at += n
	}
	return b.String()
}

func decode(ids []uint32) string {
	if text, ok := o200k.Text(ids); ok && utf8.ValidString(text) {
		return text
	}
	return o200k.Tokenizer().DecodeString(ids)
}

// spellingOf returns the text of the first n ids, which are one of the known texts or a control token. n is 0 if they are
// neither.
func spellingOf(ids []uint32) (text string, n int) {
	for _, k := range known {
		if len(k.ids) <= len(ids) && slices.Equal(k.ids, ids[:len(k.ids)]) {
			return k.text, len(k.ids)
		}
	}
	if name, ok := tokenizer.SpecialName(ids[0]); ok {
		return name, 1
	}
	return "", 0
}
