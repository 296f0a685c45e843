package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// larkTool is a custom tool with a Lark grammar.
func larkTool(name, definition string) string {
	return `{"type":"custom","custom":{"name":"` + name + `","format":{"type":"grammar","grammar":{"syntax":"lark",` +
		`"definition":` + strconv.Quote(definition) + `}}}}`
}

// TestGrammarsInTags: a grammar of a custom tool is in the tag as EBNF, where all other calls are free unless something
// else holds them. A grammar of any text, and one that cannot be turned, are not in it.
func TestGrammarsInTags(t *testing.T) {
	const ebnf = `{"type":"grammar","grammar":"root ::= (\"a\")+\n"}`
	const lark, lazy, whatever = "start: \"a\"+", "start: /a*?/", `start: /[\s\S]+/`
	f := `"value":"<|channel|>commentary to=functions.f"`
	schema := `"json_schema":{"type":"object","properties":{"a":`
	for _, tt := range []struct {
		members  string
		has, not []string
		counted  int
	}{
		{`"tools":[` + larkTool("p", lark) + `,` + fTool + `]`, []string{ebnf, f}, []string{"json_schema"}, 0},
		{`"tools":[` + larkTool("p", lark) + `,` + fTool + `],` + required, []string{ebnf, f, schema}, nil, 0},
		{`"tools":[` + larkTool("p", lark) + `,` + fStrict + `]`, []string{ebnf, f, "json_schema"}, nil, 0},
		{`"tools":[` + larkTool("p", lark) + `],"tool_choice":"none"`, nil, []string{"{"}, 0},
		{`"tools":[` + larkTool("p", lazy) + `,` + fTool + `]`, nil, []string{"{"}, 1},
		{`"tools":[` + larkTool("p", lazy) + `,` + larkTool("q", lark) + `]`, []string{ebnf, "functions.p"}, nil, 1},
		{`"tools":[` + larkTool("p", lazy) + `],` + required, []string{"functions.p"}, []string{`"grammar"`}, 1},
		{`"tools":[` + larkTool("p", whatever) + `,` + fTool + `]`, nil, []string{"{"}, 0},
	} {
		_, tag := sentFor(t, true, tt.members)
		for _, word := range tt.has {
			if !strings.Contains(tag, word) {
				t.Errorf("%s: no %s in %s", tt.members, word, tag)
			}
		}
		for _, word := range tt.not {
			if strings.Contains(tag, word) {
				t.Errorf("%s: %s in %s", tt.members, word, tag)
			}
		}
		x := testGateway(nil).Begin("POST", "/v1/chat/completions")
		x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+tt.members+`}`),
			Host{Now: testNow, ID: testID})
		if got := x.Report().UnenforcedGrammars; got != tt.counted && !strings.Contains(tt.members, required) {
			t.Errorf("%s: %d grammars counted, want %d", tt.members, got, tt.counted)
		}
	}
}

// TestGrammarBesideManyTools: a grammar is only shown where a tag has no room for all tools, since nothing was promised.
func TestGrammarBesideManyTools(t *testing.T) {
	g := testGateway(func(o *Options) {
		o.Models[0].StructuredOutputs = contract.StructuralTags
		o.Models[0].ContextLength = 1 << 20
	})
	for n, tagged := range map[int]bool{maxCallable - 1: true, maxCallable: false} {
		tools := larkTool("p", `start: "a"`)
		for i := range n {
			tools += "," + strings.Replace(gTool, `"g"`, `"g`+strconv.Itoa(i)+`"`, 1)
		}
		body := `{"model":"` + testModel + `","messages":[{"role":"user","content":"Hi"}],"tools":[` + tools + `]}`
		a := g.Begin("POST", "/v1/chat/completions").Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Forward == nil || strings.Contains(string(a.Forward.Body), "structural_tag") != tagged {
			t.Errorf("beside %d tools: %+v", n, a.Reply)
		}
	}
}
