package translate

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// FuzzAppendConversation checks that a request to servers is valid JSON, that it has every text of the client's, and
// that each result follows a call.
func FuzzAppendConversation(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","instructions":"a","input":[{"role":"developer","content":"b"},` +
			`{"role":"user","content":"\u0001\ud83d\ude00"}]}`,
		`{"model":"m","input":[` + reasoning("r") + message("t") + call + `{"type":"function_call_output","call_id":"c",` +
			`"output":[{"type":"input_text","text":"o"},{"type":"input_image","image_url":"u\n"}]}],"tools":[` +
			`{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f"}]},` +
			`{"type":"builtin","name":"browser"},{"type":"custom","name":"f"}],"tool_choice":"required"}`,
		`{"model":"m","input":[{"type":"custom_tool_call","call_id":"c","name":"f","input":"\"\\\u0007é"},` +
			`{"type":"function_call","call_id":"d","name":"g","arguments":"{\"a\":"},{"type":"mcp_call","name":"h",` +
			`"arguments":"{}","output":"x"},{"type":"local_shell_call","call_id":"s","action":{"command":["ls"]}}],` +
			`"text":{"format":{"type":"json_schema","name":"n","schema":{}},"verbosity":"low"},` +
			`"chat_template_kwargs":{"b":1},"structured_outputs":null}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"file","file":{"file_data":"d","filename":"f"}},` +
			`{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]},{"role":"assistant"}],"guided_regex":"a"}`,
	} {
		for settings := range uint8(8) {
			f.Add(seed, settings)
		}
	}
	f.Fuzz(func(t *testing.T, body string, settings uint8) { checkConversation(t, body, settings) })
}

// checkConversation reports whether the body is accepted.
func checkConversation(t *testing.T, body string, settings uint8) bool {
	histories := [...]string{
		contract.ReasoningBoth, contract.ReasoningThinkTags, contract.ReasoningOnly, contract.ReasoningContentOnly,
	}
	opened, failure := openai.OpenWithin([]byte(body), 1<<12)
	if failure != nil {
		return false
	}
	m := chatModel(histories[settings&3])
	m.Chat.TemplateKwargs, m.ExtraBody = `{"a":1}`, `{"verbosity":"high","x":[]}`
	if settings&4 != 0 {
		m.Chat.ThinkTags, m.Chat.DeveloperRole = contract.ThinkAnywhere, contract.DeveloperKeep
	}
	r, failure := ResponsesChat(opened, m, Env{ID: "x"})
	if failure != nil {
		if failure.Status != 400 || failure.Code == "" || failure.Message == "" {
			t.Fatalf("%q: %+v", body, failure)
		}
		return false
	}
	out := r.AppendConversation([]byte(`{"model":"m"`))
	var request struct {
		Model    string
		Messages []struct {
			Role       string
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
			ToolCallID *string               `json:"tool_call_id"`
		}
	}
	var value any
	out = append(out, '}')
	if err := json.Unmarshal(out, &request); err != nil {
		t.Fatalf("%q: %s: %v", body, out, err)
	}
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, message := range request.Messages {
		for _, call := range message.ToolCalls {
			made[call.ID] = true
		}
		if (message.Role == openai.RoleTool) != (message.ToolCallID != nil) ||
			message.ToolCallID != nil && !made[*message.ToolCallID] {
			t.Fatalf("%q: a result has no call: %s", body, out)
		}
	}
	sent := strings.Join(textsIn(nil, value), "\x00")
	for _, text := range textsOf(t, body) {
		if !strings.Contains(sent, text) {
			t.Fatalf("%q: %q is lost: %s", body, text, out)
		}
	}
	return true
}

