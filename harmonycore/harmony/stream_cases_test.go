package harmony

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// tokens encodes a text in which markers are control tokens, and «n» is the token n.
func tokens(text string) []uint32 {
	var ids []uint32
	for i, part := range strings.Split(text, "«") {
		if i > 0 {
			number, rest, _ := strings.Cut(part, "»")
			id, err := strconv.ParseUint(number, 10, 32)
			if err != nil {
				panic(err)
			}
			ids, part = append(ids, uint32(id)), rest
		}
		ids = o200k.Tokenizer().AppendEncodeSpecial(ids, part)
	}
	return ids
}

// formatMessages prints messages as "[role:name channel >recipient type] text end", without absent fields.
func formatMessages(messages []recorded) string {
	var out []string
	for _, m := range messages {
		var head []string
		if m.Role != Assistant {
			head = append(head, m.Role.String()+":"+m.Name)
		}
		if m.Channel != "" {
			head = append(head, m.Channel)
		}
		if m.Recipient != "" {
			head = append(head, ">"+m.Recipient)
		}
		if m.ContentType != "" {
			head = append(head, m.ContentType)
		}
		out = append(out, "["+strings.Join(head, " ")+"] "+m.text+[...]string{" cut", " end", " return", " call"}[m.end])
	}
	return strings.Join(out, "; ")
}

func counted(seen Recoveries) string {
	var out []string
	for k, n := range seen {
		for range n {
			out = append(out, Recovery(k).String())
		}
	}
	return strings.Join(out, " ")
}

const finalHi = "<|start|>assistant<|channel|>final<|message|>Hi<|return|>"

