package harmony

import (
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// textRecorder records a TextParser's messages. Its tokens are estimates, and one event may hold many.
type textRecorder struct {
	recorder
	// leaks are events that hold a control token's spelling.
	leaks []string
}

func (r *textRecorder) Open(h Header) {
	r.check(h.Name + " " + h.Channel + " " + h.Recipient + " " + h.ContentType)
	r.recorder.Open(h)
}

func (r *textRecorder) Content(text []byte, tokens int) {
	r.check(string(text))
	r.recorder.Content(text, 0)
	if r.open {
		r.messages[len(r.messages)-1].tokens += tokens
	}
}

func (r *textRecorder) check(s string) {
	for i := range s {
		if _, size, _ := tokenizer.MatchSpecial([]byte(s[i:])); size > 0 {
			r.leaks = append(r.leaks, s)
		}
	}
}

// timed is a chunk with its time.
type timed struct {
	text string
	at   int64
}

func recordText(t *testing.T, options TextOptions, chunks []timed) (*textRecorder, bool) {
	t.Helper()
	r := &textRecorder{}
	p := NewTextParser(r, options)
	for _, c := range chunks {
		p.Write([]byte(c.text), c.at)
		if p.tailSize > len(p.tail) || len(p.watch.held) > MaxUndecided || len(p.head.read) > maxStripped+longestMark ||
			len(p.machine.head.text) > MaxHeaderTokens*bytesPerToken {
			t.Fatalf("%+v: too much is held", chunks)
		}
	}
	p.Finish()
	once := len(r.messages)
	p.Finish()
	r.seen = p.Recoveries()
	if len(r.faults) > 0 || len(r.leaks) > 0 || r.open || len(r.messages) != once {
		t.Fatalf("%+v: faults %v, leaks %q, open %v", chunks, r.faults, r.leaks, r.open)
	}
	return r, p.FellBack()
}

// cuts are the ways in which a stream is cut for the tests: into single bytes, in two at every place (or at some sixty
// of them), and at random.
func cuts(chunks []timed) [][]timed {
	length := 0
	for _, c := range chunks {
		length += len(c.text)
	}
	cut := func(at func(place int) bool) []timed {
		var out []timed
		place := 0
		for _, c := range chunks {
			from := 0
			for i := range len(c.text) {
				if i > from && at(place) {
					out = append(out, timed{c.text[from:i], c.at})
					from = i
				}
				place++
			}
			out = append(out, timed{c.text[from:], c.at})
		}
		return out
	}
	all := [][]timed{cut(func(int) bool { return true })}
	for i := 1; i < length; i += 1 + length/60 {
		all = append(all, cut(func(place int) bool { return place == i }))
	}
	for seed := range int64(8) {
		random := rand.New(rand.NewSource(seed))
		all = append(all, cut(func(int) bool { return random.Intn(6) == 0 }))
	}
	return all
}

// checkText parses a stream whole and at every cut, which must make no difference, and returns what came of it.
func checkText(t *testing.T, options TextOptions, chunks []timed) (*textRecorder, bool) {
	t.Helper()
	want, fellBack := recordText(t, options, chunks)
	for _, pieces := range cuts(chunks) {
		got, gotFellBack := recordText(t, options, pieces)
		if !slices.Equal(got.messages, want.messages) || got.seen != want.seen || gotFellBack != fellBack {
			t.Fatalf("%+v %+v\n got %q, %v, fell back %v\nwant %q, %v, fell back %v", options, pieces,
				formatMessages(got.messages), got.seen, gotFellBack, formatMessages(want.messages), want.seen, fellBack)
		}
	}
	return want, fellBack
}

func TestTextParser(t *testing.T) {
	long := strings.Repeat("word ", 40) // 200 bytes
	plain := TextOptions{Fallback: Fallback{FallBackToFinal, DefaultMinTokens, DefaultTimeoutMS}}
	split := TextOptions{Fallback: Fallback{FallBackToSplit, DefaultMinTokens, DefaultTimeoutMS}}
	atOnce := TextOptions{Fallback: Fallback{To: FallBackToSplit, MinTokens: 2}}
	bare := TextOptions{Dialect: Stripped}
	for _, tt := range []struct {
		name     string
		options  TextOptions
		in       []timed
		want     string
		seen     string
		fellBack bool
	}{
		{"markers", TextOptions{}, []timed{{"<|channel|>analysis<|message|>Hm<|end|>" + finalHi, 0}},
			"[analysis] Hm end; [final] Hi return", "", false},
		{"nothing", TextOptions{}, nil, "", "", false},
		{"no marker after all", TextOptions{}, []timed{{"<|channel|>final<|message|>a < b <| c <<|end <|en|> <||> <", 0}},
			"[final] a < b <| c <<|end <|en|> <||> < cut", "", false},
		{"marker cut off", TextOptions{}, []timed{{"<|channel|>final<|message|>a<|en", 0}}, "[final] a<|en cut", "", false},
		{"marker after its beginning", TextOptions{}, []timed{{"<|message|>a<|<<|end|>", 0}}, "[] a<|< end", "", false},
		{"reserved and unused", TextOptions{},
			[]timed{{"<|message|>a<|reserved_200500|>b<|endoftext|>c<|reserved_200002|>", 0}},
			"[] abc<|reserved_200002|> cut", "stray_control stray_control", false},
		{"runes", TextOptions{}, []timed{{"<|message|>é😀\xf0\x9f\x98<|end|>\xff\xff😀", 0}},
			"[] é😀\uFFFD end; [final] \uFFFD\uFFFD😀 cut",
			"implicit_final invalid_text invalid_text invalid_text", false},
		{"a parted marker is text", TextOptions{}, []timed{{"<|message|>a<|e<|message|>nd|>b", 0}}, "[] a<|end|>b cut",
			"stray_control", false},
		{"long header", TextOptions{}, []timed{{"<|channel|>final " + strings.Repeat("x ", 800) + "<|end|>", 0}},
			"[final] " + strings.Repeat("x ", 800) + " end", "long_header", false},
		{"parted in a long header", TextOptions{},
			[]timed{{"<|start|>assistant x<|e<|constrain|>nd|>" + strings.Repeat("x ", 800) + "<|end|>", 0}},
			"[final] x<|end|>" + strings.Repeat("x ", 800) + " end", "doubled_start long_header", false},

		{"stripped", bare, []timed{{"analysisWe need it.assistantfinalHello.", 0}},
			"[analysis] We need it. end; [final] Hello. cut", "", false},
		{"stripped, with its role", bare, []timed{{"\nassistantanalysisHm.assistantfinal\n\nHi", 0}},
			"[analysis] Hm. end; [final] \n\nHi cut", "", false},
		{"stripped, final alone", bare, []timed{{"finalHi", 0}}, "[final] Hi cut", "", false},
		{"stripped call", bare, []timed{{`analysisLook.assistantcommentary to=functions.glob json{"p":"a"}`, 0}},
			`[analysis] Look. end; [commentary >functions.glob json] {"p":"a"} cut`, "", false},
		{"stripped call, and on", bare, []timed{{"commentary to=functions.f json{}assistantfinalDone", 0}},
			"[commentary >functions.f json] {} end; [final] Done cut", "", false},
		{"stripped call, recipient first", bare, []timed{{"analysisHm.assistant to=functions.fcommentary json{}", 0}},
			"[analysis] Hm. end; [commentary >functions.f json] {} cut", "", false},
		{"stripped call at once", bare, []timed{{" to=functions.fcommentaryjson{}", 0}},
			"[commentary >functions.f json] {} cut", "", false},
		{"stripped call, spaced", bare, []timed{{"to=functions.f commentary json{}", 0}},
			"[commentary >functions.f json] {} cut", "", false},
		{"stripped call, no type", bare, []timed{{"commentary to=functions.f{}", 0}}, "[commentary >functions.f] {} cut", "",
			false},
		{"stripped call without channel", bare, []timed{{"to=functions.f {}", 0}}, "[>functions.f] {} cut", "", false},
		{"stripped call on analysis", bare, []timed{{"analysis to=python codeimport os", 0}},
			"[analysis >python code] import os cut", "", false},
		{"stripped preambles", bare, []timed{{"commentaryI look.assistantcommentary tomorrow", 0}},
			"[commentary] I look. end; [commentary]  tomorrow cut", "", false},
		{"stripped json answer", bare, []timed{{"final json{\"a\":1}assistantfinaljson[1]", 0}},
			"[final json] {\"a\":1} end; [final json] [1] cut", "", false},
		{"stripped json, not a type", bare, []timed{{"final json is a format", 0}}, "[final]  json is a format cut", "",
			false},
		{"stripped name is kept", bare, []timed{{"commentary to=functions.get_final json{}", 0}},
			"[commentary >functions.get_final json] {} cut", "", false},
		{"stripped, assistants that are none", bare,
			[]timed{{"analysisan assistant, assistantFinal, assistassistant to be, assistantassistantfinalx", 0}},
			"[analysis] an assistant, assistantFinal, assistassistant to be, assistant end; [final] x cut", "", false},
		{"stripped, marker there all the same", bare, []timed{{"analysisHm.assistantfinalHi<|return|>", 0}},
			"[analysis] Hm. end; [final] Hi return", "", false},
		{"stripped, cut in a header", bare, []timed{{"analysisHm.assistantcommentary to=functions", 0}}, "[analysis] Hm. end",
			"dropped_header", false},
		{"stripped, no name", bare, []timed{{"commentary to= be", 0}}, "[commentary]  to= be cut", "", false},
		{"stripped, no name and no channel", bare, []timed{{"analysisAn assistant to= be", 0}},
			"[analysis] An assistant to= be cut", "", false},
		{"stripped, endless name", bare, []timed{{"commentary to=" + strings.Repeat("x", 400), 0}},
			"[commentary]  to=" + strings.Repeat("x", 400) + " cut", "", false},
		{"stripped, endless space", bare, []timed{{"to=f" + strings.Repeat(" ", 400), 0}},
			"[>f] " + strings.Repeat(" ", 148) + " cut", "", false},
		{"not stripped", bare, []timed{{"The assistantfinal word.", 0}}, "[final] The assistantfinal word. cut",
			"implicit_final", false},
		{"not stripped: markers", bare, []timed{{"assistant<|channel|>final<|message|>assistantfinal", 0}},
			"[final] assistantfinal cut", "repaired_role", false},
		{"not stripped: cut", bare, []timed{{" ana", 0}}, "[final]  ana cut", "implicit_final", false},
		{"not configured", TextOptions{}, []timed{{"<|channel|>analysis<|message|>Hm.assistantfinalHi", 0}},
			"[analysis] Hm.assistantfinalHi cut", "", false},

		{"split", TextOptions{Dialect: Split}, []timed{{"Hm. = == \n====FINAL===\nHi ===FINAL===", 0}},
			"[analysis] Hm. = == \n= end; [final] \nHi ===FINAL=== cut", "", false},
		{"split, no reasoning", TextOptions{Dialect: Split}, []timed{{"===FINAL===Hi", 0}}, "[final] Hi cut", "", false},
		{"split, no mark", TextOptions{Dialect: Split}, []timed{{"Hi ===FINAL==", 0}}, "[analysis] Hi ===FINAL== cut", "",
			false},
		{"split, terminator", TextOptions{Dialect: Split}, []timed{{"Hm===FINAL===Hi<|return|>", 0}},
			"[analysis] Hm end; [final] Hi return", "", false},
		{"split, Harmony after all", TextOptions{Dialect: Split}, []timed{{"Hm" + finalHi, 0}},
			"[analysis] Hm cut; [final] Hi return", "missing_end", false},

		{"plain answer in time", plain, []timed{{long, 0}, {long, 599}}, "[final] " + long + long + " cut", "implicit_final",
			false},
		{"plain answer", plain, []timed{{long, 0}, {long, 600}}, "[final] " + long + long + " cut", "implicit_final", true},
		{"like a header, in time", plain, []timed{{" to=a " + long, 0}, {"<|call|>", 9999}}, "[>a] " + long + " call",
			"missing_message", false},
		{"like a header", plain, []timed{{" to=a" + long, 0}, {"x", 600}, {"<|call|>", 600}},
			"[final]  to=a" + long + "x call", "implicit_final", true},
		{"slow header", plain, []timed{{" to=functions.f", 0}, {"<|channel|>commentary json<|message|>{}<|call|>", 5000}},
			"[commentary >functions.f json] {} call", "", false},
		{"marker in time", plain, []timed{{"<|channel|>analysis<|message|>" + long, 0}, {long, 5000}},
			"[analysis] " + long + long + " cut", "", false},
		{"marker, late", plain, []timed{{long, 0}, {long + "<|channel|>final<|message|>Hi<|return|>", 600}},
			"[final] " + long + long + " cut; [final] Hi return", "implicit_final channel_in_content", true},
		{"too few bytes", plain, []timed{{"Hi", 0}, {strings.Repeat("x", 126), 5000}},
			"[final] Hi" + strings.Repeat("x", 126) + " cut", "implicit_final", false},
		{"just enough bytes", plain, []timed{{"Hi", 0}, {strings.Repeat("x", 127), 5000}},
			"[final] Hi" + strings.Repeat("x", 127) + " cut", "implicit_final", true},
		{"clock that goes back", plain, []timed{{long, 5000}, {long, 0}}, "[final] " + long + long + " cut", "implicit_final",
			false},

		{"fallback to split", split, []timed{{long, 0}, {"Hm", 600}, {"===FINAL===Hi", 601}},
			"[analysis] " + long + "Hm end; [final] Hi cut", "implicit_split", true},
		{"mark decides", split, []timed{{"Hm===FINAL===Hi", 0}}, "[analysis] Hm end; [final] Hi cut", "implicit_split",
			true},
		{"short answer", split, []timed{{"Hi", 0}, {" there", 9000}}, "[final] Hi there cut", "implicit_final", false},
		{"Harmony in time", split, []timed{{" to=functions.f", 0},
			{"<|channel|>commentary json<|message|>===FINAL===<|call|>", 5000}},
			"[commentary >functions.f json] ===FINAL=== call", "", false},
		{"fallback to split, then Harmony", split, []timed{{long, 0}, {"x" + finalHi, 600}},
			"[analysis] " + long + "x cut; [final] Hi return", "missing_end implicit_split", true},
		{"only bytes count", atOnce, []timed{{"12345678", 0}}, "[final] 12345678 cut", "implicit_final", false},
		{"only bytes count, one more", atOnce, []timed{{"123456789", 0}}, "[analysis] 123456789 cut", "implicit_split", true},
		{"held no longer", split, []timed{{strings.Repeat("x", MaxUndecided+1), 0}},
			"[analysis] " + strings.Repeat("x", MaxUndecided+1) + " cut", "implicit_split", true},
		{"stripped or split", TextOptions{Dialect: Stripped, Fallback: split.Fallback},
			[]timed{{"assistantHm===FINAL===Hi", 0}},
			"[analysis] assistantHm end; [final] Hi cut", "implicit_split", true},
		{"a mark of one's own", TextOptions{Dialect: Split, Mark: "</think>"}, []timed{{"Hm</thi</think>Hi", 0}},
			"[analysis] Hm</thi end; [final] Hi cut", "", false},
		{"a mark within control tokens", TextOptions{Dialect: Split, Mark: "<|"}, []timed{{"a<|return|>", 0}, {"b", 0}},
			"[analysis] a return; [final] b cut", "implicit_final after_stop", false},
		{"a mark that begins as control tokens do", TextOptions{Dialect: Split, Mark: "<|e"}, []timed{{"a<|ex", 0}},
			"[analysis] a end; [final] x cut", "", false},
		{"too long a mark", TextOptions{Dialect: Split, Mark: strings.Repeat("x", MaxMark+1)},
			[]timed{{"a===FINAL===b", 0}}, "[analysis] a end; [final] b cut", "", false},
		{"as long as possible", TextOptions{Dialect: Split, Mark: strings.Repeat("x", MaxMark)},
			[]timed{{strings.Repeat("x", MaxMark-1) + "y" + strings.Repeat("x", MaxMark+1), 0}},
			"[analysis] " + strings.Repeat("x", MaxMark-1) + "y end; [final] x cut", "", false},
		{"stripped, so no fallback", TextOptions{Dialect: Stripped, Fallback: split.Fallback}, []timed{{"analysis" +
			long, 0}, {long, 9000}},
			"[analysis] " + long + long + " cut", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := checkText
			if len(tt.in) > 0 && len(tt.in[0].text) > 4096 {
				check = recordText
			}
			got, fellBack := check(t, tt.options, tt.in)
			messages, seen := formatMessages(got.messages), counted(got.seen)
			if messages != tt.want || seen != tt.seen || fellBack != tt.fellBack {
				t.Errorf("%+v\n got %q, %s, fell back %v\nwant %q, %s, fell back %v", tt.in, messages, seen, fellBack,
					tt.want, tt.seen, tt.fellBack)
			}
		})
	}
}

