package structure_test

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
)

// brk is a message beside the text.
const brk = structuretest.Break

type textCase struct {
	name, in, want string
	// cut reports whether the model was cut off.
	cut bool
}

func run(t *testing.T, adapter structure.New, o structure.Options, cases []textCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := structuretest.Read(t, adapter, o, c.in, !c.cut).String(); got != c.want {
				t.Errorf("%q\n got %s\nwant %s", c.in, got, c.want)
			}
		})
	}
}

func TestChatLeading(t *testing.T) {
	space := strings.Repeat(" ", 257)
	run(t, structure.NewChat, structure.Options{ThinkTags: contract.ThinkLeading}, []textCase{
		{"nothing", "", "", false},
		{"no tag", "Hi", "[final] Hi return", false},
		{"cut off", "Hi", "[final] Hi cut", true},
		{"space", " \n\t", "[final]  \n\t return", false},
		{"reasoning", "<think>\nHm\n</think>\n\nHi", "[analysis] \nHm\n end; [final] \n\nHi return", false},
		{"space before the tag", "\n <think>Hm</think>Hi", "[analysis] Hm end; [final] Hi return", false},
		{"too much space", space + "<think>Hm", "[final] " + space + "<think>Hm return", false},
		{"almost a tag", " <thin>Hi", "[final]  <thin>Hi return", false},
		{"half a tag", "<thi", "[final] <thi return", false},
		{"not at the beginning", "Hi <think>Hm</think>", "[final] Hi <think>Hm</think> return", false},
		{"nested", "<think>a<think>b</think>c</think>d", "[analysis] a<think>b end; [final] c</think>d return", false},
		{"repeated", "<think>a</think> \n<think>b</think>c<think>",
			"[analysis] a end; [analysis] b end; [final] c<think> return", false},
		{"without text", "<think></think>Hi", "[final] Hi return", false},
		{"only space in it", "<think>\n\n</think>\n\nHi", "[analysis] \n\n end; [final] \n\nHi return", false},
		{"no answer", "<think>Hm</think>", "[analysis] Hm end", false},
		{"never closed", "<think>Hm", "[analysis] Hm return; missing_mark 1", false},
		{"cut in reasoning", "<think>Hm", "[analysis] Hm cut", true},
		{"half an end", "<think>Hm</thin", "[analysis] Hm</thin cut", true},
		{"almost an end", "<think>Hm</thin</think>Hi", "[analysis] Hm</thin end; [final] Hi return", false},
		{"many beginnings of an end", "<think><<</<//think></</think>", "[analysis] <<</<//think></ end", false},
		{"runes", "<think>é😀</think>😀é", "[analysis] é😀 end; [final] 😀é return", false},
		{"not UTF-8", "<think>\xf0\x9f</think>\xff", "[analysis] \uFFFD end; [final] \uFFFD return; invalid_text 2", false},
		{"Harmony", "<|channel|>final<|message|>Hi", "[final] <|channel|>final<|message|>Hi return", false},
		{"beside it", "a" + brk + "b", "[final] a end; [final] b return", false},
		{"reasoning beside it", brk + "<think>Hm</think>Hi", "[analysis] Hm end; [final] Hi return", false},
		{"beside reasoning", "<think>a</thi" + brk + "b</think>c",
			"[analysis] a</thi end; [analysis] b end; [final] c return", false},
		{"beside space", "<think>a</think>\n" + brk + "<think>",
			"[analysis] a end; [final] \n end; [final] <think> return", false},
		{"beside the beginning of a tag", "<thi" + brk + "nk>a", "[final] <thi end; [final] nk>a return", false},
	})
}

func TestChatAnywhere(t *testing.T) {
	run(t, structure.NewChat, structure.Options{ThinkTags: contract.ThinkAnywhere}, []textCase{
		{"no tag", " Hi", "[final]  Hi return", false},
		{"leading", " <think>Hm</think> <think>Hm</think>\nHi", "[analysis] Hm end; [analysis] Hm end; [final] \nHi return", false},
		{"between", "a <think>b</think> c<think>d</think>",
			"[final] a  end; [analysis] b end; [final]  c end; [analysis] d end",
			false},
		{"after the beginning of one", "<<think>a</think>b", "[final] < end; [analysis] a end; [final] b return", false},
		{"after space", strings.Repeat(" ", 257) + "<think>a",
			"[final] " + strings.Repeat(" ", 257) + " end; [analysis] a return; missing_mark 1", false},
		{"an end alone", "a</think>b", "[final] a</think>b return", false},
		{"half a tag", "a<think", "[final] a<think return", false},
		{"beside half a tag", "a<thi" + brk + "nk>b<think>c",
			"[final] a<thi end; [final] nk>b end; [analysis] c cut", true},
	})
}

