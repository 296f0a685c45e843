//go:build e2e && vllm

package vllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

type object = map[string]any

// strictFunction is the declaration of a function with one argument, in Chat.
func strictFunction(name, argument string, schema object) object {
	return object{"type": "function", "function": object{"name": name, "strict": true,
		"parameters": only(argument, schema)}}
}

// only is the schema of an object with this member alone.
func only(member string, schema object) object {
	return object{"type": "object", "properties": object{member: schema}, "required": []string{member},
		"additionalProperties": false}
}

// jsonSchema is a response_format.
func jsonSchema(schema object) object {
	return object{"type": "json_schema", "json_schema": object{"name": "answer", "strict": true, "schema": schema}}
}

var (
	city    = object{"type": "string", "enum": []string{"Rome", "Berlin"}}
	text    = object{"type": "string"}
	weather = strictFunction("weather", "city", city)
	note    = strictFunction("note", "text", text)
	loose   = object{"type": "function", "function": object{"name": "note", "parameters": only("text", text)}}
	code    = object{"type": "custom", "custom": object{"name": "code", "format": object{"type": "grammar",
		"grammar": object{"syntax": "regex", "definition": "[0-9]{2}-[a-f]{3}"}}}}
	edit = object{"type": "custom", "custom": object{"name": "edit", "format": object{"type": "grammar",
		"grammar": object{"syntax": "lark", "definition": editGrammar}}}}
)

// editGrammar is a grammar of patches, in Lark.
const editGrammar = `start: "*** Begin" LF change+ "*** End" LF?
change: "*** File: " /(.+)/ LF line*
line: ("+" | "-" | " ") /(.*)/ LF
%import common.LF
`

// forms are the forms of answers that clients ask for: members of a Chat request.
var forms = map[string]object{
	"the custom tool `code`": {"tools": []any{code, note},
		"tool_choice": object{"type": "custom", "custom": object{"name": "code"}}},
	"the function `weather`": {"tools": []any{weather, note},
		"tool_choice": object{"type": "function", "function": object{"name": "weather"}}},
	"the function `note`": {"tools": []any{weather, note},
		"tool_choice": object{"type": "function", "function": object{"name": "note"}}},
	"`required`":                     {"tools": []any{weather, code}, "tool_choice": "required"},
	"strict functions":               {"tools": []any{weather, note}},
	"JSON with a `city`":             {"response_format": jsonSchema(only("city", city))},
	"JSON with a `text`":             {"response_format": jsonSchema(only("text", text))},
	"the custom tool `edit`, or not": {"tools": []any{edit, loose}},
	"`guided_choice`":                {"guided_choice": []string{"yes", "no"}},
	"`guided_regex`":                 {"guided_regex": "[0-9]{2}-[a-f]{3}"},
}

// The beginnings of the puppet's answers.
const (
	toWeather = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>"
	toNote    = "<|channel|>commentary to=functions.note <|constrain|>json<|message|>"
	toCode    = "<|channel|>commentary to=functions.code <|constrain|>json<|message|>"
	toEdit    = "<|channel|>commentary to=functions.edit<|message|>"
	toFinal   = "<|channel|>final<|message|>"
)

// heldCase is a form, and what the puppet would answer without a grammar.
type heldCase struct {
	form, script string
	// shown is the script in the words of the page, and want what the answer must match.
	shown, want string
}

var (
	codeCall    = "^call `code` `[0-9]{2}-[a-f]{3}`$"
	weatherCall = "^call `weather` `{\"city\":\"(Rome|Berlin)\"}`$"
	noteCall    = "^call `note` `{\"text\":\"%s\"}`$"
)