// TestIDsNeedNoFallback: a model that never writes a control token is answered with from its first token on, and by a
// header's length if it writes like a header; the bytes of its tokens can be split.
func TestIDsNeedNoFallback(t *testing.T) {
	plain := tokens("Let me think: 2 and 2.\n===FINAL===\nIt is 4.")
	for text, limit := range map[string]int{
		"Let me think: 2 and 2.": 1, "Final answer: 4": 1, "analysis of it: 4": 2,
		" to=be or not to=be " + strings.Repeat("x ", 300): MaxHeaderTokens} {
		r := &recorder{}
		p := NewStreamParser(o200k.Tokenizer(), r)
		for n, id := range tokens(text) {
			if p.Process(id); r.open {
				break
			}
			if n+1 >= limit {
				t.Errorf("%.30q is held after %d tokens", text, n+1)
				break
			}
		}
	}
	if got := record(plain); formatMessages(got.messages) != "[final] Let me think: 2 and 2.\n===FINAL===\nIt is 4. cut" {
		t.Errorf("as ids: %s", formatMessages(got.messages))
	}
	r := &textRecorder{}
	p := NewTextParser(r, TextOptions{Fallback: Fallback{To: FallBackToSplit, MinTokens: 2}})
	for _, id := range plain {
		text, _ := o200k.Tokenizer().TokenBytes(id)
		p.Write(text, 0)
	}
	p.Finish()
	if formatMessages(r.messages) != "[analysis] Let me think: 2 and 2.\n end; [final] \nIt is 4. cut" || !p.FellBack() {
		t.Errorf("as bytes: %s", formatMessages(r.messages))
	}
}