func TestChatOpened(t *testing.T) {
	run(t, structure.NewChat, structure.Options{ThinkTags: contract.ThinkOpened}, []textCase{
		{"reasoning", "\nHm\n</think>\n\nHi", "[analysis] \nHm\n end; [final] \n\nHi return", false},
		{"the tag all the same", "\n<think>Hm</think>Hi", "[analysis] Hm end; [final] Hi return", false},
		{"ended at once", "</think>Hi", "[final] Hi return", false},
		{"another leading one", "a</think>\n<think>b</think>c<think>",
			"[analysis] a end; [analysis] b end; [final] c<think> return", false},
		{"no tag", "Hi", "[analysis] Hi end; [final] Hi return; missing_mark 1", false},
		{"half a tag", "<thi", "[analysis] <thi end; [final] <thi return; missing_mark 1", false},
		{"no tag, cut off", "Hi", "[analysis] Hi cut", true},
		{"only the tag", "<think>Hm", "[analysis] Hm return; missing_mark 1", false},
		{"nothing", "", "", false},
		{"reasoning beside it", brk + "Hi", "[final] Hi return", false},
		{"a call beside it", "Hm" + brk, "[analysis] Hm end; missing_mark 1", false},
	})
}

func TestChatOff(t *testing.T) {
	run(t, structure.NewChat, structure.Options{ThinkTags: contract.ThinkOff}, []textCase{
		{"a tag", "<think>Hm</think>Hi", "[final] <think>Hm</think>Hi return", false},
	})
}

func TestMarker(t *testing.T) {
	run(t, structure.NewMarker, structure.Options{}, []textCase{
		{"nothing", "", "", false},
		{"both", "Hm\n===FINAL===\nHi", "[analysis] Hm\n end; [final] \nHi return", false},
		{"no reasoning", " \n===FINAL===Hi", "[final] Hi return", false},
		{"no answer", "Hm===FINAL===", "[analysis] Hm end", false},
		{"only the first", "a===FINAL===b===FINAL===c", "[analysis] a end; [final] b===FINAL===c return", false},
		{"almost", "a=== FINAL======FINAL====b", "[analysis] a=== FINAL=== end; [final] =b return", false},
		{"no marker", "Hi ===FINAL==", "[analysis] Hi ===FINAL== end; [final] Hi ===FINAL== return; missing_mark 1", false},
		{"no marker, cut off", "Hi", "[analysis] Hi cut", true},
		{"half a marker at once", "===FI", "[analysis] ===FI end; [final] ===FI return; missing_mark 1", false},
		{"a call beside it", "Hm==" + brk, "[analysis] Hm== end", false},
		{"beside it", "a" + brk + "b===FINAL===c" + brk + "d",
			"[analysis] a end; [analysis] b end; [final] c end; [final] d return", false},
		{"beside it, no marker", "a" + brk + "b",
			"[analysis] a end; [analysis] b end; [final] b return; missing_mark 1", false},
	})
	run(t, structure.NewMarker, structure.Options{Marker: "aab"}, []textCase{
		{"a marker that begins again", "aaaab aab", "[analysis] aa end; [final]  aab return", false},
	})
}

func TestHarmony(t *testing.T) {
	run(t, structure.NewHarmony, structure.Options{}, []textCase{
		{"control tokens", "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
			"[analysis] Hm end; [final] Hi return", false},
		{"a call", "<|channel|>commentary to=functions.f<|message|>{}", "[commentary>functions.f] {} call", false},
		{"cut off", "<|channel|>final<|message|>Hi", "[final] Hi cut", true},
		{"no control tokens", "analysisHm.assistantfinalHi", "[analysis] Hm. end; [final] Hi return", false},
		{"not Harmony", "Hi", "[final] Hi return; implicit_final 1", false},
		{"reasoning beside it", brk + "<|channel|>final<|message|>Hi", "[final] Hi return", false},
		{"beside it", "<|channel|>final<|message|>a<|e" + brk + "<|channel|>final<|message|>b",
			"[final] a<|e cut; [final] b return", false},
		{"beside it, no control tokens", "analysisHm" + brk + "finalHi", "[analysis] Hm cut; [final] Hi return", false},
		{"beside text", "Hi" + brk + "final", "[final] Hi cut; [final] final return; implicit_final 2", false},
	})
}

