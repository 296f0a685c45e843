package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// heldBody is a request of an API whose answer servers hold to a form: a forced or a strict call, or JSON.
func heldBody(path, form string, stream bool) string {
	tool, choice, prompt := `{"type":"function","name":"f","strict":true}`, `"required"`,
		`"input":"Hi"`
	format := `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`
	custom := `{"type":"custom","name":"c"}`
	grammar := `{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"start: /[a-z]+/"}}`
	if path == contract.ChatPath {
		tool, prompt = `{"type":"function","function":{"name":"f","strict":true}}`, `"messages":[{"role":"user","content":"Hi"}]`
		format = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`
		custom = `{"type":"custom","custom":{"name":"c"}}`
		grammar = `{"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{"syntax":"lark",` +
			`"definition":"start: /[a-z]+/"}}}}`
	}
	members := map[string]string{
		"forced": `"tools":[` + tool + `],"tool_choice":` + choice, "strict": `"tools":[` + tool + `]`,
		"JSON": format, "free": `"tools":[` + strings.Replace(tool, `,"strict":true`, "", 1) + `]`,
		"grammar": `"tools":[` + strings.Replace(tool, `,"strict":true`, "", 1) + `,` + grammar + `]`,
		"custom":  `"tools":[` + custom + `],"tool_choice":` + choice,
	}[form]
	body := `{"model":"` + testModel + `",` + prompt + `,` + members
	if stream {
		body += `,"stream":true`
	}
	return body + "}"
}

// TestHeldAnswers: an answer that servers were to hold to a form has the form, or it is an error. A control token
// within its JSON is left out where the server goes on with the JSON behind it.
func TestHeldAnswers(t *testing.T) {
	const thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
	const call, final = thought + "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
		thought + "<|channel|>final<|message|>"
	const input = thought + "<|channel|>commentary to=functions.c<|message|>"
	const whole, joined, broken = `{"a":"x"}`, `{"a":"xy"}`, ""
	for _, tt := range []struct{ form, text, finish, want string }{
		{"forced", call + `{"a":"x"}<|call|>`, "stop", whole},
		{"forced", call + `{"a":"x"}`, "stop", whole}, // the server leaves the stop token out
		{"forced", call + `{"a":"x<|end|>y"}<|call|>`, "stop", joined},
		{"forced", call + `{"a":"x<|start|>y"}<|call|>`, "stop", joined},
		{"forced", call + `{"a":"x<|channel|>y"}<|call|>`, "stop", joined},
		{"forced", call + `{"a":"x<|channel|><|message|>y"}<|call|>`, "stop", joined},
		{"strict", call + `{"a":"x<|end|>y"}<|call|>`, "stop", joined},
		{"JSON", final + `{"a":"x<|end|>y"}<|return|>`, "stop", joined},
		{"forced", call + `{"a":"x<|call|>`, "stop", broken},
		{"forced", call + `{"a":"x<|return|>`, "stop", broken},
		{"forced", call + `{"a":"x<|end|>`, "stop", broken},
		{"forced", call + `{"a":"x<|end|><|start|>assistant<|channel|>final<|message|>y<|return|>`, "stop", broken},
		{"forced", call + `{"a":"x`, "stop", broken},
		{"forced", call + `<|call|>`, "stop", broken},
		{"forced", call + `a<|call|>`, "stop", broken},
		{"forced", thought, "stop", broken},
		{"forced", final + `Hello.<|return|>`, "stop", broken}, // the server knows no tags
		{"strict", call + `{"a":"x<|call|>`, "stop", broken},
		{"JSON", final + `{"a":"x<|return|>`, "stop", broken},
		{"JSON", final + `Hello.<|return|>`, "stop", broken},
		{"custom", final + `Hello.<|return|>`, "stop", broken},
		{"JSON", thought, "stop", broken},
		{"JSON", "<|channel|>analysis<|message|>Hm.<|return|>", "stop", broken},
		// A limit may cut JSON. Where nothing holds the answer, it is as the model wrote it.
		{"forced", call + `{"a":"x`, "length", `{"a":"x`},
		{"JSON", final + `{"a":"x`, "length", `{"a":"x`},
		{"free", call + `{"a":"x<|call|>`, "stop", `{"a":"x`},
		{"custom", thought + "<|channel|>commentary to=functions.c<|message|>{<|call|>", "stop", `{`},
		{"strict", final + `Hello.<|return|>`, "stop", "Hello."},
		// A grammar of a custom tool: for the server a control token is text of the input, and the input goes on.
		{"grammar", input + "x<|end|>y<|call|>", "stop", `xy`},
		{"grammar", input + "x<|start|><|channel|><|message|>y<|call|>", "stop", `xy`},
		{"grammar", input + "xy", "stop", `xy`},
		{"grammar", input + "xy<|end|>", "length", `xy`},
		{"grammar", call + `{"a":"x<|call|>`, "stop", `{"a":"x`}, // other tools are free
		{"grammar", call + `{"a":"x<|end|>`, "stop", `{"a":"x`},
		{"grammar", final + `Hello.<|return|>`, "stop", "Hello."},
	} {
		for _, path := range []string{contract.ChatPath, contract.ResponsesPath} {
			for _, stream := range []bool{false, true} {
				g := testGateway(func(o *Options) { o.Models[0].StructuredOutputs = contract.StructuralTags })
				x := forwarded(t, g, path, heldBody(path, tt.form, stream))
				x.ResponseHeaders(eventStream)
				status, got := 0, ""
				for _, chunk := range []string{serverChunk(0, tt.text, ""), serverChunk(0, "", tt.finish), serverDone} {
					a := x.ResponseBody([]byte(chunk), false)
					switch {
					case a.Reply != nil:
						status, got = a.Reply.Status, string(a.Reply.Body)
					case a.Head != nil:
						status, got = a.Head.Status, string(a.Body)
					default:
						got += string(a.Body)
					}
				}
				failed := strings.Contains(got, `"code":"`+contract.CodeStructuredOutputBroken+`"`)
				fits := !failed && status == 200 && strings.Contains(assembled(got), tt.want)
				if tt.want == broken {
					fits = failed && (stream || status == 502)
				}
				if fits && failed && path == contract.ResponsesPath && stream {
					fits = strings.Contains(got, "event: response.failed") && !strings.Contains(got, `"status":"completed"`+
						`,"arguments":"{\"a\":\"x"`)
				}
				if report := x.Report(); !fits || failed != (report.Finish == FinishError) {
					t.Errorf("%s %s, stream %t, %s %s: %d %s, finish %q", path, tt.form, stream, tt.text, tt.finish, status, got,
						report.Finish)
				}
			}
		}
	}
}

// assembled returns an answer without the quotes of JSON in JSON, and its deltas put together.
func assembled(answer string) string {
	var deltas strings.Builder
	for line := range strings.SplitSeq(answer, "\n") {
		for _, member := range []string{`"delta":"`, `"arguments":"`, `"input":"`, `"content":"`} {
			if _, rest, ok := strings.Cut(line, member); ok && strings.HasPrefix(line, "data: ") {
				text := rest[:endOfText(rest)]
				deltas.WriteString(text)
				break
			}
		}
	}
	return strings.ReplaceAll(deltas.String()+answer, `\"`, `"`)
}

// endOfText returns the place of the quote that ends a JSON text.
func endOfText(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// TestServersWithoutTags: a server that takes no tag at all is its operator's matter, and one that does not take this
// one may be the client's.
func TestServersWithoutTags(t *testing.T) {
	const refusal = `{"error":{"message":"Invalid grammar specification: 'triggers'","type":"BadRequestError","code":400}}`
	for kind, want := range map[string]struct {
		status     int
		code, word string
	}{
		contract.VLLM:         {502, contract.CodeServerRefusedTags, "structured_outputs"},
		contract.VLLMGenerate: {400, contract.CodeInvalidRequest, "harmony probe"},
	} {
		g := testGateway(func(o *Options) {
			o.Models[0].StructuredOutputs, o.Models[0].Server = contract.StructuralTags, kind
		})
		x := forwarded(t, g, contract.ChatPath, heldBody(contract.ChatPath, "forced", true))
		x.ResponseHeaders(ResponseHead{Status: 400, ContentType: "application/json"})
		a := x.ResponseBody([]byte(refusal), true)
		if a.Head == nil || a.Head.Status != want.status || !strings.Contains(string(a.Body), `"code":"`+want.code+`"`) ||
			!strings.Contains(string(a.Body), want.word) || strings.Contains(string(a.Body), "triggers") {
			t.Errorf("%s: %+v %s", kind, a.Head, a.Body)
		}
	}
}

// TestSpelledMarkers: xgrammar matches a tag's text by ordinary tokens too, so a model whose favourite is blocked may
// spell a control token. Where a tag is in force, the spelling in a header is that token. In all other text it is
// text.
func TestSpelledMarkers(t *testing.T) {
	const thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
	encode := func(special, ordinary string) []uint32 {
		return o200k.Tokenizer().AppendEncode(o200k.Tokenizer().AppendEncodeSpecial(nil, special), ordinary)
	}
	for _, tt := range []struct {
		form string
		ids  []uint32
		want string
	}{
		{"custom", encode(thought+"<|channel|>commentary to=functions.c", "<|message|>40-fa"), `"input":"40-fa"`},
		{"custom", encode(thought, "<|channel|>commentary to=functions.c<|message|>40-fa"), `"input":"40-fa"`},
		{"custom", encode(thought, " to=functions.c<|channel|>commentary<|message|>40-fa"), `"input":"40-fa"`},
		{"custom", encode("", "<|channel|>commentary to=functions.c<|message|>a <|message|> b"), `"input":"a <|message|> b"`},
		{"forced", encode(thought, "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}"),
			`"arguments":"{}"`},
		{"JSON", encode(thought+"<|channel|>final", `<|message|>{"a":"<|end|>"}`), `"{\"a\":\"<|end|>\"}"`},
		{"custom", encode("", "<|channel|>nothing"), `"code":"structured_output_broken"`},
		// A tag ends a call with <|call|>, which may be spelled too.
		{"custom", encode(thought+"<|channel|>commentary to=functions.c<|message|>", "40-fa<|call|>"), `"input":"40-fa"`},
		{"custom", encode(thought+"<|channel|>commentary to=functions.c<|message|>", "40-fa<|cal"), `"input":"40-fa<|cal"`},
		{"custom", encode(thought+"<|channel|>commentary to=functions.c<|message|>", "<|<|call|>"), `"input":"<|"`},
		{"custom", encode(thought+"<|channel|>commentary to=functions.c<|message|>", "<|call|>"), `"input":""`},
		{"forced", encode(thought+"<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "{}<|call|>"),
			`"arguments":"{}"`},
		{"forced", encode(thought+"<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
			`{"a":"<|call|>"}<|call|>`), `"arguments":"{\"a\":\"<|call|>\"}"`},
		{"forced", encode(thought+"<|channel|>commentary to=functions.f <|constrain|>json<|message|>", `{"a":"<|call|>`),
			`"code":"structured_output_broken"`},
		{"free", encode("<|channel|>commentary to=functions.f<|message|>", "{}<|call|>"), `"arguments":"{}<|call|>"`},
		{"free", encode("", "<|channel|>commentary to=functions.f<|message|>{}"), `<|channel|>commentary`},
		{"grammar", encode(thought+"<|channel|>commentary to=functions.c<|message|>", "ab<|call|>"), `"input":"ab"`},
		{"grammar", encode(thought, "<|channel|>commentary to=functions.c<|message|>ab<|call|>"), `"input":"ab"`},
	} {
		for _, path := range []string{contract.ChatPath, contract.ResponsesPath} {
			g := testGateway(func(o *Options) { o.Models[0].StructuredOutputs = contract.StructuralTags })
			x := forwarded(t, g, path, heldBody(path, tt.form, false))
			x.ResponseHeaders(eventStream)
			var events strings.Builder
			for _, id := range append(tt.ids, tokenizer.Call) {
				events.WriteString(`data: {"choices":[{"token_ids":[` + strconv.Itoa(int(id)) + "]}]}\n\n")
			}
			a := x.ResponseBody([]byte(events.String()+serverChunk(0, "", "stop")+serverDone), false)
			got := string(a.Body)
			if a.Reply != nil {
				got = string(a.Reply.Body)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s, %q: %s", path, tt.form, o200k.Tokenizer().DecodeString(tt.ids), got)
			}
		}
	}
}