var repairCases = []struct{ name, in, want, seen string }{
	{"well formed", "<|channel|>analysis<|message|>Hm.<|end|>" + finalHi, "[analysis] Hm. end; [final] Hi return", ""},
	{"call", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"call, recipient first", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"no channel", "<|message|>Hi<|return|>", "[] Hi return", ""},
	{"tool's answer", "<|message|>x<|end|><|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>",
		"[] x end; [tool:functions.f commentary >assistant] {} end", ""},
	{"other roles", "<|message|>x<|end|><|start|>user:bob<|message|>y<|end|><|start|>tool to=user<|message|>z<|end|>",
		"[] x end; [user:bob] y end; [tool:tool >user] z end", ""},
	{"markers typed out are text", "<|channel|>final<|message|><«91»end«91»> is a marker<|return|>",
		"[final] <|end|> is a marker return", ""},
	{"nothing", "", "", ""}, {"start alone", "<|message|>x<|end|><|start|>", "[] x end", ""},

	{"pain 1: refusal without header", "I'm sorry, but no.<|return|>", "[final] I'm sorry, but no. return",
		"implicit_final"},
	{"pain 1: header text without message", "<|channel|>final I cannot.<|end|>", "[final] I cannot. end",
		"missing_message"},
	{"pain 1: after start", "<|channel|>analysis<|message|>Hm<|end|><|start|>Sorry, no.<|return|>",
		"[analysis] Hm end; [final] Sorry, no. return", "missing_message"},
	{"pain 1: role kept apart", "<|message|>x<|end|><|start|>assistant Sorry.<|return|>",
		"[] x end; [final] Sorry. return", "missing_message"},
	{"pain 2: call without message", "<|channel|>commentary to=functions.f <|constrain|>json{\"a\":1}<|call|>",
		"[commentary >functions.f json] {\"a\":1} call", "missing_message"},
	{"pain 2: arguments glued", "<|channel|>commentary to=functions.f{\"a\":1}<|call|>",
		"[commentary >functions.f] {\"a\":1} call", "missing_message"},
	{"pain 2: call without arguments", "<|channel|>commentary to=functions.f json<|call|>",
		"[commentary >functions.f json]  call", "missing_message"},
	{"pain 2: analysis stays analysis", "<|channel|>analysis We need x.<|end|>", "[analysis] We need x. end",
		"missing_message"},
	{"pain 2: unknown channel is text", "<|channel|>Hello there<|end|>", "[final] Hello there end", "missing_message"},
	{"pain 3: terminator twice", "<|channel|>final<|message|>Hi<|end|><|end|><|return|>", "[final] Hi end",
		"stray_terminator stray_terminator"},
	{"pain 3: then another message", "<|channel|>final<|message|>Hi<|end|><|return|>" + finalHi,
		"[final] Hi end; [final] Hi return", "stray_terminator"},
	{"terminator first", "<|end|><|return|>", "", "stray_terminator stray_terminator"},
	{"pain 4: recipient ends at a control token", " to=manage_cart<|channel|>commentary<|message|>{}<|call|>",
		"[commentary >manage_cart] {} call", ""},
	{"pain 4: marker typed into a recipient",
		" to=manage_cart<«91»channel«91»>x<|channel|>commentary<|message|>{}<|call|>",
		"[commentary >manage_cart] {} call", "repaired_recipient"},
	{"pain 4: constrain is not a recipient", "<|channel|>final <|constrain|>json<|message|>{}<|return|>",
		"[final json] {} return", ""},
	{"pain 4: empty recipient", "<|channel|>final to=<|message|>Hi<|return|>", "[final] Hi return", "repaired_recipient"},
	{"plain type is not a recipient", "<|channel|>final json<|message|>{}<|return|>", "[final json] {} return", ""},
	{"pain 5: channel with a tail", "<|channel|>commentary?<|message|>Hi<|end|>", "[commentary] Hi end",
		"repaired_channel"},
	{"pain 5: channel again", "<|channel|>commentary to=assistant<|channel|>commentary??<|message|>Hi<|end|>",
		"[commentary] Hi end",
		"doubled_channel repaired_channel"},
	{"pain 5: recipient survives", "<|channel|>commentary to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "doubled_channel"},
	{"pain 5: channel in content", "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Hi<|return|>",
		"[analysis] Hm cut; [final] Hi return", "channel_in_content"},
	{"channel in content, not one", "<|channel|>final<|message|>The <|channel|>4 ABC<|return|>",
		"[final] The 4 ABC return", "stray_control"},
	{"channel in content, cut", "<|channel|>final<|message|>The <|channel|>", "[final] The  cut", "stray_control"},
	{"channel in content, twice", "<|channel|>final<|message|>a<|channel|><|channel|>final<|message|>b<|end|>",
		"[final] a cut; [final] b end",
		"stray_control channel_in_content"},
	{"channel in capitals", "<|channel|>Final<|message|>Hi<|end|>", "[final] Hi end", "repaired_channel"},
	{"answer before a channel", "<|channel|>final I can not do it.<|channel|>final<|message|>Hi<|end|>",
		"[final] I can not do it. cut; [final] Hi end", "missing_start missing_message"},
	{"answer after start, before a channel",
		"<|message|>x<|end|><|start|>Sorry, I can not.<|channel|>final<|message|>Hi<|end|>",
		"[] x end; [final] Sorry, I can not. cut; [final] Hi end", "missing_start missing_message"},
	{"unknown channel", "<|channel|>thoughts<|message|>Hm<|end|>", "[thoughts] Hm end", "unknown_channel"},
	{"empty channel", "<|channel|><|message|>Hi<|end|>", "[] Hi end", "repaired_channel"},
	{"glued type", "<|channel|>commentaryjson to=functions.f<|message|>{}<|call|>", "[commentary >functions.f] {} call",
		"repaired_channel"},
	{"glued recipient", "<|channel|>commentaryto=functions.f<|message|>{}<|call|>", "[commentary >functions.f] {} call",
		"repaired_channel"},
	{"pain 6: start again", finalHi, "[final] Hi return", "doubled_start"},
	{"pain 6: start twice", "<|start|><|start|>assistant<|channel|>final<|message|>Hi<|return|>", "[final] Hi return",
		"doubled_start doubled_start"},
	{"pain 6: role twice", "<|message|>x<|end|><|start|>assistantassistant<|channel|>final<|message|>Hi<|end|>",
		"[] x end; [final] Hi end", "repaired_role repaired_role"},
	{"role glued to a recipient", "<|message|>x<|end|><|start|>assistantto=functions.f<|message|>{}<|call|>",
		"[] x end; [>functions.f] {} call", "repaired_role"},
	{"role missing", "<|message|>x<|end|><|start|>to=functions.f<|channel|>commentary<|message|>{}<|call|>",
		"[] x end; [commentary >functions.f] {} call", "repaired_role"},
	{"role unknown", "<|message|>x<|end|><|start|>helper<|channel|>final<|message|>Hi<|end|>", "[] x end; [final] Hi end",
		"repaired_role"},
	{"tool for a role", "<|message|>x<|end|><|start|>functions.f<|channel|>commentary json<|message|>{}<|call|>",
		"[] x end; [commentary >functions.f json] {} call", "repaired_role"},
	{"tool that begins like a role", "<|message|>x<|end|><|start|>tools.f to=assistant<|message|>y<|end|>",
		"[] x end; [tool:tools.f >assistant] y end", ""},
	{"pain 7: cut in content", "<|channel|>final<|message|>Hel", "[final] Hel cut", ""},
	{"pain 7: cut in a header", "<|channel|>analysis to=func", "", "dropped_header"},
	{"pain 7: cut in a channel's name", "<|channel|>comment", "", "dropped_header"},
	{"pain 7: cut in a role", "<|message|>x<|end|><|start|>assist", "[] x end", "dropped_header"},
	{"pain 7: held text is not lost", "a", "[final] a cut", "implicit_final"},
	{"pain 10: glued json is left to the caller", "<|channel|>commentary to=functions.shelljson<|message|>{}<|call|>",
		"[commentary >functions.shelljson] {} call", ""},
	{"pain 12: preamble", "<|channel|>commentary<|message|>Let me look.<|end|>", "[commentary] Let me look. end", ""},
	{"pain 12: bare recipient", "<|channel|>commentary to=get_weather json<|message|>{}<|call|>",
		"[commentary >get_weather json] {} call", ""},
	{"recipient without its mark", "<|channel|>commentary functions.f <|constrain|>json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"pain 15: json after analysis", "<|channel|>analysis<|message|>Hm<|end|>{\"a\":1}<|return|>",
		"[analysis] Hm end; [final] {\"a\":1} return", "implicit_final"},
	{"pain 27: final alone", "<|channel|>final<|message|>Hi<|return|>", "[final] Hi return", ""},
	{"pain 34: recipient twice", " to=functions.f<|channel|>commentary to=functions.f json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"two recipients", "<|channel|>commentary to=a to=b<|message|>{}<|call|>", "[commentary >b] {} call",
		"repaired_recipient"},
	{"type before recipient", "<|channel|>commentary <|constrain|>json to=functions.f<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "repaired_recipient"},
	{"recipient after a space", "<|channel|>commentary to= functions.f json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "repaired_recipient"},
	{"missing end", "<|channel|>analysis<|message|>Hm" + finalHi, "[analysis] Hm cut; [final] Hi return", "missing_end"},
	{"missing start", "<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>Hi<|end|>",
		"[analysis] Hm end; [final] Hi end", "missing_start"},
	{"missing start, role there", "<|channel|>analysis<|message|>Hm<|end|>assistant<|channel|>final<|message|>Hi<|end|>",
		"[analysis] Hm end; [final] Hi end", "missing_start repaired_role"},
	{"missing start and channel", "<|message|>a<|end|><|message|>b<|end|>", "[] a end; [final] b end", "missing_start"},
	{"channel's marker missing", "final<|message|>Hi<|return|>", "[final] Hi return", "repaired_channel"},
	{"headless recipient", " to=functions.f {\"a\":1}<|call|>", "[>functions.f] {\"a\":1} call", "missing_message"},
	{"wide space before a header",
		"\u2003\v<|channel|>analysis<|message|>Hm<|end|>\u00a0assistant<|channel|>final<|message|>Hi<|return|>",
		"[analysis] Hm end; [final] Hi return", "missing_start repaired_role"},
	{"wide space before an answer", "\u2003Hi<|return|>", "[final] \u2003Hi return", "implicit_final"},
	{"a word like a header", " to be or not<|return|>", "[final]  to be or not return", "implicit_final"},
	{"a word like a channel", "finally<|return|>", "[final] finally return", "implicit_final"},
	{"text after a return", "<|channel|>final<|message|>Hi<|return|>More<|return|>",
		"[final] Hi return; [final] More return", "implicit_final after_stop"},
	{"lone role", "<|message|>x<|end|>assistant<|end|>", "[] x end", "dropped_header"},
	{"blank between messages", "<|message|>x<|end|>\n" + finalHi, "[] x end; [final] Hi return", "dropped_header"},
	{"control tokens in content", "<|message|>a<|message|>b<|constrain|>c<|endoftext|>d«200500»e<|end|>", "[] abcde end",
		"stray_control stray_control stray_control stray_control"},
	{"unknown ids", "«201089»<|channel|>fi«4294967295»nal<|message|>a«201089»b<|end|>«201089»", "[final] ab end",
		"unknown_token unknown_token unknown_token unknown_token"},
	{"loose words", "<|channel|>final ?? !!<|message|>Hi<|end|>", "[final] Hi end", "loose_words"},
	{"bad bytes", "<|message|>a«110»b<|end|>", "[] a\uFFFDb end", "invalid_text"},
	{"cut rune", "<|message|>a«110»<|end|>", "[] a\uFFFD end", "invalid_text"},
	{"long header", "<|channel|>final " + strings.Repeat("x ", 400) + "<|end|>",
		"[final] " + strings.Repeat("x ", 400) + " end", "long_header"},
	{"endless header", strings.Repeat("<|channel|>", 600), "[final]  cut", ""},

	// Cases of malformed output that the project's issue on parsers lists, and no case above shows.
	{"start and role twice", "<|start|>assistant" + finalHi, "[final] Hi return",
		"doubled_start doubled_start dropped_header"},
	{"channel twice, no name after the second", "<|channel|>final<|channel|><|message|>Hi<|return|>", "[final] Hi return",
		"doubled_channel repaired_channel"},
	{"channel twice in a row", "<|channel|><|channel|>final<|message|>Hi<|return|>", "[final] Hi return",
		"doubled_channel repaired_channel"},
	{"analysis, then final in one header", "<|channel|>analysis<|channel|>final<|message|>Hi<|return|>",
		"[final] Hi return", "doubled_channel"},
	{"header-less text after analysis", "<|channel|>analysis<|message|>Hm<|end|>Hi<|return|>",
		"[analysis] Hm end; [final] Hi return", "implicit_final"},
	{"header-less arguments", "{\"a\":1}<|return|>", "[final] {\"a\":1} return", "implicit_final"},
	{"header-less: assistant is a word", "assistant: Hello<|return|>", "[final] assistant: Hello return",
		"implicit_final"},
	{"missing message: arguments glued to a type", "<|channel|>commentary to=functions.f json{\"a\":1}<|call|>",
		"[commentary >functions.f json] {\"a\":1} call", "missing_message"},
	{"missing message: a word that begins like a type", "<|channel|>commentary to=functions.f jsonl x<|call|>",
		"[commentary >functions.f] jsonl x call", "missing_message"},
	{"missing message: text glued to a channel", "<|channel|>finalHi<|return|>", "[final] Hi return",
		"missing_message repaired_channel"},
	{"missing message: nothing after a channel", "<|channel|>final<|return|>", "", "dropped_header"},
	{"channel in the role's place", "<|message|>x<|end|><|start|>analysis<|message|>Hm<|end|>",
		"[] x end; [analysis] Hm end", "repaired_role repaired_channel"},
	{"channel's word begins an answer", "<|message|>x<|end|><|start|>final answer: no<|return|>",
		"[] x end; [final] final answer: no return", "missing_message"},
	{"channel after the role, unmarked", "<|message|>x<|end|><|start|>assistant final<|message|>Hi<|end|>",
		"[] x end; [final] Hi end", "repaired_channel"},
	{"no role and no channel", "<|message|>x<|end|><|start|><|message|>Hi<|return|>", "[] x end; [] Hi return",
		"repaired_role"},
	{"start missing before another role", "<|message|>x<|end|>user<|message|>q<|end|>", "[] x end; [user:] q end",
		"missing_start repaired_role"},
	{"recipient in the channel's place", "<|channel|>functions.f <|constrain|>json<|message|>{}<|call|>",
		"[>functions.f json] {} call", "repaired_channel"},
	{"recipient in the channel's place, marked", "<|channel|>to=functions.f<|message|>{}<|call|>",
		"[>functions.f] {} call", "repaired_channel repaired_channel"},
	{"recipient before the channel, type after it", " to=functions.f json<|channel|>commentary<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"recipient on analysis", "<|channel|>analysis to=functions.f code<|message|>{}<|call|>",
		"[analysis >functions.f code] {} call", ""},
	{"recipient without channel", " to=functions.f<|message|>{}<|call|>", "[>functions.f] {} call", ""},
	{"recipient glued to its type's marker", "<|channel|>commentary to=functions.f<|constrain|>json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"constrain as recipient", "<|channel|>commentary to=<|constrain|>json<|message|>{}<|call|>",
		"[commentary json] {} call", "repaired_recipient"},
	{"constrain as recipient, typed out", "<|channel|>commentary to=<«91»constrain«91»>json<|message|>{}<|call|>",
		"[commentary] {} call", "repaired_recipient"},
	{"type glued to the channel by its marker", "<|channel|>commentary<|constrain|>json<|message|>{}<|call|>",
		"[commentary json] {} call", ""},
	{"type kept apart from its marker", "<|channel|>commentary to=functions.f <|constrain|> json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", ""},
	{"type before recipient, plain", "<|channel|>commentary json to=functions.f<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "repaired_recipient"},
	{"type before recipient, before the channel", " json to=functions.f<|channel|>commentary<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "repaired_recipient"},
	{"a type alone is an answer", "json<|return|>", "[final] json return", "implicit_final"},
	{"type twice", "<|channel|>commentary to=functions.f json json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "loose_words"},
	{"message twice", "<|channel|>final<|message|>Hi<|message|> there<|return|>", "[final] Hi there return",
		"stray_control"},
	{"missing end before a call", "<|channel|>analysis<|message|>Hm<|channel|>commentary to=functions.f " +
		"json<|message|>{}<|call|>",
		"[analysis] Hm cut; [commentary >functions.f json] {} call", "channel_in_content"},
	{"text after a call", "<|channel|>commentary to=functions.f json<|message|>{}<|call|>Done<|return|>",
		"[commentary >functions.f json] {} call; [final] Done return", "implicit_final after_stop"},
	{"end of text after a return", "<|channel|>final<|message|>Hi<|return|><|endoftext|>", "[final] Hi return",
		"stray_control"},
	{"nothing but an end of text", "<|endoftext|>", "", "stray_control"},
	{"reserved tokens in a header", "«200500»<|channel|>fin«200500»al<|message|>Hi<|return|>", "[final] Hi return",
		"stray_control stray_control"},
}

func TestStreamParserRepairs(t *testing.T) {
	for _, tt := range repairCases {
		t.Run(tt.name, func(t *testing.T) {
			ids := tokens(tt.in)
			got := record(ids)
			if messages := formatMessages(got.messages); messages != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.in, messages, tt.want)
			}
			if seen := counted(got.seen); seen != tt.seen && tt.name != "endless header" {
				t.Errorf("%q: recoveries %q, want %q", tt.in, seen, tt.seen)
			}
			checkInvariants(t, ids)
		})
	}
}

// TestRecoveriesAreNamed finds a kind without a name, one that no case above shows, and one that the docs leave out.
func TestRecoveriesAreNamed(t *testing.T) {
	docs, err := os.ReadFile("../../docs/inspect.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown Recoveries
	for _, tt := range repairCases {
		seen := record(tokens(tt.in)).seen
		for k, n := range seen {
			shown[k] += n
		}
	}
	names := map[string]bool{}
	for k := range Recovery(recoveryKinds) {
		if k.String() == "" || names[k.String()] {
			t.Errorf("kind %d: name %q", k, k)
		}
		names[k.String()] = true
		if shown[k] == 0 && k < MissingMark { // ids have no marks
			t.Errorf("no case shows %s", k)
		}
		if !strings.Contains(string(docs), "| `"+k.String()+"` |") {
			t.Errorf("docs/inspect.md does not say what %s is", k)
		}
	}
	if Recovery(recoveryKinds).String() != "" {
		t.Error("a kind after the last has a name")
	}
}

// TestTruncatedAnywhere: any beginning of a stream has the messages of the whole one up to there.
func TestTruncatedAnywhere(t *testing.T) {
	for _, text := range []string{answer(2), finalHi, "I'm sorry.<|return|>"} {
		ids := tokens(text)
		whole := record(ids).messages
		for n := range ids {
			cut := record(ids[:n])
			for i, m := range cut.messages {
				last := i == len(cut.messages)-1
				switch {
				case i >= len(whole):
					t.Fatalf("%d tokens of %q: %s", n, text, formatMessages(cut.messages))
				case !last && m != whole[i]:
					t.Fatalf("%d tokens of %q: message %d is %+v, want %+v", n, text, i, m, whole[i])
				case last && (m.Header != whole[i].Header ||
					!strings.HasPrefix(whole[i].text, strings.TrimRight(m.text, wholerunes.Replacement)) ||
					m.end != Cut && m != whole[i]):
					t.Fatalf("%d tokens of %q: the last message is %+v, want a beginning of %+v", n, text, m, whole[i])
				}
			}
		}
	}
}

// TestNoiseBetweenMessages: control tokens between two messages change neither, in any order of three.
func TestNoiseBetweenMessages(t *testing.T) {
	before, after := tokens("<|channel|>analysis<|message|>Hm<|end|>"), tokens(finalHi)
	want := formatMessages(record(slices.Concat(before, after)).messages)
	noise := tokens(
		"<|end|><|return|><|call|><|start|><|channel|><|constrain|><|startoftext|><|endoftext|>«200500»«201089»")
	for _, a := range noise {
		for _, b := range noise {
			for _, c := range noise {
				got := record(slices.Concat(before, []uint32{a, b, c}, after))
				if formatMessages(got.messages) != want || got.seen.Total() == 0 {
					t.Errorf("%d %d %d: %q, %s", a, b, c, formatMessages(got.messages), counted(got.seen))
				}
			}
		}
	}
}