// TestTextParserTimeout: an empty chunk can bring the decision, but only with text before it.
func TestTextParserTimeout(t *testing.T) {
	r := &textRecorder{}
	p := NewTextParser(r, TextOptions{Fallback: Fallback{To: FallBackToSplit, TimeoutMS: 600}})
	p.Write(nil, 0)
	p.Write([]byte("H"), 5000)
	p.Write(nil, 5599)
	if p.FellBack() || r.open {
		t.Fatal("fell back too early")
	}
	p.Write([]byte("m<"), 5599)
	p.Write(nil, 5600)
	if p.FellBack() {
		t.Fatal("fell back inside what may be a control token")
	}
	p.Write([]byte("."), 5599)
	p.Write(nil, 5600)
	if !p.FellBack() || formatMessages(r.messages) != "[analysis] Hm<. cut" {
		t.Fatalf("fell back %v: %q", p.FellBack(), formatMessages(r.messages))
	}
}

// printedText is what a server prints for ids. ok is false when ordinary tokens spell a control token, which no parser
// of text can tell.
func printedText(ids []uint32) (text []byte, ok bool) {
	var marks []int
	for _, id := range ids {
		b, known := o200k.Tokenizer().TokenBytes(id)
		if known && tokenizer.IsSpecial(id) {
			marks = append(marks, len(text))
		}
		text = append(text, b...)
	}
	for i := 0; i < len(text); i++ {
		_, size, _ := tokenizer.MatchSpecial(text[i:])
		if size == 0 {
			continue
		}
		if len(marks) == 0 || marks[0] != i {
			return text, false
		}
		marks = marks[1:]
		i += size - 1
	}
	return text, len(marks) == 0
}

