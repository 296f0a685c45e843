//go:build e2e && llamacpp

package llamacpp

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

type object = map[string]any

// patchGrammar is the grammar of agents' patches, in Lark.
func patchGrammar(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../harmonycore/lark/testdata/patch.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, definition, _ := strings.Cut(string(content), "-- grammar --\n")
	definition, _, _ = strings.Cut(definition, "-- seeds --\n")
	return definition
}

// custom is the declaration of a custom tool with a grammar.
func custom(name, syntax, definition string) object {
	return object{"type": "custom", "custom": object{"name": name, "format": object{"type": "grammar",
		"grammar": object{"syntax": syntax, "definition": definition}}}}
}

// function is the declaration of a strict function with one argument.
func function(name, argument string, schema object) object {
	return object{"type": "function", "function": object{"name": name, "strict": true, "parameters": object{
		"type": "object", "properties": object{argument: schema}, "required": []string{argument},
		"additionalProperties": false}}}
}

// What the puppet would write.
const (
	toFinal   = "<|channel|>final<|message|>"
	toWeather = "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>"
	toNote    = "<|channel|>commentary to=functions.note <|constrain|>json<|message|>"
	toEdit    = "<|channel|>commentary to=functions.edit<|message|>"
	toCode    = "<|channel|>commentary to=functions.code <|constrain|>json<|message|>{}<|call|>"
)

// TestForms has a puppet whose favourites the grammar blocks, through Envoy. What the client gets has the form that it
// asks for, or is the beginning of it, where a puppet finds no end.
func TestForms(t *testing.T) {
	h := gateway(t, start(t, 2, 4096))
	weather := function("weather", "city", object{"type": "string", "enum": []string{"Rome", "Berlin"}})
	note := function("note", "text", object{"type": "string"})
	edit, code := custom("edit", "lark", patchGrammar(t)), custom("code", "regex", "[0-9]{2}-[a-f]{3}")
	city := object{"response_format": object{"type": "json_schema", "json_schema": object{
		"name": "answer", "strict": true, "schema": weather["function"].(object)["parameters"]}}}
	strict := object{"tools": []any{weather, note}}
	patches := object{"tools": []any{edit, note}}
	const patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
	for name, tt := range map[string]struct {
		form         object
		script, want string
	}{
		"a forced function": {object{"tools": []any{weather, note},
			"tool_choice": object{"type": "function", "function": object{"name": "weather"}}},
			toWeather + `{"city":"Paris No"}<|call|>`, `^weather \{"city":"(Rome|Berlin)"\}$`},
		"a forced custom tool": {object{"tools": []any{code}, "tool_choice": object{"type": "custom",
			"custom": object{"name": "code"}}}, toCode, `^code [0-9]{2}-[a-f]{3}$`},
		"required": {object{"tools": []any{code, weather}, "tool_choice": "required"}, toCode,
			`^code [0-9]{2}-[a-f]{3}$`},
		"a strict function": {strict, toWeather + `{"city":"Paris No"}<|call|>`, `^weather \{"city":"(Rome|Berlin)"\}$`},
		"an answer beside strict functions": {strict, "<|channel|>analysis<|message|>a <| b<|end|><|start|>assistant" +
			toFinal + "Hello.<|return|>", `^Hello\.$`},
		"a control token in JSON": {strict, toNote + `{"text":"x<|end|>y"}<|call|>`, `^note \{"text":"x.*"\}$`},
		"a JSON schema":           {city, toFinal + `{"city":"Paris No"}<|return|>`, `^\{"city":"(Rome|Berlin)"\}$`},
		"one of some texts": {object{"guided_choice": []string{"yes", "no"}}, toFinal + "Hello.<|return|>",
			`^(yes|no)$`},
		"a patch": {patches, toEdit + patch + "<|call|>", `^edit ` + regexp.QuoteMeta(patch) + `$`},
		"a patch that has no end": {patches, toEdit + strings.Replace(patch, "End", "Ende", 1) + "<|call|>",
			`^edit (?s:.*)\n\*\*\* End Patch\n?$`},
		"another tool than a patch": {patches, toNote + `{"text":"x"}<|call|>`, `^note \{"text":"x"\}$`},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := engines.Text(tt.script, engines.GenerationPrompt)
			if err != nil {
				t.Fatal(err)
			}
			body := object{"model": lab.Model, "temperature": 0, "max_completion_tokens": 120,
				"messages": []any{object{"role": "user", "content": said}}}
			maps.Copy(body, tt.form)
			answer := readAll(t, post(t.Context(), t, h.URL+lab.ChatPath, body))
			if got := summary(t, answer); !regexp.MustCompile(tt.want).MatchString(got) {
				t.Errorf("the client gets %s, want %s\n%s", got, tt.want, answer)
			}
		})
	}
}

