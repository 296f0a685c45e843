package structure

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// onlyTools declares one function.
type onlyTools struct{}

func (onlyTools) Function(name string) ([]byte, bool) {
	return []byte(`{"properties":{"a":{"type":"string"},"n":{"type":"integer"},"l":{"type":"array"}}}`), name == "f"
}

// TestCallsAreBounded: the text that costs a form of calls the most is read to its end, and what is held back has a
// bound.
func TestCallsAreBounded(t *testing.T) {
	n := 6_000
	if testing.Short() {
		n = 1_000
	}
	texts := map[string]string{
		"beginnings of a mark":  strings.Repeat("<tool_cal", n) + strings.Repeat("[TOOL_CALL", n),
		"opening marks":         strings.Repeat("<tool_call>", n),
		"pairs of marks":        strings.Repeat("<tool_call></tool_call>", n),
		"calls":                 strings.Repeat(`<tool_call>{"name":"f","arguments":{}}</tool_call>`, n),
		"objects":               `{"name":"f","parameters":{}` + strings.Repeat(`};{"name":"f","parameters":{}`, n),
		"a long name":           "<tool_call>" + strings.Repeat("f", 8*n),
		"a long key":            `<tool_call>{"` + strings.Repeat("f", 100*n),
		"a long value":          `<tool_call>{"x":"` + strings.Repeat("f", 100*n),
		"arguments first":       `<tool_call>{"arguments":{"x":"` + strings.Repeat("f", 100*n),
		"arguments as a string": `<tool_call>{"name":"f","arguments":"` + strings.Repeat("f", 200*n),
		"brackets":              `<tool_call>{"name":"f","arguments":` + strings.Repeat("[", 8*n),
		"a long argument":       "<tool_call><function=f><parameter=l>" + strings.Repeat("1,", 100*n),
		"arguments":             "<tool_call><function=f>" + strings.Repeat("<parameter=n>1</parameter>", n),
		"text between":          "<tool_call><function=f>" + strings.Repeat("text ", 20*n),
		"a long argument name":  "<tool_call><function=f>" + strings.Repeat("<parameter=", n) + ">",
		"quoted ends":           "<tool_call><function=f><parameter=a>" + strings.Repeat("</tool_call> x", n),
		"space after an end":    "<tool_call><function=f><parameter=a></tool_call>" + strings.Repeat(" ", 8*n),
		"sections":              strings.Repeat("<|tool_calls_section_begin|><|tool_call_begin|>", n),
		"headers":               strings.Repeat("<｜tool▁call▁begin｜>f<｜tool▁sep｜>", n),
		"names":                 strings.Repeat("[TOOL_CALLS]f[CALL_ID]", n),
		"lists":                 "[TOOL_CALLS][" + strings.Repeat(`{"name":"f"},`, n),
		"reasoning":             "<think>" + strings.Repeat("</thin", n),
		"bad runes":             "<tool_call><function=f><parameter=a>" + strings.Repeat("\xf0\x9f", 8*n),
	}
	for name, text := range texts {
		for _, form := range contract.CallForms() {
			for _, piece := range []int{1, 100, 4 << 20} {
				t.Run(fmt.Sprintf("%s, %s, in pieces of %d", name, form, piece), func(t *testing.T) {
					readRudely(t, NewCalls(form), text, piece)
				})
			}
		}
	}
}

func readRudely(t *testing.T, create New, text string, piece int) {
	t.Helper()
	var s sizes
	a, ok := create(&s, Options{ThinkTags: contract.ThinkLeading, Tools: onlyTools{}}).(*called)
	if !ok {
		t.Fatal("it is another adapter")
	}
	for rest := []byte(text); len(rest) > 0; {
		k := min(piece, len(rest))
		a.Write(rest[:k], 0)
		rest = rest[k:]
		if len(a.held) > 3*maxCallName {
			t.Fatalf("%d bytes are held: %.40q", len(a.held), a.held)
		}
		if o, g := &a.object, &a.argument; len(o.raw) > maxHeldObject+maxTaken || len(o.quoted) > maxHeldValue ||
			len(g.held) > maxHeldValue || len(g.stray) > maxStray+maxTaken {
			t.Fatalf("an object holds %d and %d bytes, an argument %d and %d", len(o.raw), len(o.quoted), len(g.held),
				len(g.stray))
		}
	}
	a.Finish(true)
	if s.opened == 0 && strings.ContainsAny(text, "x12") {
		t.Error("nothing was shown of text that is not all marks")
	}
}

var allThinkTags = []string{contract.ThinkLeading, contract.ThinkOpened, contract.ThinkAnywhere, contract.ThinkOff}

// TestCallsAtRandom: pieces of all forms in any order are read to their end, wherever they are cut.
func TestCallsAtRandom(t *testing.T) {
	parts := []string{"<think>", "</think>", toolCall, toolCallEnd, functionMark, functionEnd, parameterMark,
		"</parameter>",
		argKey, "</arg_key>", "<arg_value>", "</arg_value>", kimiCall, kimiArguments, kimiCallEnd, kimiEnd,
		"<|tool_calls_section_begin|>", "<｜tool▁call▁begin｜>", deepSeekSep, deepSeekEnd, "<｜DSML｜invoke name=\"", "\">",
		"<｜DSML｜parameter name=\"a\" string=\"true\">", "</｜DSML｜parameter>", "</｜DSML｜invoke>", mistralCalls, mistralArgs,
		mistralID, pythonTag, "```json", "```",
		`{"name":"f","arguments":{"a":[1]}}`, `{"name":"f","parameters":"{}"}`, `{"arguments":{},`,
		`"name":"f"`, "{", "}", "[", "]", ":", ",", `"`, `\`, ">", "\n", " ", "f",
		"functions.f:0", "n", "a", "5", "é", "\xf0\x9f", "x"}
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	random := rand.New(rand.NewSource(1))
	for range rounds {
		var b strings.Builder
		for range random.Intn(14) {
			b.WriteString(parts[random.Intn(len(parts))])
		}
		for _, form := range contract.CallForms() {
			for _, tags := range allThinkTags {
				readAtRandom(t, NewCalls(form), tags, b.String(), random)
			}
		}
	}
}

func readAtRandom(t *testing.T, create New, tags, text string, random *rand.Rand) {
	t.Helper()
	for _, whole := range []bool{true, false} {
		o := Options{ThinkTags: tags, Tools: onlyTools{}}
		var one, other messageText
		a := create(&one, o)
		a.Write([]byte(text), 0)
		a.Finish(whole)
		b := create(&other, o)
		for rest := text; rest != ""; {
			n := 1 + random.Intn(min(len(rest), 9))
			b.Write([]byte(rest[:n]), 0)
			rest = rest[n:]
		}
		b.Finish(whole)
		if one.String() != other.String() || a.Recoveries() != b.Recoveries() {
			t.Fatalf("%q\n at once %s %v\nin parts %s %v", text, &one, a.Recoveries(), &other, b.Recoveries())
		}
	}
}

// messageText is a sink that writes all messages into a text.
type messageText struct{ strings.Builder }

func (m *messageText) Open(h harmony.Header)      { fmt.Fprintf(m, "[%s %s]", h.Channel, h.Recipient) }
func (m *messageText) Content(text []byte, _ int) { m.Write(text) }
func (m *messageText) Close(end harmony.End)      { fmt.Fprintf(m, "[%d]", end) }