var heldCases = []heldCase{
	{"the custom tool `code`", toFinal + "Hello.<|return|>", "an answer", codeCall},
	{"the custom tool `code`", toCode + "{}<|call|>", "a call of `code` with JSON", codeCall},
	{"the function `weather`", toWeather + `{"city":"Paris No"}<|call|>`, "`{\"city\":\"Paris No\"}`", weatherCall},
	{"the function `weather`", toFinal + "Hello.<|return|>", "an answer", "^spaces up to the limit$"},
	{"`required`", toFinal + "Hello.<|return|>", "an answer", codeCall},
	{"`required`", toWeather + `{"city":"Paris No"}<|call|>`, "`{\"city\":\"Paris No\"}`", weatherCall},
	{"strict functions", toWeather + `{"city":"Paris No"}<|call|>`, "`{\"city\":\"Paris No\"}`", weatherCall},
	{"strict functions", toFinal + "Hello.<|return|>", "an answer", "^`Hello.`$"},
	{"JSON with a `city`", toFinal + `{"city":"Paris No"}<|return|>`, "`{\"city\":\"Paris No\"}`",
		"^`{\"city\":\"(Rome|Berlin)\"}`$"},
	{"JSON with a `text`", toFinal + `{"text":"x<|end|>y"}<|return|>`, "`<|end|>` in the text", "^`{\"text\":\"xy\"}`$"},
	{"the function `note`", toNote + `{"text":"x<|end|>y"}<|call|>`, "`<|end|>` in the text",
		fmt.Sprintf(noteCall, "xy")},
	{"the function `note`", toNote + `{"text":"x<|message|>y"}<|call|>`, "`<|message|>` in the text",
		fmt.Sprintf(noteCall, "xy")},
	{"the function `note`", toNote + `{"text":"x<|end|><|start|>assistant<|channel|>final<|message|>y"}<|call|>`,
		"a whole header in the text", fmt.Sprintf(noteCall, "xassistantfinaly")},
	{"the function `note`", toNote + `{"text":"x<|call|>y"}<|call|>`, "`<|call|>` in the text",
		fmt.Sprintf(noteCall, "x.*")},
	{"the function `note`", toNote + `{"text":"x<|return|>y"}<|call|>`, "`<|return|>` in the text",
		fmt.Sprintf(noteCall, "x.*")},
	{"the function `note`", toNote + `{"text":"x"}Hello.<|call|>`, "more after the JSON", fmt.Sprintf(noteCall, "x")},
	{"the custom tool `edit`, or not", toEdit + "*** Begin\n*** File: a\n+x\n*** End\n<|call|>", "a patch",
		"^call `edit` `\\*\\*\\* Begin⏎\\*\\*\\* File: a⏎\\+x⏎\\*\\*\\* End⏎`$"},
	{"the custom tool `edit`, or not", toEdit + "*** Begin\n*** File: a\n+x<|end|>y\n*** End<|call|>",
		"`<|end|>` in a line of a patch", "^call `edit` `\\*\\*\\* Begin⏎\\*\\*\\* File: a⏎\\+xy⏎\\*\\*\\* End`$"},
	{"the custom tool `edit`, or not", toEdit + "*** Begin\n*** Files: a\n+x\n*** End\n<|call|>", "`Files` for `File`",
		"^call `edit` `\\*\\*\\* Begin⏎(\\*\\*\\* File: .+⏎([-+ ].*⏎)*)+\\*\\*\\* End⏎?`$"},
	{"the custom tool `edit`, or not", toFinal + "Hello.<|return|>", "an answer", "^`Hello.`$"},
	{"the custom tool `edit`, or not", toNote + `{"text":1}<|call|>`, "`{\"text\":1}` to `note`",
		"^call `note` `{\"text\":1}`$"},
	{"`guided_choice`", toFinal + "Hello.<|return|>", "an answer", "^`(yes|no)`$"},
	{"`guided_regex`", toFinal + "Hello.<|return|>", "an answer", "^`[0-9]{2}-[a-f]{3}`$"},
}

// maxHeld is the limit of the requests. A model whose favourite is blocked may write spaces between JSON for ever.
const maxHeld = 64