// checkLikeTokens compares the messages of the ids with the messages of their text, and reports whether they can be
// compared.
func checkLikeTokens(t *testing.T, ids []uint32) bool {
	t.Helper()
	text, ok := printedText(ids)
	if !ok {
		return false
	}
	want := record(ids)
	got, _ := checkText(t, TextOptions{}, []timed{{string(text), 0}})
	if want.seen[LongHeader]+got.seen[LongHeader] > 0 || len(text) > MaxHeaderTokens {
		return false // tokens and bytes have limits of their own
	}
	want.seen[UnknownToken] = 0 // a text does not show it
	if formatMessages(got.messages) != formatMessages(want.messages) || got.seen != want.seen {
		t.Fatalf("%q\n got %q, %s\nwant %q, %s", text, formatMessages(got.messages), counted(got.seen),
			formatMessages(want.messages), counted(want.seen))
	}
	return true
}

func TestTextParserLikeTokens(t *testing.T) {
	compared := 0
	count := func(ids []uint32) {
		if checkLikeTokens(t, ids) {
			compared++
		}
	}
	for _, tt := range repairCases {
		count(tokens(tt.in))
	}
	for _, ids := range vectorStreams(t) {
		count(ids)
	}
	random := rand.New(rand.NewSource(1))
	for range textStreams {
		data := make([]byte, 1+random.Intn(24))
		for i := range data {
			data[i] = byte(random.Intn(len(fuzzTokens) + 2))
		}
		count(fuzzed(data))
	}
	t.Logf("%d streams compared", compared)
	if compared < 400 {
		t.Errorf("only %d streams were compared", compared)
	}
}

