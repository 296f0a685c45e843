package gptoss

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func mustPrompt(t *testing.T, text string) *prompt {
	t.Helper()
	p, err := ReadPrompt(o200k.Tokenizer(), encode(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return p
}

func TestAnswers(t *testing.T) {
	const final = "<|start|>assistant<|channel|>final<|message|>"
	called := weather + "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant " +
		"to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{}<|call|>" +
		"<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{\"sky\":\"clear\"}<|end|>"
	call := "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" +
		`{"location":"San Francisco","unit":"fahrenheit"}<|call|>`
	for name, tc := range map[string]struct {
		prompt string
		want   string // with N for the number of prompt tokens
	}{
		"low": {hello, "<|channel|>analysis<|message|>The user wants an answer.<|end|>" + final +
			"You said: Hello there. I read N tokens.<|return|>"},
		"call": {weather + "<|start|>assistant",
			"<|channel|>analysis<|message|>The function get_weather fits, so I call it.<|end|>" + call},
		"no call": {strings.Replace(weather, "weather in San", "news from San", 1) + "<|start|>assistant",
			"<|channel|>analysis<|message|>The user wants an answer.<|end|>" + final +
				"You said: What is the news from San Francisco, in fahrenheit?. I read N tokens.<|return|>"},
		"tool result": {called + "<|start|>assistant", "<|channel|>analysis<|message|>The tool functions.get_weather has " +
			"answered, so I use its result.<|end|>" + final +
			`The tool functions.get_weather answered: {"sky":"clear"}. I read N tokens.<|return|>`},
		"prefilled channel": {hello + "<|channel|>final", "<|message|>You said: Hello there. I read N tokens.<|return|>"},
		"prefilled final":   {hello + "<|channel|>final<|message|>", "You said: Hello there. I read N tokens.<|return|>"},
		"prefilled call": {weather + "<|start|>assistant to=functions.now<|channel|>commentary " +
			"<|constrain|>json<|message|>", "{}<|call|>"},
		"prefilled header": {weather + "<|start|>assistant to=functions.now", "<|channel|>commentary<|message|>{}<|call|>"},
	} {
		p := mustPrompt(t, tc.prompt)
		want := strings.Replace(tc.want, "N tokens", strconv.Itoa(p.tokens)+" tokens", 1)
		if got := spell(answer(o200k.Tokenizer(), p)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// More effort is more analysis; what a user spells stays text.
func TestEffortAndText(t *testing.T) {
	length := map[string]int{}
	for _, effort := range []string{"low", "medium", "high"} {
		length[effort] = len(answer(o200k.Tokenizer(),
			mustPrompt(t, strings.Replace(hello, "Reasoning: low", "Reasoning: "+effort, 1))))
	}
	if length["low"] >= length["medium"] || length["medium"] >= length["high"] {
		t.Errorf("lengths %v", length)
	}
	tok := o200k.Tokenizer()
	ids := encode(systemText + "<|start|>user<|message|>")
	ids = tok.AppendEncode(ids, "<|end|> and <|call|>")
	ids = append(ids, encode("<|end|><|start|>assistant")...)
	p, err := ReadPrompt(tok, ids)
	if err != nil {
		t.Fatal(err)
	}
	specials := 0
	reply := answer(tok, p)
	for _, id := range reply {
		if id == 200007 || id == 200012 {
			specials++
		}
	}
	if specials != 1 || !strings.Contains(spell(reply), "You said: <|end|> and <|call|>.") {
		t.Errorf("%d ends in %s", specials, spell(reply))
	}
}

func TestReadPrompt(t *testing.T) {
	p := mustPrompt(t, "<|start|>user:bob<|message|>a<|end|><|start|>functions.f to=assistant<|channel|>commentary "+
		"<|constrain|>json<|message|>b<|end|>"+
		"<|start|>assistant to=functions.f<|channel|>commentary "+
		"code<|message|>c<|call|><|start|>assistant<|channel|>final<|message|>d<|return|><|start|>assistant<|channel|>analysis")
	want := []Message{
		{role: "user", name: "bob", text: "a"},
		{role: "tool", name: "functions.f", Recipient: "assistant", Channel: "commentary", ctype: "<|constrain|>json",
			text: "b"},
		{role: "assistant", Recipient: "functions.f", Channel: "commentary", ctype: "code", text: "c"},
		{role: "assistant", Channel: "final", text: "d"},
	}
	for i, m := range want {
		if p.messages[i] != m {
			t.Errorf("message %d: %+v", i, p.messages[i])
		}
	}
	if p.prefill.Channel != "analysis" || p.prefillBody {
		t.Errorf("prefill %+v", p.prefill)
	}
	for _, bad := range []string{
		"", "x", "<|start|>assistant", "<|start|>", "<|start|>user<|message|>a<|end|>",
		"<|start|>user<|message|>a<|end|><|start|>user",
		"<|start|>user<|message|>a<|end|><|start|>user<|message|>b",
		"<|start|>user<|message|>a<|channel|>b<|end|><|start|>assistant",
		"<|start|>user<|message|>a<|start|>assistant", "<|start|>user<|message|>a<|end|><|end|><|start|>assistant",
		"<|start|>user<|end|><|start|>assistant",
		"<|start|>user<|channel|><|message|>a<|end|><|start|>assistant",
		"<|start|>user<|channel|>a<|channel|>b<|message|>a<|end|><|start|>assistant",
		"<|start|>user to=a to=b<|message|>a<|end|><|start|>assistant",
		"<|start|>user <|constrain|><|message|>a<|end|><|start|>assistant",
		"<|start|>user<|message|>a<|end|><|start|>assistant<|endoftext|>",
		"<|start|>user<|message|>a<|end|> <|start|>assistant",
	} {
		if _, err := ReadPrompt(o200k.Tokenizer(), encode(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func TestTools(t *testing.T) {
	const text = `# Tools

## functions

namespace functions {

// Book a table at a restaurant
// for some people
type book_table = (_: {
// Where
restaurant: string,
// first line
second line: of a description
people?: number, // default: 2
seats: string[],
when: // A day
{
    // The day
    day: "monday" | "tuesday",
    notes?: string[],
    },
choice:
 | string // a
 | number // b
,
flags: boolean | null,
anything: any,
}) => any;

type ping = () => any;

} // namespace functions`
	tools := readTools(text)
	if len(tools) != 2 || tools[0].Description != "Book a table at a restaurant for some people" ||
		tools[1].Name != "ping" || tools[1].Params != nil {
		t.Fatalf("%+v", tools)
	}
	const reply = `Please book a table for 4 people at Luigi, on Tuesday evening`
	if got, ok := chooseTool(tools, reply); !ok || got.Name != "book_table" {
		t.Errorf("chose %v %v", got.Name, ok)
	}
	want := `{"restaurant":"Luigi","people":4,"seats":["Tuesday"],"when":{"day":"tuesday"},"choice":"evening",` +
		`"flags":true,"anything":"Luigi"}`
	if got := arguments(tools[0], reply); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got := arguments(tools[1], reply); got != "{}" {
		t.Errorf("no parameters: %s", got)
	}
	if _, ok := chooseTool(tools, "Tell me a joke"); ok {
		t.Error("a tool for a joke")
	}
	deep := "\nnamespace functions {\ntype deep = (_: {\na: " + strings.Repeat("{\na: ", 500) + "string"
	if got := readTools(deep); len(got) != 1 || !strings.HasPrefix(arguments(got[0], "x"), `{"a":{"a":`) {
		t.Errorf("deep: %d tools", len(got))
	}
}
