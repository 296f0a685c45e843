package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// searchBlocks are a call of a search and its result in the form of Messages.
func searchBlocks(id, input, content string) string {
	return `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":` + input + `},` +
		`{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":` + content + `}`
}

// pairItems are a call and its result in the form of Responses.
func pairItems(id, name, arguments, output string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":` + name + `,"arguments":` + quoted(arguments) + `},` +
		`{"type":"function_call_output","call_id":"` + id + `","output":` + quoted(output) + `}`
}

// TestMessagesServedLikeResponses: what a server has run in earlier turns has the ids that it has by Responses, whether
// a seal has the call, or another service has made it. The tools need not be declared.
func TestMessagesServedLikeResponses(t *testing.T) {
	env := testEnv
	env.Sealing, env.Tokenizer = sealing(t, 60), o200k.Tokenizer()
	opened := Searched{Name: "browser.open", Arguments: `{"id": 3}`, Output: "[1] Tea\n**viewing** \u2028é", Chain: "c"}
	page := func(sealed string) string {
		return `{"type":"web_search_result","url":"https://a.b/\u00e9","title":"T","encrypted_content":` + quoted(sealed) +
			`,"page_age":null}`
	}
	other := env.Sealing
	other.Tenant = "other"
	const browser = `"tools":[{"type":"builtin","name":"browser"}],"tool_choice":"none",`
	const foreign = "T\nhttps://a.b/é\n"
	const user, more = `{"role":"user","content":"q"},`, `,{"role":"user","content":"and?"}`
	const final = `,{"type":"text","text":"It is."}`
	const finalItem = `,{"role":"assistant","phase":"final_answer","content":"It is."}`
	clear := Sealing{}
	for name, tt := range map[string]struct{ blocks, beside, items string }{
		"sealed": {searchBlocks("s1", `{"id":3}`, `[`+page(string(env.Sealing.SealSearched(&opened)))+`,`+page("")+`]`),
			browser, pairItems("s1", `"browser.open"`, opened.Arguments, opened.Output)},
		"clear": {searchBlocks("s1", `{"id":3}`, `[`+page(string(clear.SealSearched(&opened)))+`]`), browser,
			pairItems("s1", `"browser.open"`, opened.Arguments, opened.Output)},
		"another tenant's": {searchBlocks("s1", `{"query": "tea"}`, `[`+page(string(other.SealSearched(&opened)))+`]`),
			browser, pairItems("s1", `"browser.search"`, `{"query":"tea"}`, foreign)},
		"foreign": {searchBlocks("s1", `{"query":"tea"}`, `[`+page("EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5")+`,`+page("")+`]`),
			browser, pairItems("s1", `"browser.search"`, `{"query":"tea"}`, foreign+foreign)},
		"failed": {searchBlocks("s1", `{"query":"tea"}`,
			`{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}`), browser,
			pairItems("s1", `"browser.search"`, `{"query":"tea"}`, "Error: max_uses_exceeded")},
		"opened elsewhere": {searchBlocks("s1", `{"cursor":1}`, `[]`) + `,` +
			searchBlocks("s2", `{"pattern":"x","cursor":1}`, `[]`), browser, pairItems("s1", `"browser.open"`, `{"cursor":1}`,
			"") + `,` +
			pairItems("s2", `"browser.find"`, `{"pattern":"x","cursor":1}`, "")},
		"an MCP server's": {`{"type":"mcp_tool_use","id":"m","name":"a b","server_name":"9 s","input":{"x": 1}},` +
			`{"type":"mcp_tool_result","tool_use_id":"m","is_error":true,"content":[{"type":"text","text":"one"},` +
			`{"type":"text","text":" two"}]}`, "", pairItems("m", `"a_b","namespace":"s9_s"`, `{"x":1}`, "one two")},
		"an MCP server's text": {`{"type":"mcp_tool_use","id":"m","name":"a","server_name":"s","input":{}},` +
			`{"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":"one"}`, "",
			pairItems("m", `"a","namespace":"s"`, `{}`, "one")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, said := range []string{"", "Hm."} {
				block, item := "", ""
				if said != "" {
					block = `{"type":"text","text":"Hm."},`
					item = `{"role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Hm."}]},`
				}
				// In the turn that goes on, and behind its answer.
				for _, ends := range [][2]string{{"", ""}, {final, finalItem}} {
					m := `{"model":"m","max_tokens":9,"messages":[` + user + `{"role":"assistant","content":[` + block + tt.blocks +
						ends[0] + `]}` + more + `]}`
					r := `{"model":"m",` + tt.beside + `"input":[` + user + item + tt.items + ends[1] + more + `]}`
					checkEqual(t, m, r, messagesModel, env)
					if got, want := spokenOf(t, MessagesChat, m, env), spokenOf(t, ResponsesChat, r, env); got != want {
						t.Errorf("chat: got\n%s\nwant\n%s", got, want)
					}
				}
			}
		})
	}
}

// TestMessagesServedOdd: blocks of a server that are not of their form, and results without a call, are counted and
// nothing else.
func TestMessagesServedOdd(t *testing.T) {
	const use = `{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`
	for _, tt := range []struct {
		blocks  string
		unknown int
	}{
		{`{"type":"server_tool_use"}`, 1},
		{`{"type":"server_tool_use","id":7,"name":"web_search"}`, 1},
		{`{"type":"server_tool_use","id":"s","name":"web_fetch","input":{}},` +
			`{"type":"web_fetch_tool_result","tool_use_id":"s","content":{}}`, 2},
		{`{"type":"mcp_tool_use","id":"s","name":"n"}`, 1},
		{`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, 1},
		{`{"type":"mcp_tool_result","tool_use_id":"s","content":"x"}`, 1},
		{use + `,{"type":"web_search_tool_result","tool_use_id":"t","content":[]}`, 1},
		{use + `,{"type":"web_search_tool_result","tool_use_id":"s","content":7}`, 0},
		{use + `,{"type":"web_search_tool_result","tool_use_id":"s","content":[7,{"title":7},` +
			`{"encrypted_content":"clear.!"},{"encrypted_content":"clear.e30"}]}`, 0},
		{`{"type":"tool_use","id":"s","name":"f","input":{}},` +
			`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, 1},
	} {
		r, err := readWith(Messages, askedWith("")[:len(askedWith(""))-2]+`,{"role":"assistant","content":[`+tt.blocks+
			`,{"type":"text","text":"a"}]},{"role":"user","content":"q"}]}`, messagesModel, testEnv)
		if err != nil {
			t.Errorf("%s: %v", tt.blocks, err)
			continue
		}
		if got := r.Ignored[openai.IgnoredUnknown]; got != tt.unknown {
			t.Errorf("%s: %d are unknown, want %d", tt.blocks, got, tt.unknown)
		}
	}
}

// TestMessagesServedMany: many results that look for their calls take no time of the square of their number.
func TestMessagesServedMany(t *testing.T) {
	var b strings.Builder
	const n = 8000
	for i := range n {
		fmt.Fprintf(&b, `{"type":"server_tool_use","id":"s%d","name":"web_search"},`, i)
	}
	for i := range n {
		fmt.Fprintf(&b, `{"type":"web_search_tool_result","tool_use_id":"s%d","content":[]},`, i)
	}
	r, err := readWith(Messages, `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[`+b.String()+
		`{"type":"text","text":"a"}]}]}`, messagesModel, testEnv)
	if err != nil || r.Ignored[openai.IgnoredUnknown] < n-maxServedBack {
		t.Errorf("%v", err)
	}
}