// TestStrippedLikeTokens: what is well formed says the same without its control tokens, but for how messages end.
func TestStrippedLikeTokens(t *testing.T) {
	for _, text := range []string{answer(1), answer(3), "<|channel|>final<|message|>Hi",
		" to=functions.f<|channel|>commentary json<|message|>{\"a\":[1]}<|call|>",
		"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=python<|channel|>analysis " +
			"code<|message|>1+1<|call|>"} {
		want := record(tokens(text)).messages
		got, _ := checkText(t, TextOptions{Dialect: Stripped}, []timed{{stripMarkers(text), 0}})
		if len(got.messages) != len(want) || got.seen.Total() > 0 {
			t.Errorf("%q: %s", text, formatMessages(got.messages))
			continue
		}
		for i, m := range got.messages {
			if m.Header != want[i].Header || m.text != want[i].text {
				t.Errorf("%q: message %d is %+v, want %+v", text, i, m, want[i])
			}
		}
	}
}

// TestTextTaken: a control token is one token and four bytes of other text are one, wherever the text is cut.
func TestTextTaken(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "<|end|>": 1, "<|start|>assistant": 4, "a<|en": 2, "===FINAL===": 3,
		"<|channel|>analysis<|message|>Hm, so<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>": 15,
	} {
		for _, dialect := range []Dialect{Printed, Stripped, Split} {
			for at := range len(text) + 1 {
				p := NewTextParser(&recorder{}, TextOptions{Dialect: dialect})
				p.Write([]byte(text[:at]), 0)
				p.Write([]byte(text[at:]), 0)
				p.Finish()
				if got := p.Taken(); got != want {
					t.Fatalf("%q in dialect %d, cut at %d: got %d, want %d", text, dialect, at, got, want)
				}
			}
		}
	}
}

