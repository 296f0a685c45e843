package harmony

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
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

// told prints messages as "[role:name channel >recipient type] text end", what is absent left out.
func told(messages []recorded) string {
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
	{"call", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>", "[commentary >functions.f json] {} call", ""},
	{"call, recipient first", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "[commentary >functions.f json] {} call", ""},
	{"no channel", "<|message|>Hi<|return|>", "[] Hi return", ""},
	{"tool's answer", "<|message|>x<|end|><|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>",
		"[] x end; [tool:functions.f commentary >assistant] {} end", ""},
	{"other roles", "<|message|>x<|end|><|start|>user:bob<|message|>y<|end|><|start|>tool to=user<|message|>z<|end|>",
		"[] x end; [user:bob] y end; [tool:tool >user] z end", ""},
	{"markers typed out are text", "<|channel|>final<|message|><«91»end«91»> is a marker<|return|>", "[final] <|end|> is a marker return", ""},
	{"nothing", "", "", ""}, {"start alone", "<|message|>x<|end|><|start|>", "[] x end", ""},

	{"pain 1: refusal without header", "I'm sorry, but no.<|return|>", "[final] I'm sorry, but no. return", "implicit_final"},
	{"pain 1: header text without message", "<|channel|>final I cannot.<|end|>", "[final] I cannot. end", "missing_message"},
	{"pain 1: behind start", "<|channel|>analysis<|message|>Hm<|end|><|start|>Sorry, no.<|return|>", "[analysis] Hm end; [final] Sorry, no. return", "missing_message"},
	{"pain 1: role kept apart", "<|message|>x<|end|><|start|>assistant Sorry.<|return|>", "[] x end; [final] Sorry. return", "missing_message"},
	{"pain 2: call without message", "<|channel|>commentary to=functions.f <|constrain|>json{\"a\":1}<|call|>",
		"[commentary >functions.f json] {\"a\":1} call", "missing_message"},
	{"pain 2: arguments glued", "<|channel|>commentary to=functions.f{\"a\":1}<|call|>", "[commentary >functions.f] {\"a\":1} call", "missing_message"},
	{"pain 2: call without arguments", "<|channel|>commentary to=functions.f json<|call|>", "[commentary >functions.f json]  call", "missing_message"},
	{"pain 2: analysis stays analysis", "<|channel|>analysis We need x.<|end|>", "[analysis] We need x. end", "missing_message"},
	{"pain 2: unknown channel is text", "<|channel|>Hello there<|end|>", "[final] Hello there end", "missing_message"},
	{"pain 3: terminator twice", "<|channel|>final<|message|>Hi<|end|><|end|><|return|>", "[final] Hi end", "stray_terminator stray_terminator"},
	{"pain 3: then another message", "<|channel|>final<|message|>Hi<|end|><|return|>" + finalHi, "[final] Hi end; [final] Hi return", "stray_terminator"},
	{"terminator first", "<|end|><|return|>", "", "stray_terminator stray_terminator"},
	{"pain 4: recipient ends at a control token", " to=manage_cart<|channel|>commentary<|message|>{}<|call|>", "[commentary >manage_cart] {} call", ""},
	{"pain 4: marker typed into a recipient", " to=manage_cart<«91»channel«91»>x<|channel|>commentary<|message|>{}<|call|>",
		"[commentary >manage_cart] {} call", "repaired_recipient"},
	{"pain 4: constrain is no recipient", "<|channel|>final <|constrain|>json<|message|>{}<|return|>", "[final json] {} return", ""},
	{"pain 4: empty recipient", "<|channel|>final to=<|message|>Hi<|return|>", "[final] Hi return", "repaired_recipient"},
	{"plain type is no recipient", "<|channel|>final json<|message|>{}<|return|>", "[final json] {} return", ""},
	{"pain 5: channel with a tail", "<|channel|>commentary?<|message|>Hi<|end|>", "[commentary] Hi end", "repaired_channel"},
	{"pain 5: channel again", "<|channel|>commentary to=assistant<|channel|>commentary??<|message|>Hi<|end|>", "[commentary] Hi end",
		"doubled_channel repaired_channel"},
	{"pain 5: recipient survives", "<|channel|>commentary to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
		"[commentary >functions.f json] {} call", "doubled_channel"},
	{"pain 5: channel in content", "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Hi<|return|>",
		"[analysis] Hm cut; [final] Hi return", "channel_in_content"},
	{"channel in content, not one", "<|channel|>final<|message|>The <|channel|>4 ABC<|return|>", "[final] The 4 ABC return", "stray_control"},
	{"channel in content, cut", "<|channel|>final<|message|>The <|channel|>", "[final] The  cut", "stray_control"},
	{"channel in content, twice", "<|channel|>final<|message|>a<|channel|><|channel|>final<|message|>b<|end|>", "[final] a cut; [final] b end",
		"stray_control channel_in_content"},
	{"channel in capitals", "<|channel|>Final<|message|>Hi<|end|>", "[final] Hi end", "repaired_channel"},
	{"answer before a channel", "<|channel|>final I can not do it.<|channel|>final<|message|>Hi<|end|>",
		"[final] I can not do it. cut; [final] Hi end", "missing_start missing_message"},
	{"answer behind start, before a channel", "<|message|>x<|end|><|start|>Sorry, I can not.<|channel|>final<|message|>Hi<|end|>",
		"[] x end; [final] Sorry, I can not. cut; [final] Hi end", "missing_start missing_message"},
	{"unknown channel", "<|channel|>thoughts<|message|>Hm<|end|>", "[thoughts] Hm end", "unknown_channel"},
	{"empty channel", "<|channel|><|message|>Hi<|end|>", "[] Hi end", "repaired_channel"},
	{"glued type", "<|channel|>commentaryjson to=functions.f<|message|>{}<|call|>", "[commentary >functions.f] {} call", "repaired_channel"},
	{"glued recipient", "<|channel|>commentaryto=functions.f<|message|>{}<|call|>", "[commentary >functions.f] {} call", "repaired_channel"},
	{"pain 6: start again", finalHi, "[final] Hi return", "doubled_start"},
	{"pain 6: start twice", "<|start|><|start|>assistant<|channel|>final<|message|>Hi<|return|>", "[final] Hi return", "doubled_start doubled_start"},
	{"pain 6: role twice", "<|message|>x<|end|><|start|>assistantassistant<|channel|>final<|message|>Hi<|end|>", "[] x end; [final] Hi end", "repaired_role repaired_role"},
	{"role glued to a recipient", "<|message|>x<|end|><|start|>assistantto=functions.f<|message|>{}<|call|>", "[] x end; [>functions.f] {} call", "repaired_role"},
	{"role missing", "<|message|>x<|end|><|start|>to=functions.f<|channel|>commentary<|message|>{}<|call|>",
		"[] x end; [commentary >functions.f] {} call", "repaired_role"},
	{"role unknown", "<|message|>x<|end|><|start|>helper<|channel|>final<|message|>Hi<|end|>", "[] x end; [final] Hi end", "repaired_role"},
	{"tool for a role", "<|message|>x<|end|><|start|>functions.f<|channel|>commentary json<|message|>{}<|call|>",
		"[] x end; [commentary >functions.f json] {} call", "repaired_role"},
	{"tool that begins like a role", "<|message|>x<|end|><|start|>tools.f to=assistant<|message|>y<|end|>", "[] x end; [tool:tools.f >assistant] y end", ""},
	{"pain 7: cut in content", "<|channel|>final<|message|>Hel", "[final] Hel cut", ""},
	{"pain 7: cut in a header", "<|channel|>analysis to=func", "", "dropped_header"},
	{"pain 7: cut in a channel's name", "<|channel|>comment", "", "dropped_header"},
	{"pain 7: cut in a role", "<|message|>x<|end|><|start|>assist", "[] x end", "dropped_header"},
	{"pain 7: held text is not lost", "a", "[final] a cut", "implicit_final"},
	{"pain 10: glued json is left to the caller", "<|channel|>commentary to=functions.shelljson<|message|>{}<|call|>",
		"[commentary >functions.shelljson] {} call", ""},
	{"pain 12: preamble", "<|channel|>commentary<|message|>Let me look.<|end|>", "[commentary] Let me look. end", ""},
	{"pain 12: bare recipient", "<|channel|>commentary to=get_weather json<|message|>{}<|call|>", "[commentary >get_weather json] {} call", ""},
	{"recipient without its mark", "<|channel|>commentary functions.f <|constrain|>json<|message|>{}<|call|>", "[commentary >functions.f json] {} call", ""},
	{"pain 15: json behind analysis", "<|channel|>analysis<|message|>Hm<|end|>{\"a\":1}<|return|>", "[analysis] Hm end; [final] {\"a\":1} return", "implicit_final"},
	{"pain 27: final alone", "<|channel|>final<|message|>Hi<|return|>", "[final] Hi return", ""},
	{"pain 34: recipient twice", " to=functions.f<|channel|>commentary to=functions.f json<|message|>{}<|call|>", "[commentary >functions.f json] {} call", ""},
	{"two recipients", "<|channel|>commentary to=a to=b<|message|>{}<|call|>", "[commentary >b] {} call", "repaired_recipient"},
	{"type before recipient", "<|channel|>commentary <|constrain|>json to=functions.f<|message|>{}<|call|>", "[commentary >functions.f json] {} call", "repaired_recipient"},
	{"recipient behind a space", "<|channel|>commentary to= functions.f json<|message|>{}<|call|>", "[commentary >functions.f json] {} call", "repaired_recipient"},
	{"missing end", "<|channel|>analysis<|message|>Hm" + finalHi, "[analysis] Hm cut; [final] Hi return", "missing_end"},
	{"missing start", "<|channel|>analysis<|message|>Hm<|end|><|channel|>final<|message|>Hi<|end|>", "[analysis] Hm end; [final] Hi end", "missing_start"},
	{"missing start, role there", "<|channel|>analysis<|message|>Hm<|end|>assistant<|channel|>final<|message|>Hi<|end|>",
		"[analysis] Hm end; [final] Hi end", "missing_start repaired_role"},
	{"missing start and channel", "<|message|>a<|end|><|message|>b<|end|>", "[] a end; [final] b end", "missing_start"},
	{"channel's marker missing", "final<|message|>Hi<|return|>", "[final] Hi return", "repaired_channel"},
	{"headless recipient", " to=functions.f {\"a\":1}<|call|>", "[>functions.f] {\"a\":1} call", "missing_message"},
	{"a word like a header", " to be or not<|return|>", "[final]  to be or not return", "implicit_final"},
	{"a word like a channel", "finally<|return|>", "[final] finally return", "implicit_final"},
	{"text after a return", "<|channel|>final<|message|>Hi<|return|>More<|return|>", "[final] Hi return; [final] More return", "implicit_final after_stop"},
	{"lone role", "<|message|>x<|end|>assistant<|end|>", "[] x end", "dropped_header"},
	{"blank between messages", "<|message|>x<|end|>\n" + finalHi, "[] x end; [final] Hi return", "dropped_header"},
	{"control tokens in content", "<|message|>a<|message|>b<|constrain|>c<|endoftext|>d«200500»e<|end|>", "[] abcde end",
		"stray_control stray_control stray_control stray_control"},
	{"unknown ids", "«201089»<|channel|>fi«4294967295»nal<|message|>a«201089»b<|end|>«201089»", "[final] ab end",
		"unknown_token unknown_token unknown_token unknown_token"},
	{"loose words", "<|channel|>final ?? !!<|message|>Hi<|end|>", "[final] Hi end", "loose_words"},
	{"bad bytes", "<|message|>a«110»b<|end|>", "[] a\uFFFDb end", "invalid_text"},
	{"cut rune", "<|message|>a«110»<|end|>", "[] a\uFFFD end", "invalid_text"},
	{"long header", "<|channel|>final " + strings.Repeat("x ", 400) + "<|end|>", "[final] " + strings.Repeat("x ", 400) + " end", "long_header"},
	{"endless header", strings.Repeat("<|channel|>", 600), "[final]  cut", ""},
}

func TestStreamParserRepairs(t *testing.T) {
	for _, tt := range repairCases {
		t.Run(tt.name, func(t *testing.T) {
			ids := tokens(tt.in)
			got := record(ids)
			if told := told(got.messages); told != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.in, told, tt.want)
			}
			if seen := counted(got.seen); seen != tt.seen && tt.name != "endless header" {
				t.Errorf("%q: recoveries %q, want %q", tt.in, seen, tt.seen)
			}
			checkInvariants(t, ids)
		})
	}
}

// TestRecoveriesAreNamed finds a kind without a name, and one that no case above shows.
func TestRecoveriesAreNamed(t *testing.T) {
	names := map[string]bool{}
	for k := range Recovery(recoveryKinds) {
		if k.String() == "" || names[k.String()] {
			t.Errorf("kind %d: name %q", k, k)
		}
		names[k.String()] = true
	}
	if Recovery(recoveryKinds).String() != "" {
		t.Error("a kind beyond the last has a name")
	}
}