// heldBody returns a request for a form whose script is the text of its message.
func heldBody(t *testing.T, path, form, script string, stream bool) string {
	t.Helper()
	said, err := engines.Text(script, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	body := object{"model": lab.Model, "stream": stream, "temperature": 0}
	maps.Copy(body, forms[form])
	if path == lab.ChatPath {
		body["messages"], body["max_completion_tokens"] = []any{object{"role": "user", "content": said}}, maxHeld
	} else {
		body["input"], body["max_output_tokens"] = said, maxHeld
		flatten(body)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// flatten writes the members of a Chat request as Responses has them.
func flatten(body object) {
	flat := func(member any) any {
		from, ok := member.(object)
		if !ok {
			return member
		}
		kind, _ := from["type"].(string)
		to := object{"type": kind}
		for key, value := range from[kind].(object) {
			to[key] = value
		}
		if format, ok := to["format"].(object); ok {
			to["format"] = object{"type": "grammar"}
			maps.Copy(to["format"].(object), format["grammar"].(object))
		}
		return to
	}
	if tools, ok := body["tools"].([]any); ok {
		var all []any
		for _, tool := range tools {
			all = append(all, flat(tool))
		}
		body["tools"] = all
	}
	if choice, ok := body["tool_choice"]; ok {
		body["tool_choice"] = flat(choice)
	}
	if format, ok := body["response_format"]; ok {
		delete(body, "response_format")
		body["text"] = object{"format": flat(format)}
	}
}

// eachForm starts both hosts of the shipped filter before a server, for the kinds of today's vLLM, and asks each of
// them all cases, by both APIs, streamed and whole. seen gets what came of a case.
func eachForm(t *testing.T, url string, seen func(t *testing.T, kind string, at int, stream bool, got lab.Answer)) {
	t.Helper()
	for _, kind := range []string{contract.VLLM, contract.VLLMGenerate} {
		t.Run(kind, func(t *testing.T) {
			lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
				c := config.Default()
				c.Listen, c.Envoy.Concurrency, c.StallTimeout = "127.0.0.1:0", 1, patience
				m := config.DefaultModel(lab.Model, kind+"="+url)
				m.ContextLength = contextLength
				c.Models = []config.Model{m}
				host := run(t, c)
				var running sync.WaitGroup
				turns := make(chan struct{}, 8)
				for at, held := range heldCases {
					for _, path := range []string{lab.ChatPath, lab.ResponsesPath} {
						for _, stream := range []bool{false, true} {
							body := heldBody(t, path, held.form, held.script, stream)
							running.Go(func() {
								turns <- struct{}{}
								defer func() { <-turns }()
								seen(t, kind, at, stream, lab.Ask(client, host.URL+path, body))
							})
						}
					}
				}
				running.Wait()
			})
		})
	}
}

// otherScripts finds what is not ASCII.
var otherScripts = regexp.MustCompile(`[^\x00-\x7f]+`)

// TestGrammars has a puppet whose favourites a real xgrammar blocks, and control tokens where xgrammar lets them in.
// All clients see the same, whatever the API, the kind and the host, and the page has it.
func TestGrammars(t *testing.T) {
	url := servers.Shared(t, wideFlags...).URL
	var mu sync.Mutex
	cells := make([]string, len(heldCases))
	eachForm(t, url, func(t *testing.T, _ string, at int, _ bool, got lab.Answer) {
		// Some token of another script stands where the favourite is blocked in a text.
		held, cell := heldCases[at], otherScripts.ReplaceAllString(describeHeld(got), "…")
		cell = strings.ReplaceAll(cell, "\n", "⏎")
		if got.Status != http.StatusOK || !regexp.MustCompile(held.want).MatchString(cell) {
			t.Errorf("%s, %s: %d %s, want %s\n%s", held.form, held.script, got.Status, cell, held.want, got.Body)
		}
		mu.Lock()
		defer mu.Unlock()
		if cells[at] = cmp.Or(cells[at], cell); cells[at] != cell {
			t.Errorf("%s, %s: %s, and elsewhere %s", held.form, held.script, cell, cells[at])
		}
	})
	table := "| the client asks for | the model would write | the client gets |\n|---|---|---|\n"
	for at, held := range heldCases {
		table += "| " + held.form + " | " + strings.ReplaceAll(held.shown, "|", `\|`) + " | " + cells[at] + " |\n"
	}
	if !t.Failed() {
		lab.ComparePageTable(t, "docs/structured-outputs.md", "make test-vllm ARGS=-update", "blocked favourites", table)
	}
}

// seenAnswer is what a client has of an answer of either API.
type seenAnswer struct {
	calls     []seenCall
	text, end string
	code      string
}

type seenCall struct{ name, input string }

// describeHeld says what a client has got, in the words of the page.
func describeHeld(a lab.Answer) string {
	s := readSeen(a.Body)
	switch {
	case a.Err != nil:
		return a.Err.Error()
	case s.code != "":
		return "`" + s.code + "`"
	case s.end == "length" || s.end == "incomplete":
		if len(s.calls) == 1 && strings.Trim(s.calls[0].input, "{ \n\t\r") == "" {
			return "spaces up to the limit"
		}
	case len(s.calls) == 1 && s.text == "":
		return "call `" + s.calls[0].name + "` `" + s.calls[0].input + "`"
	case len(s.calls) == 0:
		return "`" + s.text + "`"
	}
	return fmt.Sprintf("%+v", s)
}

func readSeen(body string) (s seenAnswer) {
	if !strings.HasPrefix(body, "data:") && !strings.HasPrefix(body, "event:") {
		s.object(body)
		return s
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			s.object(data)
		}
	}
	return s
}