// TestPrintedIsNotStripped: who looks for stripped text reads printed text as it is, also under a header that begins as
// a stripped one does.
func TestPrintedIsNotStripped(t *testing.T) {
	header := regexp.MustCompile(`^(<\||( ?to=[a-z_.]+( json| code)?|analysis|final|commentary)<\|)`)
	streams := vectorStreams(t)
	for _, tt := range repairCases {
		streams = append(streams, tokens(tt.in))
	}
	for _, text := range []string{" to=functions.f json<|channel|>commentary<|message|>{}<|call|>",
		"to=python code<|message|>1<|call|>", "analysis<|message|>Hm<|end|>", "final<|constrain|>json<|message|>{}"} {
		streams = append(streams, tokens(text))
	}
	compared := 0
	for _, ids := range streams {
		text, ok := printedText(ids)
		if !ok || len(text) > MaxHeaderTokens || !header.Match(text) {
			continue
		}
		compared++
		want, _ := checkText(t, TextOptions{}, []timed{{string(text), 0}})
		got, _ := checkText(t, TextOptions{Dialect: Stripped}, []timed{{string(text), 0}})
		if formatMessages(got.messages) != formatMessages(want.messages) || got.seen != want.seen {
			t.Errorf("%q\n got %q, %s\nwant %q, %s", text, formatMessages(got.messages), counted(got.seen),
				formatMessages(want.messages), counted(want.seen))
		}
	}
	if compared < 300 {
		t.Errorf("only %d streams were compared", compared)
	}
}

