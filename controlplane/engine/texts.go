package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Texts compares how a server and the gateway turn texts into ids. The counts are 0 if the server has no path for it.
type Texts struct {
	// Same is how many texts have the same ids.
	Same int
	// Split is how many texts have other ids of the same vocabulary: the server splits them in other places. That is
	// harmless, because prompts are sent as ids. llama.cpp does so where letters have combining marks.
	Split int
	// Other is how many texts have ids that mean something else in the gateway's vocabulary.
	Other int
	// Example describes the first text of Other, or else of Split.
	Example string
}

// All returns how many texts were compared.
func (t *Texts) All() int { return t.Same + t.Split + t.Other }

// TokenizePath is the path of vLLM, of SGLang and of llama.cpp.
const TokenizePath = "/tokenize"

// form is the form of a request for the ids of a text.
type form uint8

const (
	noTexts  form = iota // the program has no such path
	prompts              // vLLM's and SGLang's
	contents             // llama.cpp's
)

// Compare asks for the ids of texts, and ends at the first answer that is of no use. post posts a request for ids to
// [TokenizePath], and returns the answer of a server that answers 200. An unknown program gets the requests of vLLM.
func (f *Facts) Compare(texts []string, model string, post func(request []byte) (answer []byte, ok bool)) Texts {
	var t Texts
	asks := prompts
	if f.Engine != nil {
		asks = f.Engine.tokenizes
	}
	if asks == noTexts {
		return t
	}
	for _, text := range texts {
		request := map[string]any{"model": model, "prompt": text, "add_special_tokens": false}
		if asks == contents {
			request = map[string]any{"content": text, "add_special": false}
		}
		body, err := json.Marshal(request)
		if err != nil {
			return t
		}
		answer, ok := post(body)
		var ids struct {
			Tokens []uint32 `json:"tokens"`
		}
		if !ok || json.Unmarshal(answer, &ids) != nil || len(ids.Tokens) == 0 {
			return t
		}
		t.add(text, ids.Tokens)
	}
	return t
}

func (t *Texts) add(text string, theirs []uint32) {
	ours := encode(text)
	switch {
	case slices.Equal(theirs, ours):
		t.Same++
		return
	case o200k.Tokenizer().DecodeString(theirs) == text:
		t.Split++
		if t.Example != "" {
			return
		}
	default:
		if t.Other++; t.Other > 1 {
			return
		}
	}
	t.Example = fmt.Sprintf("%q has the ids %s there, and %s here", text, idList(theirs), idList(ours))
}

// idList returns ids as [1 2 3 …].
func idList(ids []uint32) string {
	const most = 8
	if len(ids) > most {
		return strings.TrimSuffix(fmt.Sprint(ids[:most]), "]") + " …]"
	}
	return fmt.Sprint(ids)
}

// FewTexts returns some of [AllTexts]. They are enough to tell vocabularies apart.
func FewTexts() []string { return []string{texts[0], texts[11], texts[33], texts[45]} }

// AllTexts returns 50 texts.
func AllTexts() []string { return texts[:] }

// texts are what tokenizers differ in: languages, code, numbers, spaces and symbols. None spells a control token.
var texts = [...]string{
	"Hello, world!",
	"The quick brown fox jumps over the lazy dog.",
	"It's what we'd've said, isn't it? THEY'LL know.",
	"antidisestablishmentarianism",
	"don’t “quote” me — ever…",
	"3.14159265358979",
	"1234567890 12,345,678.90 0x1F 1e-9",
	"2026-11-23T08:15:00.123Z",
	"a  b   c    d",
	"\ttabs\t\tand\nlines\n\n\nand\r\nreturns ",
	"   leading and trailing   ",
	"func main() {\n\tfmt.Println(\"hi\")\n}\n",
	"def f(x):\n    return [i**2 for i in range(x)]\n",
	"for (let i = 0; i < n; ++i) { a[i] += b[i]; }",
	"SELECT * FROM users WHERE id = 42 AND name LIKE '%x%';",
	"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\",\"days\":[1,2,3]}}",
	"<html><body class=\"a b\">&amp;</body></html>",
	"https://example.com/a/b?c=d&e=%20f#g",
	"user.name+tag@example.co.uk",
	"/usr/local/lib/python3.11/site-packages/numpy/__init__.py",
	"camelCaseWord snake_case_word SCREAMING_CASE kebab-case",
	"x²+y²=z² ∑∞ √2 ≠ ≤ π",
	"€100 £20 ¥3000 ₹50 $9.99",
	"😀 👍🏽 👩‍👩‍👧 🇫🇷 ❤️",
	"─│┌┐└┘ ▁▂▃▄▅ ■□●○",
	"Größe, Übermut, Straße und Maß",
	"L'été où l'on s'aperçoit que ça va",
	"El niño comió ñoquis en Español, ¿no?",
	"Não há açúcar em São Paulo",
	"Pchnąć w tę łódź jeża lub ośm skrzyń fig",
	"Příliš žluťoučký kůň úpěl ďábelské ódy",
	"Yağız şoföre çabucak güvendik",
	"Tôi yêu tiếng Việt lắm",
	"Съешь же ещё этих мягких французских булок",
	"Чуєш їх, доцю, га? Кумедна ж ти",
	"Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
	"שלום עולם, מה שלומך?",
	"مرحبا بالعالم، كيف حالك؟",
	"سلام دنیا، حال شما چطور است؟",
	"नमस्ते दुनिया, आप कैसे हैं?",
	"হ্যালো বিশ্ব",
	"வணக்கம் உலகம்",
	"สวัสดีชาวโลก",
	"こんにちは、世界。お元気ですか?",
	"안녕하세요 세계",
	"你好,世界!今天天气怎么样?",
	"繁體中文與简体中文",
	"ﬁne ﬂow １２３ ＡＢＣ",
	"e\u0301 versus \u00e9",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
}