func (s *seenAnswer) object(data string) {
	type message struct {
		Content string
		Calls   []struct {
			Index    int
			Function struct{ Name, Arguments string }
			Custom   struct{ Name, Input string }
		} `json:"tool_calls"`
	}
	type item struct {
		Type, Name, Arguments, Input, Status string
		Content                              []struct{ Text string }
	}
	var v struct {
		Error   *struct{ Code string }
		Choices []struct {
			Delta, Message message
			FinishReason   string `json:"finish_reason"`
		}
		Type     string
		Output   []item
		Status   string
		Response *struct {
			Status string
			Output []item
			Error  *struct{ Code string }
		}
	}
	_ = json.Unmarshal([]byte(data), &v) // what is not JSON has nothing of all this
	if v.Error != nil {
		s.code = v.Error.Code
	}
	for _, c := range v.Choices {
		for _, m := range []message{c.Delta, c.Message} {
			s.text += m.Content
			for _, call := range m.Calls {
				for len(s.calls) <= call.Index {
					s.calls = append(s.calls, seenCall{})
				}
				s.calls[call.Index].name += call.Function.Name + call.Custom.Name
				s.calls[call.Index].input += call.Function.Arguments + call.Custom.Input
			}
		}
		s.end = cmp.Or(c.FinishReason, s.end)
	}
	output := v.Output
	switch {
	case v.Response != nil && v.Response.Status != "in_progress":
		output, s.end = v.Response.Output, v.Response.Status
		if v.Response.Error != nil {
			s.code = v.Response.Error.Code
		}
	case v.Output != nil:
		s.end = v.Status
	}
	for _, i := range output {
		switch i.Type {
		case "function_call", "custom_tool_call":
			s.calls = append(s.calls, seenCall{i.Name, i.Arguments + i.Input})
		case "message":
			for _, part := range i.Content {
				s.text += part.Text
			}
		}
	}
}

// guidance are the flags of a vLLM that takes no structural tags.
var guidance = []string{"--enable-scale-out", "--structured-outputs-config.backend", "guidance"}

// TestGuidance has a vLLM that refuses every tag. It is the operator's matter, so the client is not told that its
// request is wrong, as far as vLLM's words tell. The running gateway finds out by itself, and so does harmony probe.
func TestGuidance(t *testing.T) {
	url := servers.New(t, guidance...).URL
	eachForm(t, url, func(t *testing.T, kind string, at int, stream bool, got lab.Answer) {
		want, code := http.StatusBadGateway, contract.CodeServerRefusedTags
		if kind == contract.VLLMGenerate { // which says the same of a schema that it does not know
			want, code = http.StatusBadRequest, contract.CodeInvalidRequest
		}
		if got.Status != want || got.ErrorCode() != code || kind == contract.VLLMGenerate &&
			!strings.Contains(got.Body, "harmony probe") {
			t.Errorf("%s, stream %t: %d %s, want %d %s", heldCases[at].form, stream, got.Status, got.Body, want, code)
		}
	})
	for _, kind := range []string{contract.VLLM, contract.VLLMGenerate} {
		t.Run("found out by "+kind, func(t *testing.T) {
			up, gateway := lab.StartUp(t, "--host", "wazero", "--model", lab.Model, "--backend", kind+"="+url)
			page := up.Announced(t, `(?m)^page.*: http://(\S+)$`)
			const warns = "1 of 1 servers refuse structural tags"
			for end := time.Now().Add(lab.Patience); ; {
				status := lab.RunHarmony(t, nil, "status", "--address", page)
				if !status.Ended(lab.ReadyLimit) {
					t.Fatal("harmony status does not end")
				}
				if said := status.Stdout.String(); strings.Contains(said, warns) &&
					strings.Contains(said, "structured_outputs of "+lab.Model+" is none") {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the gateway has not found out:\n%s", &status.Stdout)
				}
			}
			// The prompt has the beginning of the call, and the answer its arguments.
			body := heldBody(t, lab.ChatPath, "the function `weather`", "Hello.", false)
			got := lab.Ask(client, gateway+lab.ChatPath, body)
			if s := readSeen(got.Body); got.Status != http.StatusOK || len(s.calls) != 1 || s.calls[0].name != "weather" {
				t.Errorf("%d %s, want a call without a tag", got.Status, got.Body)
			}
			lab.StopWazero(t, up)
		})
	}
	probe := lab.RunHarmony(t, nil, "probe", url)
	if !probe.Ended(5 * lab.ReadyLimit) {
		t.Fatal("harmony probe does not end")
	}
	if said := probe.Stdout.String(); !refusesForms.MatchString(said) {
		t.Errorf("harmony probe says\n%s%s", said, &probe.Stderr)
	}
}

// refusesForms finds vLLM's words in what harmony probe says: of tags, or of JSON schemas if the puppet's answer is not
// as gpt-oss begins one.
var refusesForms = regexp.MustCompile(`(?m)^ *(structural tags|JSON schemas) +no: .*triggers`)