func TestAuto(t *testing.T) {
	run(t, structure.NewAuto, structure.Options{ThinkTags: contract.ThinkLeading}, []textCase{
		{"nothing", "", "", false},
		{"chat", "Hi", "[final] Hi return", false},
		{"space", " \n", "[final]  \n return", false},
		{"think tags", "\n<think>Hm</think>Hi", "[analysis] Hm end; [final] Hi return", false},
		{"Harmony", "<|channel|>analysis<|message|>Hm<|end|>", "[analysis] Hm end", false},
		{"Harmony after space", "\n<|start|>assistant<|channel|>final<|message|>Hi",
			"[final] Hi return; doubled_start 1", false},
		{"Harmony in a quotation", "`<|channel|>final<|message|>`", "[final] `<|channel|>final<|message|>` return", false},
		{"a control token that begins no header", "<|end|>Hi", "[final] <|end|>Hi return", false},
		{"Harmony without control tokens", "analysisWe answer.assistantfinalHi",
			"[analysis] We answer. end; [final] Hi return", false},
		{"the word analysis", "analysis of it", "[final] analysis of it return", false},
		{"only the word", "analysis", "[final] analysis return", false},
		{"a call without control tokens", "commentary to=functions.f json{}", "[commentary>functions.f] {} call", false},
		{"the word commentary", "commentary to me", "[final] commentary to me return", false},
		{"reasoning beside it", brk + "<|channel|>final<|message|>Hi", "[final] Hi return", false},
		{"beside it", "<|cha" + brk + "nnel|>", "[final] <|cha end; [final] nnel|> return", false},
	})
	run(t, structure.NewAuto, structure.Options{ThinkTags: contract.ThinkOpened}, []textCase{
		{"opened", "Hm</think>Hi", "[analysis] Hm end; [final] Hi return", false},
		{"reasoning beside it", brk + "Hi", "[final] Hi return", false},
	})
}

func TestNamed(t *testing.T) {
	foreign := map[string]structure.New{"x-own": structure.NewMarker, "x-nil": nil}
	for name, want := range map[string]bool{
		"": true, contract.SpeaksAuto: true, contract.SpeaksHarmony: true, contract.SpeaksChat: true,
		contract.SpeaksMarker: true, "x-own": true, "x-nil": false, "x-none": false,
	} {
		if adapter, ok := structure.Named(name, foreign); ok != want || ok && adapter == nil {
			t.Errorf("%q: %v", name, ok)
		}
	}
}

func TestHarmonyWithMarker(t *testing.T) {
	fallback := harmony.Fallback{To: harmony.FallBackToFinal, MinTokens: 2}
	run(t, structure.NewHarmony, structure.Options{Marker: "##", Fallback: fallback}, []textCase{
		{"control tokens", "<|channel|>analysis<|message|>Hm ## Hm<|end|>", "[analysis] Hm ## Hm end", false},
		{"no control tokens", "analysisHm ## Hm.assistantfinalHi", "[analysis] Hm ## Hm. end; [final] Hi return", false},
		{"the marker", "Hm##Hi##", "[analysis] Hm end; [final] Hi## return; implicit_split 1", false},
		{"a short answer", "Hi there", "[final] Hi there return; implicit_final 1", false},
		{"no marker", "It is 4, I think.", "[analysis] It is 4, I think. return; [final] It is 4, I think. return; " +
			"missing_mark 1; implicit_split 1", false},
		{"no marker, cut off", "It is 4, I think.", "[analysis] It is 4, I think. cut; implicit_split 1", true},
		{"no marker, a terminator", "It is 4, I think.<|return|>", "[analysis] It is 4, I think. return; " +
			"[final] It is 4, I think. return; missing_mark 1; implicit_split 1", false},
		{"no marker, a control token that means nothing", "It is 4, <|constrain|>I think.",
			"[analysis] It is 4, I think. return; " +
				"[final] It is 4, I think. return; stray_control 1; missing_mark 1; implicit_split 1", false},
		{"no marker, not UTF-8", "It is 4, I think\xf0", "[analysis] It is 4, I think\uFFFD return; " +
			"[final] It is 4, I think\uFFFD return; invalid_text 1; missing_mark 1; implicit_split 1", false},
		{"Harmony after all", "It is 4, I think.<|channel|>final<|message|>4", "[analysis] It is 4, I think. cut; " +
			"[final] 4 return; channel_in_content 1; implicit_split 1", false},
		{"a call beside it", "It is 4, I think." + brk, "[analysis] It is 4, I think. cut; implicit_split 1", false},
		{"beside it", "It is 4, I think." + brk + "Hm##Hi", "[analysis] It is 4, I think. cut; [analysis] Hm end; " +
			"[final] Hi return; implicit_split 1", false},
	})
}
