package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// askedWith returns a body with a user's message and these members.
func askedWith(members string) string {
	return `{"model":"m",` + members + `"max_tokens":1,"messages":[` + last(userQ) + `]}`
}

// TestMessagesSettings: what the client sets reaches the answer.
func TestMessagesSettings(t *testing.T) {
	m := *messagesModel
	m.ServerExtras = []string{"top_k"}
	r, err := readWith(Messages, askedWith(`"stream":true,"temperature":0.5,"top_p":0.9,"top_k":40,`+
		`"stop_sequences":["a","","b"],`+
		`"thinking":{"type":"enabled","budget_tokens":1024},"tool_choice":{"type":"auto",`+
		`"disable_parallel_tool_use":true},`+
		`"metadata":{"user_id":"u"},"context_management":{"edits":[]},"service_tier":"auto",`), &m, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := &r.Sampling
	if got := fmt.Sprint(r.API, r.Stream, " ", s.MaxTokens, " ", s.Temperature, " ", s.TopP, s.Extras, r.Stop,
		*r.MaxReasoning, r.thinking,
		r.oneCall, r.sealed, r.Ignored.Any(), r.Choices); got !=
		"3 true 1 0.5 0.9[{top_k 40}] [a b] 1024 1 true true false 1" {
		t.Error(got)
	}
	if r.CountedPrompt(7); r.promptTokens != 7 {
		t.Error(r.promptTokens)
	}
}

// TestMessagesThinking: what the client is shown of the reasoning, and how much there is.
func TestMessagesThinking(t *testing.T) {
	for _, tt := range []struct {
		members, none, xhigh string
		thinking             anthropic.Thinking
		effort               harmony.Effort
	}{
		{members: ``, effort: harmony.Medium},
		{members: `"thinking":null,`, effort: harmony.Medium},
		{members: `"thinking":{"type":"adaptive"},`, thinking: anthropic.ThinkingShown, effort: harmony.Medium},
		{members: `"thinking":{"type":"adaptive","display":"updates"},`, thinking: anthropic.ThinkingShown,
			effort: harmony.Medium},
		{members: `"thinking":{"type":"adaptive","display":"omitted"},`, thinking: anthropic.ThinkingOmitted,
			effort: harmony.Medium},
		{members: `"thinking":{"type":"enabled","budget_tokens":10},`, thinking: anthropic.ThinkingShown,
			effort: harmony.Medium},
		{members: `"thinking":{"type":"between_tools"},`, thinking: anthropic.ThinkingShown, effort: harmony.Medium},
		{members: `"thinking":{"type":"disabled"},`, effort: harmony.Low},
		{members: `"thinking":{"type":"disabled"},"output_config":{"effort":"max"},`, none: "medium",
			effort: harmony.Medium},
		{members: `"output_config":{"effort":"low"},`, effort: harmony.Low},
		{members: `"output_config":{"effort":"xhigh"},`, effort: harmony.High},
		{members: `"output_config":{"effort":"max"},`, effort: harmony.High},
		{members: `"output_config":{"effort":"max"},`, xhigh: "medium", effort: harmony.Medium},
	} {
		m := *messagesModel
		m.ReasoningEfforts = contract.Efforts{None: tt.none, XHigh: tt.xhigh}
		r, err := readWith(Messages, askedWith(tt.members), &m, testEnv)
		if err != nil || r.thinking != tt.thinking || r.effort != tt.effort {
			t.Errorf("%s: %v %+v", tt.members, err, r)
		}
	}
}

// TestMessagesIgnored: what the model does not get is counted, and never an error.
func TestMessagesIgnored(t *testing.T) {
	for _, tt := range []struct {
		body string
		want openai.Ignored
	}{
		{askedWith(`"system":[{"type":"text","text":"x-anthropic-billing-header: a"},{"type":"image"}],`),
			openai.Ignored{openai.IgnoredBilling: 1, openai.IgnoredUnknown: 1}},
		{askedWith(`"unheard_of":1,"another":{},`), openai.Ignored{openai.IgnoredMember: 2}},
		{`{"model":"m","max_tokens":1,"messages":[` + userQ +
			`{"role":"assistant","content":[{"type":"server_tool_use"},` +
			`{"type":"redacted_thinking","data":"Ev9"},{"type":"thinking","thinking":"t","signature":"Ev9"},` +
			`{"type":"text","text":"a"}]},` +
			`{"role":"system","content":[{"type":"unheard_of","tool":{}},{"type":"tool_reference",` +
			`"tool_name":"gone"}]}]}`,
			openai.Ignored{openai.IgnoredUnknown: 3, openai.IgnoredReasoning: 1, openai.IgnoredSignature: 1}},
	} {
		env := testEnv
		env.Sealing = sealing(t, 60)
		r, err := readWith(Messages, tt.body, messagesModel, env)
		if err != nil || r.Ignored != tt.want {
			t.Errorf("%s: %v %v", tt.body, err, r)
		}
	}
}

// TestMessagesSeals: reasoning that the gateway has sealed is what the model gets, and a seal that does not open is no
// error.
func TestMessagesSeals(t *testing.T) {
	s := sealing(t, 60)
	sealed := func(form seal.Form, text []byte) string {
		out := s.sealAs(form, text, "m", testEnv.Now)
		return string(out[1 : len(out)-1])
	}
	v := o200k.Tokenizer()
	ids := v.AppendEncodeSpecial(nil, "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>")
	packed := appendAllPacked(appendPacked(nil, uint32(len(ids))), ids)
	const said, nothing = "assistant|analysis: Hm.\n", ""
	for _, tt := range []struct {
		name, block string
		later       int64
		want        string
		ignored     openai.Ignored
	}{
		{"a text", `{"type":"thinking","thinking":"forged","signature":"` + sealed(seal.Text, []byte("Hm.")) + `"}`,
			0, said,
			openai.Ignored{}},
		{"ids", `{"type":"thinking","thinking":"","signature":"` + sealed(seal.Message, packed) + `"}`, 0, said,
			openai.Ignored{}},
		{"redacted", `{"type":"redacted_thinking","data":"` + sealed(seal.Text, []byte("Hm.")) + `"}`, 0, said,
			openai.Ignored{}},
		{"an empty signature", `{"type":"thinking","thinking":"Hm.","signature":""}`, 0, said, openai.Ignored{}},
		{"no signature", `{"type":"thinking","thinking":"Hm."}`, 0, said, openai.Ignored{}},
		{"foreign", `{"type":"thinking","thinking":"Hm.","signature":"EuYBCkQYBCKkYB"}`, 0, said,
			openai.Ignored{openai.IgnoredSignature: 1}},
		{"foreign and redacted", `{"type":"redacted_thinking","data":"EuYBCkQYBCKkYB"}`, 0, nothing,
			openai.Ignored{openai.IgnoredReasoning: 1}},
		{"too old", `{"type":"thinking","thinking":"Hm.","signature":"` + sealed(seal.Text, []byte("x")) + `"}`, 61,
			said,
			openai.Ignored{openai.IgnoredSignature: 1}},
		{"too old and redacted", `{"type":"redacted_thinking","data":"` + sealed(seal.Text, []byte("x")) + `"}`, 61,
			nothing,
			openai.Ignored{openai.IgnoredReasoning: 1}},
		{"unreadable ids", `{"type":"thinking","thinking":"Hm.","signature":"` + sealed(seal.Message, []byte{9}) +
			`"}`, 0, said,
			openai.Ignored{openai.IgnoredSignature: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"model":"m","max_tokens":1,"tools":[` + toolF + `],"messages":[` + userQ +
				`{"role":"assistant","content":[` +
				tt.block + `,` + useF + `]},{"role":"user","content":[` + resultOf + `}]}]}`
			env := testEnv
			env.Sealing, env.Tokenizer, env.Now = s, v, env.Now+tt.later
			r, err := readWith(Messages, body, messagesModel, env)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(&r.Conversation)
			got = got[strings.Index(got, "user: q\n")+len("user: q\n") : strings.Index(got, "assistant|commentary")]
			if got != tt.want || r.Ignored != tt.ignored {
				t.Errorf("got %q, %v", got, r.Ignored)
			}
			if _, err := readWith(MessagesChat, body, chatModel("both"), env); err != nil {
				t.Error(err)
			}
		})
	}
}

const (
	searcher    = `{"name":"ToolSearch","input_schema":{"type":"object"}}`
	searchToolR = `{"type":"function","name":"ToolSearch","parameters":{"type":"object"}}`
	deferredG   = `{"name":"g","description":"G.","input_schema":{"type":"object"},"defer_loading":true}`
	deferredRG  = `{"type":"function","name":"g","description":"G.","parameters":{"type":"object"}}`
	searched    = userQ + `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ToolSearch",` +
		`"input":{"query":"g"}}]},`
	searchedR = userQ + `{"type":"function_call","call_id":"c","name":"ToolSearch","arguments":"{\"query\":\"g\"}"},`
)

// TestMessagesDeferredTools: deferred tools are hidden until a message names them, and declared there.
func TestMessagesDeferredTools(t *testing.T) {
	const found = `"1 tool was found. It can be called from now on."`
	reference := `{"role":"user","content":[` + resultOf + `,"content":[{"type":"tool_reference","tool_name":"g"}]}]}`
	for _, tt := range []struct{ name, tools, messages, otherTools, input string }{
		{"hidden", searcher + `,` + deferredG, last(userQ), searchToolR, last(userQ)},
		{"nothing finds them", deferredG, last(userQ), deferredRG, last(userQ)},
		{"only Anthropic finds them", searcher +
			`,{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"},` + deferredG,
			last(userQ), searchToolR + `,` + deferredRG, last(userQ)},
		{"a placeholder", searcher + `,{"name":"DeferredToolPlaceholder","input_schema":{"type":"object"},` +
			`"defer_loading":true}`, last(userQ),
			searchToolR, last(userQ)},
		{"found", searcher + `,` + deferredG, searched + reference,
			searchToolR, searchedR + outputOf + found +
				`},{"type":"additional_tools","role":"developer","tools":[` + deferredRG + `]}`},
		{"found twice", searcher + `,` + deferredG, searched + reference +
			`,{"role":"assistant","content":"a"},` + searched + reference,
			searchToolR, searchedR + outputOf + found +
				`},{"type":"additional_tools","role":"developer","tools":[` + deferredRG + `]},` +
				`{"role":"assistant","content":"a"},` + searchedR + outputOf + found + `}`},
		{"not found", searcher + `,` + deferredG, searched + strings.ReplaceAll(reference, `"g"`, `"h"`),
			searchToolR, searchedR + outputOf + `"No tools were found."}`},
		{"found beside a text", searcher + `,` + deferredG, searched + strings.Replace(reference,
			`[{"type":"tool_ref`, `[{"type":"text","text":"See:"},{"type":"tool_ref`, 1),
			searchToolR, searchedR + outputOf + `"See:\n1 tool was found. It can be called from now on."},` +
				`{"type":"additional_tools","role":"developer","tools":[` + deferredRG + `]}`},
		{"added", searcher + `,` + deferredG, userQ + `{"role":"system","content":[{"type":"text","text":"s"},` +
			`{"type":"tool_addition","tool":{"type":"tool_reference","name":"g"}},{"type":"text","text":"t"}]}`,
			searchToolR, userQ + `{"role":"developer","content":"s"},{"type":"additional_tools","role":"developer",` +
				`"tools":[` + deferredRG + `]},{"role":"developer","content":"t"}`},
		{"added whole", searcher, userQ + `{"role":"system","content":[{"type":"tool_addition",` +
			`"tool":{"type":"tool_definition","definition":` +
			deferredG + `}}]},` + last(userQ), searchToolR, userQ +
			`{"type":"additional_tools","role":"developer","tools":[` + deferredRG + `]},` + last(userQ)},
		{"added in front", searcher + `,` + deferredG,
			`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"g"}}]},` +
				last(userQ),
			searchToolR + `,` + deferredRG, last(userQ)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages := `{"model":"m","tools":[` + tt.tools + `],"max_tokens":1,"messages":[` + tt.messages + `]}`
			responses := `{"model":"m","tools":[` + tt.otherTools + `],"input":[` + tt.input + `]}`
			checkEqual(t, messages, responses, messagesModel, testEnv)
			if got, want := spokenOf(t, MessagesChat, messages, testEnv), spokenOf(t, ResponsesChat, responses,
				testEnv); got != want {
				t.Errorf("chat: got\n%s\nwant\n%s", got, want)
			}
			env := testEnv
			env.Tools = &ToolMemory{}
			for range 2 { // read, and remembered
				checkEqual(t, messages, responses, messagesModel, env)
			}
		})
	}
	named, err := readWith(Messages, `{"model":"m","tools":[`+searcher+`,`+deferredG+`],`+
		`"tool_choice":{"type":"tool","name":"g"},`+
		`"max_tokens":1,"messages":[`+last(userQ)+`]}`, messagesModel, testEnv)
	if err != nil || callable(named.tools, false) != "ToolSearch g" {
		t.Errorf("%v %v", named, err)
	}
}

// askedSystem returns a body that ends with a block of the system's.
func askedSystem(block string) string {
	return `{"model":"m","max_tokens":1,"messages":[` + userQ + systemOf(block) + `]}`
}

// TestMessagesErrors: what is refused, and where it is.
func TestMessagesErrors(t *testing.T) {
	inMessage := func(block string) string {
		return `{"model":"m","max_tokens":1,"messages":[` + userQ +
			`{"role":"user","content":[{"type":"text","text":"t"},` + block + `]}]}`
	}
	for _, tt := range []struct{ body, param, message string }{
		{`{"model":"m","messages":[` + last(userQ) + `]}`, "max_tokens", "Field required"},
		{strings.Replace(askedWith(""), `"max_tokens":1`, `"max_tokens":0`, 1), "max_tokens",
			"Input should be greater than or equal to 1"},
		{strings.Replace(askedWith(""), `"max_tokens":1`, `"max_tokens":1.5`, 1), "max_tokens",
			"Input should be a valid integer"},
		{strings.Replace(askedWith(""), `"max_tokens":1`, `"max_tokens":-99999999999999999999999`, 1), "max_tokens",
			"Input should be greater"},
		{`{"model":"m","max_tokens":1}`, "messages", "Field required"},
		{`{"model":"m","max_tokens":1,"messages":"q"}`, "messages", "Input should be a valid array"},
		{`{"model":"m","max_tokens":1,"messages":[]}`, "messages", "at least one message is required"},
		{`{"model":"m","max_tokens":1,"messages":[1]}`, "messages.0", "Input should be a valid object"},
		{`{"model":"m","max_tokens":1,"messages":[{"content":"q"}]}`, "messages.0.role", "Field required"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"q"}]}`, "messages.0.role",
			"Input should be 'user', 'assistant' or 'system'"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user"}]}`, "messages.0.content", "Field required"},
		{`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":5}]}`, "messages.0.content",
			"Input should be a valid string or array"},
		{inMessage(`7`), "messages.1.content.1", "Input should be a valid object"},
		{inMessage(`{}`), "messages.1.content.1.type", "Field required"},
		{inMessage(`{"type":"text"}`), "messages.1.content.1.text", "Field required"},
		{inMessage(`{"type":"text","text":null}`), "messages.1.content.1.text", "Input should be a valid string"},
		{inMessage(`{"type":"tool_use","name":"f"}`), "messages.1.content.1.id", "Field required"},
		{inMessage(`{"type":"tool_use","id":"c","name":"f f"}`), "messages.1.content.1.name", "without spaces"},
		{inMessage(`{"type":"tool_result","tool_use_id":"c"}`), "messages.1.content.1.tool_use_id",
			"no call before it has this id"},
		{inMessage(`{"type":"tool_result","tool_use_id":"c","is_error":1}`), "messages.1.content.1.is_error",
			"Input should be a valid boolean"},
		{inMessage(`{"type":"tool_result","tool_use_id":"c","content":[{"type":"text"}]}`),
			"messages.1.content.1.content.0.text", "Field required"},
		{inMessage(`{"type":"image"}`), "messages.1.content.1.source", "Input should be a valid object"},
		{inMessage(`{"type":"image","source":{"type":"base64"}}`), "messages.1.content.1.source.data",
			"Field required"},
		{inMessage(`{"type":"thinking","signature":5}`), "messages.1.content.1.signature",
			"Input should be a valid string"},
		{inMessage(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"bash_20250124",` +
			`"name":"bash"}}}`),
			"messages.1.content.1.tool.definition", "bash_20250124"},
		{askedSystem(`{"type":"tool_removal"}`), "messages.1.content.0.tool", "Input should be a valid object"},
		{askedSystem(`{"type":"tool_removal","tool":{"type":"tool_reference"}}`),
			"messages.1.content.0.tool.tool_name", "Field required"},
		{askedWith(`"system":5,`), "system", "Input should be a valid string or array"},
		{askedWith(`"thinking":{},`), "thinking.type", "Field required"},
		{askedWith(`"thinking":{"type":"enabled","budget_tokens":-1},`), "thinking.budget_tokens",
			"greater than or equal to 0"},
		{askedWith(`"output_config":{"effort":"ultra"},`), "output_config.effort",
			"does not support the effort parameter"},
		{askedWith(`"output_config":{"format":{"type":"json_schema"}},`), "output_config.format.schema",
			"Field required"},
		{askedWith(`"output_config":{"format":{"type":"json_schema","schema":[]}},`), "output_config.format.schema",
			"object"},
		{askedWith(`"stop_sequences":"a",`), "stop_sequences", "Input should be a valid array"},
		{askedWith(`"stop_sequences":["` + strings.Repeat("a", 1025) + `"],`), "stop_sequences.0",
			"at most 1024 bytes"},
		{askedWith(`"stop_sequences":[` + strings.Repeat(`"a",`, 64) + `"a"],`), "stop_sequences", "at most 64 items"},
		{askedWith(`"temperature":3,`), "temperature", "expected a value between 0 and 2"},
		{askedWith(`"tool_choice":{"type":"any"},`), "tool_choice", "'tools'"},
		{askedWith(`"tool_choice":{"type":"one"},`), "tool_choice.type",
			"Input should be 'auto', 'any', 'tool' or 'none'"},
		{askedWith(`"tool_choice":{"type":"tool"},`), "tool_choice.name", "Field required"},
		{askedWith(`"tools":[` + toolF + `,` + toolF + `],`), "tools", "Tool names must be unique"},
		{askedWith(`"tools":[{"name":"a b"}],`), "tools.0.name", "String should match pattern"},
		{askedWith(`"tools":[` + toolF + `,{"type":"web_search_20250305","name":"web_search"}],`), "tools.1",
			"'web_search_20250305' is not run here"},
		{askedWith(`"tools":[{"name":"a","input_schema":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`,
			40) + `}],`), "tools.0.input_schema", "32 levels"},
		{askedWith(`"mcp_servers":[{"url":"x"}],`), "mcp_servers", "MCP servers are not called here"},
	} {
		_, err := readWith(Messages, tt.body, messagesModel, testEnv)
		if err == nil || err.Status != 400 || err.Param != tt.param || !strings.Contains(err.Message, tt.message) {
			t.Errorf("%s: %+v", tt.body, err)
		}
	}
	counting := testEnv
	counting.Counting = true
	if _, err := readWith(Messages, `{"model":"m","messages":[`+last(userQ)+`]}`, messagesModel, counting); err != nil {
		t.Error(err)
	}
	for block, want := range map[string]string{
		`{"type":"image","source":{"type":"url",` +
			`"url":"x"}}`: "capability_rejected: image_block",
		`{"type":"document","source":{"type":"base64","data":"AA==",` +
			`"media_type":""}}`: "capability_rejected: document_block",
	} {
		if _, err := readWith(Messages, inMessage(block), testModel,
			testEnv); err == nil || err.Message != want || err.Param != "" {
			t.Errorf("%s: %+v", block, err)
		}
	}
	for block, want := range map[string]string{
		`{"type":"image","source":{"type":"file","file_id":"x"}}`: "no files are stored",
		`{"type":"document","source":{"type":"url","url":"x"}}`:   "base64 only",
	} {
		if _, err := readWith(MessagesChat, inMessage(block), chatModel("both"), testEnv); err == nil ||
			err.Param != "messages.1.content.1" || !strings.Contains(err.Message, want) {
			t.Errorf("%s: %+v", block, err)
		}
	}
}

// TestLargeMessages: what costs memory or time beside its text is bounded, with an error of its own.
func TestLargeMessages(t *testing.T) {
	list := func(n int, element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	numbered := func(n int, element string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(element, i))
		}
		return strings.Join(all, ",")
	}
	message := func(content string) string { return `{"role":"user","content":` + content + `}` }
	body := func(members, messages string) string {
		return `{"model":"m","max_tokens":1,` + members + `"messages":[` + messages + `]}`
	}
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	const textBlock = `{"type":"text","text":"t"}`
	big := `{"name":"g","description":"` + strings.Repeat("d", 1<<20) +
		`","input_schema":{"type":"object"},"defer_loading":true}`
	addition := func(tool string) string { return `{"type":"tool_addition","tool":` + tool + `}` }
	for _, tt := range []struct{ name, body, code string }{
		{"10,000 messages", body("", list(10_000, message(`"q"`))), ""},
		{"more messages than a context has room for", body("", list(openai.MaxEntries+1, message(`"q"`))),
			contract.CodeContextLengthExceeded},
		{"100,000 blocks", body("", message("["+list(100_000, textBlock)+"]")), contract.CodeContextLengthExceeded},
		{"100,000 unknown blocks", body("", message("["+list(100_000, `{"type":"x"}`)+"]")),
			contract.CodeContextLengthExceeded},
		{"100,000 empty messages", body("", list(100_000, message(`[]`))), contract.CodeContextLengthExceeded},
		{"100,000 parts", body("", message(`[{"type":"tool_result","tool_use_id":"c","content":[`+list(100_000,
			textBlock)+`]}]`)), contract.CodeContextLengthExceeded},
		{"100,000 parts of a document", body("", message(`[{"type":"document","source":{"type":"content",`+
			`"content":[`+list(100_000, textBlock)+`]}}]`)), contract.CodeContextLengthExceeded},
		{"100,000 system blocks", body(`"system":[`+list(100_000, textBlock)+`],`, last(userQ)),
			contract.CodeContextLengthExceeded},
		{"texts around calls", body("", message(`"q"`)+`,{"role":"assistant","content":[`+list(8_000,
			textBlock+`,{"type":"tool_use","id":"c","name":"f"}`)+`]}`), ""},
		{"tools of 3 MiB", body(`"tools":[`+list(3, big)+`],`, last(userQ)), contract.CodeInvalidValue},
		{"a large tool in turns with another", body(`"tools":[`+searcher+`,`+big+`],`, userQ+message(`[`+
			list(4, addition(`{"type":"tool_reference","name":"g"}`)+`,`+addition(`{"type":"tool_definition",`+
				`"definition":{"name":"g"}}`))+`]`)),
			contract.CodeInvalidValue},
		{"large tools of messages", body(`"tools":[`+searcher+`],`, userQ+message(`[`+
			addition(`{"type":"tool_definition","definition":`+big+`}`)+`,`+addition(`{"type":"tool_definition",`+
			`"definition":`+big+`}`)+`]`)),
			contract.CodeInvalidValue},
		{"a large tool withdrawn and offered again", body(`"tools":[`+searcher+`,`+big+`],`, userQ+
			list(3, systemOf(change("tool_addition", "g"), change("tool_removal", "g")))),
			contract.CodeInvalidValue},
		{"7,000 tools withdrawn and offered again", body(`"tools":[`+numbered(7_000, `{"name":"t%d"}`)+`],`, userQ+
			systemOf(numbered(7_000, change("tool_removal", "t%d")+`,`+change("tool_addition", "t%[1]d")))), ""},
		{"a deep input", body("", message(`"q"`)+`,{"role":"assistant","content":[{"type":"tool_use","id":"c",`+
			`"name":"f","input":`+deep(100)+`}]}`), ""},
		{"a deeper input", body("", `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f",`+
			`"input":`+deep(rawjson.MaxDepth)+`}]}`),
			contract.CodeMaxDepthExceeded},
	} {
		_, err := readWith(Messages, tt.body, messagesModel, testEnv)
		if code := codeOf(err); code != tt.code {
			t.Errorf("%s: %q", tt.name, code)
		}
		if _, err := readWith(MessagesChat, tt.body, chatModel("both"), testEnv); codeOf(err) != tt.code {
			t.Errorf("%s, chat: %v", tt.name, err)
		}
	}
	if _, err := openai.OpenWithin([]byte(body(`"x":[`+list(1_000_000, "1")+`],`, last(userQ))),
		openai.MaxValues); codeOf(err) !=
		contract.CodeMaxValuesExceeded {
		t.Error(err)
	}
	for _, name := range []string{"messages", "model", "stream"} {
		if _, err := readWith(Messages, body(`"`+name+`":1,"`+name+`":1,`, last(userQ)), messagesModel,
			testEnv); codeOf(err) !=
			contract.CodeDuplicateKey {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	if r, err := readWith(Messages, body(`"system":"a","system":"b","max_tokens":1099511627776,`,
		last(userQ)), messagesModel,
		testEnv); err != nil || !strings.Contains(dump(&r.Conversation), "{b}") {
		t.Errorf("%v: the last one counts", err)
	}
}

func codeOf(err *openai.Error) string {
	if err == nil {
		return ""
	}
	return err.Code
}

// claudeCode is a request in the shape of Claude Code 2.1.332. version is what differs between its sessions.
func claudeCode(version string, messages string) string {
	return `{"model":"m","max_tokens":32000,"stream":true,"system":[{"type":"text",` +
		`"text":"x-anthropic-billing-header: ` +
		`cc_version=2.1.332.` + version + `; cc_entrypoint=cli;"},{"type":"text","text":"You are Claude Code."},` +
		`{"type":"text","text":"Rules.","cache_control":{"type":"ephemeral"}}],"tools":[` + toolF + `,` + searcher +
		`,` +
		deferredG + `],"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"},` +
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
		`"metadata":{"user_id":"{\"device_id\":\"` + version + `\",\"session_id\":\"s\"}"},"messages":[` +
		messages + `]}`
}

// TestMessagesOfClaudeCode: what differs between its sessions or moves from turn to turn is not in the prompt, and
// nothing but the billing line is counted.
func TestMessagesOfClaudeCode(t *testing.T) {
	const (
		question = `{"role":"user","content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},` +
			`{"type":"text","text":"What is in a?"MARK}]},{"role":"system","content":"Environment."}`
		called = `,{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":""},` +
			`{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"toolu_1","content":"r"MARK}]}`
		mark = `,"cache_control":{"type":"ephemeral"}`
	)
	var prompts [][]uint32
	for _, body := range []string{
		claudeCode("abc", strings.ReplaceAll(question, "MARK", mark)),
		claudeCode("def", strings.ReplaceAll(question, "MARK", mark)),
		claudeCode("abc", strings.ReplaceAll(question, "MARK", "")+strings.ReplaceAll(called, "MARK", mark)),
	} {
		r, err := readWith(Messages, body, messagesModel, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if want := (openai.Ignored{openai.IgnoredBilling: 1}); r.Ignored != want || r.effort != harmony.High ||
			r.thinking != anthropic.ThinkingOmitted || r.Sampling.MaxTokens != 32000 {
			t.Errorf("%+v", r)
		}
		prompts = append(prompts, rendered(t, &r.Conversation, harmony.DropBeforeLastFinal))
	}
	if !slices.Equal(prompts[0], prompts[1]) {
		t.Error("two sessions have different prompts")
	}
	if !slices.Equal(prompts[2][:len(prompts[0])], prompts[0]) {
		t.Error("the second request has another prefix")
	}
}