// TestRandomConversations checks conversations of all kinds of items in any order.
func TestRandomConversations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"", "a", "</think>", "{}", `{"input":"x"}`, "\n", " b ", `"`, `\`, "\x01", "é", "😀", "<|end|>",
		"}"}
	text := func() string {
		s := ""
		for range random.IntN(4) {
			s += pieces[random.IntN(len(pieces))]
		}
		return string(rawjson.AppendString(nil, s))
	}
	parts := func() string {
		part := func() string {
			switch random.IntN(4) {
			case 0:
				return `{"type":"input_image","image_url":"i` + escaped(pieces[random.IntN(len(pieces))]) + `"}`
			case 1:
				return `{"type":"input_file","file_data":` + text() + `,"filename":` + text() + `}`
			default:
				return `{"type":"input_text","text":` + text() + `}`
			}
		}
		list := make([]string, random.IntN(4))
		for i := range list {
			list[i] = part()
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	accepted := 0
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		var items, calls []string
		for i := range 1 + random.IntN(12) {
			id := "c" + strconv.Itoa(i)
			switch random.IntN(9) {
			case 0:
				items = append(items, `{"role":"user","content":`+text()+`}`)
			case 1:
				items = append(items, `{"role":"user","content":`+parts()+`}`)
			case 2:
				items = append(items, `{"role":"`+[]string{"system", "developer"}[random.IntN(2)]+`","content":`+text()+`}`)
			case 3:
				items = append(items, `{"type":"message","role":"assistant","content":`+text()+`}`)
			case 4:
				items = append(items, `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":`+text()+`}]}`)
			case 5:
				items = append(items, `{"type":"function_call","call_id":"`+id+`","name":"f","arguments":`+text()+`}`)
				calls = append(calls, id)
			case 6:
				items = append(items, `{"type":"custom_tool_call","call_id":"`+id+`","name":"python","input":`+text()+`}`)
				calls = append(calls, id)
			case 7:
				items = append(items, `{"type":"mcp_call","name":"m","arguments":`+text()+`,"output":`+text()+`}`)
			default:
				if len(calls) > 0 {
					items = append(items, `{"type":"function_call_output","call_id":"`+calls[random.IntN(len(calls))]+
						`","output":`+parts()+`}`)
				}
			}
		}
		body := `{"model":"m","instructions":` + text() + `,"input":[` + strings.Join(items, ",") + `],"tools":[` +
			`{"type":"builtin","name":"python"},{"type":"function","name":"f","description":` + text() + `}]}`
		if checkConversation(t, body, uint8(random.IntN(8))) {
			accepted++
		}
	}
	if accepted < rounds*9/10 {
		t.Errorf("only %d of %d conversations are accepted", accepted, rounds)
	}
}

// textsOf returns the texts of a client's request that its model must see.
func textsOf(t *testing.T, body string) []string {
	t.Helper()
	opened, failure := openai.Open([]byte(body))
	if failure != nil {
		t.Fatal(failure)
	}
	in, failure := openai.DecodeResponsesConversation(opened)
	if failure != nil {
		t.Fatal(failure)
	}
	texts := []string{in.Instructions, in.Format.Description}
	for i := range in.Input {
		texts = append(append(texts, in.Input[i].Content...), in.Input[i].CallID, in.Input[i].Arguments)
		for j := range in.Input[i].Media {
			var part any
			if err := json.Unmarshal(in.Input[i].Media[j].AppendJSON(nil), &part); err != nil {
				t.Fatal(err)
			}
			texts = textsIn(texts, part)
		}
	}
	for i := range in.Tools {
		texts = append(texts, in.Tools[i].Description, in.Tools[i].NamespaceDescription)
	}
	if in.Choice.Required {
		texts[1] = ""
	}
	return texts
}

// textsIn appends all strings in a value, and those in JSON that a string holds.
func textsIn(texts []string, value any) []string {
	switch v := value.(type) {
	case string:
		texts = append(texts, v)
		var inner map[string]any
		if json.Unmarshal([]byte(v), &inner) == nil {
			texts = textsIn(texts, inner)
		}
	case []any:
		for _, element := range v {
			texts = textsIn(texts, element)
		}
	case map[string]any:
		for _, member := range v {
			texts = textsIn(texts, member)
		}
	}
	return texts
}