// TestTextParserKeepsEveryByte: text without control tokens comes out as it went in, but for the mark that parts it.
func TestTextParserKeepsEveryByte(t *testing.T) {
	pieces := []string{"===FINAL===", "===", "=FINAL", "<|", "<", "|>", "x", " ", "é", "😀", "assistant", "final", " to=",
		"the"}
	random := rand.New(rand.NewSource(2))
	for range 1000 {
		text := "A"
		for range random.Intn(12) {
			text += pieces[random.Intn(len(pieces))]
		}
		for _, o := range []TextOptions{{Dialect: Split}, {}, {Dialect: Stripped},
			{Fallback: Fallback{FallBackToFinal, 2, 0}}, {Fallback: Fallback{FallBackToSplit, 2, 0}}} {
			got, fellBack := recordText(t, o, []timed{{text, 0}})
			want := text
			if o.Dialect == Split || fellBack && o.Fallback.To == FallBackToSplit {
				want = strings.Replace(text, FinalMark, "", 1)
			}
			all := ""
			for _, m := range got.messages {
				all += m.text
			}
			if all != want {
				t.Fatalf("%+v: %q became %q", o, text, all)
			}
		}
	}
}

// TestTextParserCuts makes streams of what matters in any dialect, in chunks that come at any time.
func TestTextParserCuts(t *testing.T) {
	pieces := []string{"assistant", "analysis", "commentary", "final", " to=", "to=", "functions.f", " json", "code", "{",
		" ", "x", "Hello", "é", "\xff", "😀",
		FinalMark, "==", "<|", "<|end|>", "<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|constrain|>",
		"<|reserved_200500|>", "\n"}
	random := rand.New(rand.NewSource(3))
	for range textStreams {
		var chunks []timed
		at := int64(0)
		for range 1 + random.Intn(4) {
			text := ""
			for range random.Intn(8) {
				text += pieces[random.Intn(len(pieces))]
			}
			chunks = append(chunks, timed{text, at})
			at += int64(random.Intn(3))
		}
		o := TextOptions{Dialect(random.Intn(3)), Fallback{FallbackTo(random.Intn(3)), random.Intn(5), int64(random.Intn(3))},
			[]string{"", "<|", "==", "final", " "}[random.Intn(5)]}
		checkText(t, o, chunks)
	}
}

// textStreams is how many random streams a test makes: for a longer search, raise it.
const textStreams = 400

// FuzzTextParserLikeTokens: what text gives is what its tokens give.
func FuzzTextParserLikeTokens(f *testing.F) {
	addFuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 64 {
			checkLikeTokens(t, fuzzed(data))
		}
	})
}

// FuzzTextParser: any bytes, in any dialect, at any cut. The first byte chooses the options.
func FuzzTextParser(f *testing.F) {
	for _, seed := range []string{
		"\x00<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
		"\x01analysisHm.assistantcommentary to=functions.fcommentary json{}assistantfinalHi", "\x02Hm===FINAL===Hi",
		"\x05Hm, ok.===FINAL===Hi",
		"\x04assistant to=functions.f commentary", "\x03analysis \xf0\x9f<|end|>=<|e<|message|>nd|>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 200 {
			return
		}
		o := TextOptions{Dialect: Dialect(data[0] % 3),
			Fallback: Fallback{FallbackTo(data[0] / 3 % 3), int(data[0] / 9 % 4), int64(data[0] / 36 % 2)},
			Mark:     []string{"", "<|", "f", "=="}[data[0]/72]}
		text := string(data[1:])
		middle := len(text) / 2
		got, _ := checkText(t, o, []timed{{text[:middle], 0}, {text[middle:], 1}})
		for _, m := range got.messages {
			if !utf8.ValidString(m.text) {
				t.Fatalf("%q is not UTF-8", m.text)
			}
		}
	})
}

// TestTextAbandon checks that the beginning of a control token is dropped where a stream broke off, and nothing else.
func TestTextAbandon(t *testing.T) {
	for text, want := range map[string]string{
		"<|channel|>final<|message|>a < b<|ret":   "a < b",
		"<|channel|>final<|message|>a <":          "a ",
		"<|channel|>final<|message|>a <b":         "a <b",
		"<|channel|>final<|message|>a <|return|>": "a ",
		"<|channel|>analysis<|messag":             "",
	} {
		r := &textRecorder{}
		p := NewTextParser(r, TextOptions{})
		p.Write([]byte(text), 0)
		p.Abandon()
		got := ""
		for _, m := range r.messages {
			got += m.text
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
