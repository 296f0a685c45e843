package promptrules

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func prompt(text string) answer {
	return answer{ids: o200k.Tokenizer().AppendEncodeSpecial(nil, text)}
}

// TestExplain has a pair of answers for each rule, in the order of the rules, and the numbers of the rules that explain
// the difference.
func TestExplain(t *testing.T) {
	const (
		start = "<|start|>user<|message|>Rain?<|end|>"
		end   = "<|start|>assistant"
		call  = "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>"
		think = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>"
		text  = "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
		tools = "# Tools\n\n## functions\n\nnamespace functions {\n\ntype f = (_: {\na?: number, // default: 1e20\n" +
			"}) => any;\n\n} // namespace functions"
	)
	developer := func(text string) string { return "<|start|>developer<|message|>" + text + "<|end|>" }
	for _, tt := range []struct {
		name, ours, theirs string
		want               []int
	}{
		{"equal", start + end, start + end, nil},
		{"result", start + "<|start|>f to=assistant<|channel|>commentary<|message|>r<|end|>" + end,
			start + "<|start|>f<|channel|>commentary to=assistant<|message|>r<|end|>" + end, []int{1}},
		{"call", start + call + end, start + "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json" +
			"<|message|>{}<|call|>" + end, []int{2}},
		{"numbers", developer(tools) + end, developer(strings.Replace(tools, "1e20", "1e+20", 1)) + end, []int{3}},
		{"another number", developer(tools) + end, developer(strings.Replace(tools, "1e20", "1e+21", 1)) + end, nil},
		{"order", start + think + text + call + end, start + text + think + call + end, []int{4}},
		{"order and call", start + think + text + call + end, start + text + think +
			"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>" + end, []int{2, 4}},
		{"another recipient", start + call + end, start + strings.Replace(call, "functions.f", "functions.g", 1) + end, nil},
		{"another text", start + end, strings.Replace(start, "Rain", "Snow", 1) + end, nil},
		{"a message more", start + end, start + start + end, nil},
		{"phase", start + think + text + call + end,
			start + "<|start|>assistant<|channel|>final<|message|>I look.<|end|>" + call + end, []int{7}},
		{"instructions", developer("# Instructions\n\nA\n\nB\n\n"+tools) + end,
			developer("# Instructions\n\nA\n\n"+tools) + developer("# Instructions\n\nB") + end, []int{8}},
		{"schema", developer("# Instructions\n\nA\n\n# Response Formats\n\n## x\n\n{}") + end,
			developer("# Instructions\n\nA") + end, []int{11}},
		{"schema alone", developer("# Response Formats\n\n## x\n\n{}") + start + end, start + end, []int{11}},
		{"name", "<|start|>user:ann<|message|>Hi<|end|>" + end, "<|start|>user<|message|>Hi<|end|>" + end, []int{13}},
		{"end of instructions", developer("# Instructions\n\nA") + end, developer("# Instructions\n\nA\n\n") + end,
			[]int{10}},
	} {
		c := testCase{api: chat, name: tt.name}
		used, ok := explain(&c, prompt(tt.ours), prompt(tt.theirs), "vLLM Chat")
		for i := range used {
			used[i]++
		}
		if ok != (tt.want != nil || tt.ours == tt.theirs) || !slices.Equal(used, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, used, ok, tt.want)
		}
	}
}

// TestCases reads the cases. A name decides a rule only if there is such a case.
func TestCases(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := readCases(file)
	if err != nil || len(cases) < 70 {
		t.Fatal(len(cases), err)
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.api+"/"+c.name] {
			t.Errorf("two cases are %s/%s", c.api, c.name)
		}
		names[c.api+"/"+c.name], names[c.name] = true, true
	}
	for _, r := range rules {
		for _, name := range strings.Fields(r.decided) {
			if !names[name] {
				t.Errorf("no case is %s, which decides the rule %q", name, r.name)
			}
		}
	}
	for _, file := range []string{"-- chat/x --\n[]\n", "-- other/x --\n{}\n", "-- x --\n{\"a\":1}\n"} {
		if _, err := readCases([]byte(file)); err == nil {
			t.Errorf("%q is read", file)
		}
	}
}

// TestRead reads headers in every order.
func TestRead(t *testing.T) {
	for _, header := range []string{
		"assistant", "user:ann",
		"functions.f to=assistant<|channel|>commentary", "functions.f<|channel|>commentary to=assistant",
		"assistant to=functions.f<|channel|>commentary json",
		"assistant<|channel|>commentary to=functions.f <|constrain|>json",
		"assistant to=python<|channel|>analysis code",
	} {
		got, err := read(prompt("<|start|>" + header + "<|message|>x<|end|><|start|>assistant").ids)
		if err != nil || len(got) != 2 || got[0].header() != header || got[0].text() != "x" {
			t.Errorf("%s: %+v, %v", header, got, err)
		}
	}
	for _, text := range []string{"x", "<|start|>", "<|start|>a to=b to=c<|channel|>d<|message|>x<|end|>"} {
		if got, err := read(prompt(text).ids); err == nil {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

func TestPlainExponents(t *testing.T) {
	for text, want := range map[string]string{
		"1e20": "1e20", "1e+20": "1e20", "1e-7": "1e-7", "1e-07, 1.5e+300": "1e-7, 1.5e300", "she+2": "she+2", "e+1": "e+1",
	} {
		if got := plainExponents(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestReasons looks for a reason for each rule in the page.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile("../../docs/prompt-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(string(page), "\n## What we do\n")
	reasons, _, _ = strings.Cut(reasons, "\n## ")
	found := map[string]bool{}
	for line := range strings.Lines(reasons) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for number := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
				found[number] = true
			}
		}
	}
	for i, r := range rules {
		if !found[strconv.Itoa(i+1)] {
			t.Errorf("the page does not say why we do as we do by rule %d, %s", i+1, r.name)
		}
	}
}