// summary returns the text of a Chat answer, or the name of the tool that it calls and what that gets.
func summary(t *testing.T, answer []byte) string {
	t.Helper()
	var a struct {
		Choices []struct {
			Message struct {
				Content string
				Calls   []struct {
					Function struct{ Name, Arguments string }
					Custom   struct{ Name, Input string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil || len(a.Choices) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	m := a.Choices[0].Message
	if len(m.Calls) == 1 {
		c := m.Calls[0]
		return cmp.Or(c.Function.Name, c.Custom.Name) + " " + c.Function.Arguments + c.Custom.Input
	}
	return m.Content
}

// sentFor returns the body that the gateway sends to llama.cpp for a Chat request.
func sentFor(t *testing.T, body object) object {
	t.Helper()
	c := config.Default()
	c.Models = []config.Model{config.DefaultModel(lab.Model, contract.LlamaCPP+"=http://127.0.0.1:9")} // never reached
	request, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	gateway := exchange.New(exchange.Options{Config: *c.Filter(), Tokenizer: lab.Vocabulary})
	action := gateway.Begin(http.MethodPost, lab.ChatPath).Request(request, exchange.Host{Now: 1, ID: "a"})
	if action.Forward == nil {
		t.Fatalf("%s", action.Reply.Body)
	}
	sent := object{}
	if err := json.Unmarshal(action.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent
}

// TestRandomPatches has a model that says anything, held to what the gateway sends for a tool with the grammar of
// patches. What it writes for the tool is a patch, or the beginning of one where the limit cut it.
func TestRandomPatches(t *testing.T) {
	const answers = 8
	definition := patchGrammar(t)
	grammar, err := ebnf.Read(lark.Translate(definition).EBNF)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, 2, 4096)
	sent := sentFor(t, object{"model": lab.Model, "messages": []any{object{"role": "user", "content": "Hi"}},
		"tools": []any{custom("edit", "lark", definition)}, "tool_choice": "required"})
	token := func(text string) any { return engines.Spell(text)[0] }
	maps.Copy(sent, object{"n_predict": 120, "temperature": 100, "stream": false, "return_tokens": true,
		// All tokens that fit are about as likely, but for those by which a line, a file, a thought and a patch can end.
		"logit_bias": []any{[]any{token("\n"), 1100}, []any{token("***"), 1200}, []any{token(" End"), 900},
			[]any{token(" to"), 300}, []any{token("<|end|>"), 900}}})
	var running sync.WaitGroup
	slots := make(chan struct{}, 2)
	var mu sync.Mutex
	whole, begun := 0, 0
	for seed := range answers {
		body := maps.Clone(sent)
		body["seed"] = seed
		running.Go(func() {
			slots <- struct{}{}
			answer := complete(t, s, body)
			<-slots
			text, ended := answer.Content, answer.StopType == "eos"
			if ended { // by any of the tokens that end answers
				text = text[:strings.LastIndex(text, "<|")]
			}
			header, patch, found := strings.Cut(text, "*** Begin Patch")
			if !found {
				if ended {
					t.Errorf("seed %d ends without a call: %q", seed, text)
				}
				return
			}
			way, possible := grammar.Begin(), true
			for _, c := range "*** Begin Patch" + strings.TrimRight(patch, "\ufffd") {
				if possible = possible && way.Next(c); !possible {
					break
				}
			}
			if !possible || ended && !way.Complete() || !strings.HasSuffix(header, "<|message|>") {
				t.Errorf("seed %d, ended %t: %q", seed, ended, text)
			}
			mu.Lock()
			defer mu.Unlock()
			if begun++; ended {
				whole++
			}
		})
	}
	running.Wait()
	t.Logf("of %d answers %d begin a patch, and %d have it whole", answers, begun, whole)
	if whole < 3 || begun < answers/2 {
		t.Error("too few are patches")
	}
}
