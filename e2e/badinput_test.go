package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
	"github.com/harmonyedge/harmonyedge/filter/gateway"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// badInput is a request with one mistake.
type badInput struct {
	name string
	body []byte
	// params are the places that its error may name, or one below them.
	params []string
	// orAbsent says that nothing is wrong with it if null is taken for an absent value.
	orAbsent bool
}

// tolerated are mistakes by OpenAI's schema that are none here, with the reason. Every one of them must come up.
var tolerated = map[string]string{
	"logit_bias.*: a number":               "servers take fractions",
	"stop: empty":                          "it asks for nothing",
	"prediction(content).content: empty":   saysNothing,
	"messages[](assistant).content: empty": saysNothing,
	"messages[](developer).content: empty": saysNothing,
	"messages[](system).content: empty":    saysNothing,
	"messages[](tool).content: empty":      saysNothing,
	"messages[](user).content: empty":      saysNothing,
}

const saysNothing = "histories have such content, and it says nothing"

// mistakes are all that the schema calls wrong in a field.
func (f *field) mistakes() map[string]any {
	out := map[string]any{"null": nil}
	if f.required {
		out["missing"] = absent
	}
	for kind, value := range map[string]any{
		"string": "x", "boolean": true, "number": 1.5, "integer": 7, "array": []any{}, "object": map[string]any{},
	} {
		allowed := f.limits[kind] != nil || kind == "integer" && f.limits["number"] != nil
		if !allowed {
			out["a "+kind] = value
		}
	}
	for kind, limit := range f.limits {
		if limit["enum"] != nil {
			out["an unknown value"] = "no-such-value"
		}
		if least, ok := limit["minimum"].(json.Number); ok {
			out["too small"] = json.RawMessage(beyond(least, -1))
		}
		if most, ok := limit["maximum"].(json.Number); ok {
			out["too large"] = json.RawMessage(beyond(most, 1))
		}
		if kind == "integer" || kind == "number" {
			out["beyond all numbers"] = json.RawMessage("1e999")
		}
		if kind == "integer" {
			out["a very large integer"] = json.RawMessage("123456789012345678901234567890")
		}
		for _, key := range []string{"minLength", "minItems"} {
			if limit[key] != nil {
				out["empty"] = map[string]any{"minLength": "", "minItems": []any{}}[key]
			}
		}
		if most, ok := limit["maxLength"].(json.Number); ok {
			n, _ := most.Int64()
			out["too long"] = strings.Repeat("x", int(n)+1)
		}
		if most, ok := limit["maxItems"].(json.Number); ok && f.limits["array"] != nil {
			n, _ := most.Int64()
			out["too many"] = slices.Repeat([]any{"x"}, int(n)+1)
		}
	}
	out["too deep"] = json.RawMessage(strings.Repeat(`{"a":`, 140) + "1" + strings.Repeat("}", 140))
	if _, discriminated := f.limits["object"]; discriminated && f.form {
		out = map[string]any{"another form": otherForm(f.example)}
	}
	return out
}

// beyond is a number a step further.
func beyond(n json.Number, step int64) string {
	if i, err := n.Int64(); err == nil {
		return fmt.Sprint(i + step)
	}
	return n.String() + "0" // of the 64 bits of an integer
}

// otherForm is an object whose type or role nobody knows.
func otherForm(example any) any {
	out := maps.Clone(example.(map[string]any))
	for _, tag := range []string{"type", "role"} {
		if _, ok := out[tag]; ok {
			out[tag] = "no-such-form"
			return out
		}
	}
	return out
}

// badInputs are the mistakes in all fields, and those that no schema tells.
func badInputs(t *testing.T, g *exchange.Gateway) []badInput {
	t.Helper()
	var all []badInput
	for _, f := range chatFields(t) {
		params := []string{f.param}
		if refusal := refusalOf(t, g, body(t, f.put(f.example))); refusal != nil {
			params = append(params, refusal.Param) // of a field that is refused whatever it says
		}
		mistakes := f.mistakes()
		for _, what := range slices.Sorted(maps.Keys(mistakes)) {
			bad := badInput{
				name: f.name + ": " + what, body: body(t, f.put(mistakes[what])), params: params, orAbsent: what == "null",
			}
			if what == "too deep" {
				top, _, _ := strings.Cut(f.param, ".")
				top, _, _ = strings.Cut(top, "[")
				bad.params = append(slices.Clone(params), top)
			}
			all = append(all, bad)
		}
	}
	for _, h := range handMade {
		all = append(all, badInput{name: h.name, body: []byte(h.body), params: []string{h.param}})
	}
	return all
}

// handMade are mistakes that the schema does not tell.
var handMade = []struct{ name, param, body string }{
	{"model twice", "model", `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"model":"other"}`},
	{"messages twice", "messages", `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"messages":[]}`},
	{"no messages at all", "messages", `{"model":"gpt-oss-120b","messages":[]}`},
	{"half a character", "messages", "{\"model\":\"gpt-oss-120b\",\"messages\":[{\"role\":\"user\",\"content\":\"\xf0\x9f\"}]}"},
	{"half a surrogate pair", "user", withField(`"user":"\ud83d"`)},
	{"a result of no call", "messages[1].tool_call_id", withMessage(`{"role":"tool","tool_call_id":"nobody","content":"r"}`)},
	{"a call without a name", "messages[1].tool_calls[0].function.name", withMessage(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"","arguments":"{}"}}]}`)},
	{"a call with a header in its name", "messages[1].tool_calls[0].function.name", withMessage(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f <|constrain|>json","arguments":"{}"}}]}`)},
	{"a user with a header for a name", "messages[1].name", withMessage(`{"role":"user","name":"a<|message|>","content":"x"}`)},
	{"a number among the parts", "messages[1].content[1]", withMessage(`{"role":"user","content":[{"type":"text","text":"a"},7]}`)},
	{"a part of another API", "messages[1].content[0]", withMessage(`{"role":"user","content":[{"type":"input_text","text":"a"}]}`)},
	{"an image for an assistant", "messages[1].content[0]", withMessage(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}`)},
	{"a function's name with a space", "tools[0].function.name", withField(`"tools":[{"type":"function","function":{"name":"a b"}}]`)},
	{"a function's name that is too long", "tools[0].function.name", withField(`"tools":[{"type":"function","function":{"name":"` + strings.Repeat("f", 129) + `"}}]`)},
	{"a deep schema", "tools[0].function.parameters", withField(`"tools":[{"type":"function","function":{"name":"f","parameters":` + nest(33) + `}}]`)},
	{"a deep form of the answer", "response_format.json_schema.schema", withField(`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":` + nest(33) + `}}`)},
	{"a choice that is no tool", "tool_choice", withField(`"tool_choice":{"type":"function","function":{"name":"g"}},"tools":[{"type":"function","function":{"name":"f"}}]`)},
	{"a choice without tools", "tool_choice", withField(`"tool_choice":"required"`)},
	{"a token that is no number", "logit_bias", withField(`"logit_bias":{"x":1}`)},
	{"a token that there is not", "logit_bias", withField(`"logit_bias":{"999999":1}`)},
	{"a bias that is too large", "logit_bias.1", withField(`"logit_bias":{"1":101}`)},
	{"seventeen pairs", "metadata", withField(`"metadata":{` + manyMembers(17) + `}`)},
	{"options without a stream", "stream_options", withField(`"stream_options":{"include_usage":true}`)},
	{"a very small temperature", "temperature", withField(`"temperature":-1e-9`)},
	{"minus one choice", "n", withField(`"n":-1`)},
}

func withField(member string) string {
	return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],` + member + `}`
}

func withMessage(message string) string {
	return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"},` + message + `]}`
}

// nest is a schema of so many levels.
func nest(levels int) string {
	return strings.Repeat(`{"items":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

func manyMembers(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return strings.Join(members, ",")
}

func body(t *testing.T, request map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refusedWith is the inside of an error.
type refusedWith struct{ Message, Type, Param, Code string }

func readError(b []byte) (*refusedWith, error) {
	var v struct{ Error *refusedWith }
	if err := json.Unmarshal(b, &v); err != nil || v.Error == nil {
		return nil, fmt.Errorf("no error of OpenAI's form: %.300s", b)
	}
	return v.Error, nil
}

// refusalOf gives a request to the exchange itself, and returns its refusal; nil is a request for the server.
func refusalOf(t *testing.T, g *exchange.Gateway, b []byte) *refusedWith {
	t.Helper()
	x := g.Begin(http.MethodPost, chatPath)
	x.RequestHeaders()
	action := x.Request(bytes.Clone(b), exchange.Host{Now: 1_000_000, ID: strings.Repeat("0123456789", 4)})
	switch {
	case action.Reply != nil:
		refusal, err := readError(action.Reply.Body)
		if err != nil || action.Reply.Status < 400 || action.Reply.Status > 404 {
			t.Errorf("%s: status %d, %v", b, action.Reply.Status, err)
			return &refusedWith{}
		}
		return refusal
	case action.Forward == nil || action.Forward.Pool == "":
		t.Errorf("neither refused nor sent to a server: %s", b)
	}
	return nil
}

// errorCodes are those that docs/errors.md has for requests.
func errorCodes(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	requests, _, ok := strings.Cut(string(text), "## The answer")
	if !ok {
		t.Fatal("docs/errors.md has no part about requests")
	}
	codes := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| 4\\d\\d \\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(requests, -1) {
		codes[row[1]] = true
	}
	if len(codes) == 0 {
		t.Fatal("docs/errors.md has no codes")
	}
	return codes
}

// judge says what is wrong with the answer to a bad input; nil is no refusal.
func (b *badInput) judge(refusal *refusedWith, codes map[string]bool) error {
	reason, isTolerated := tolerated[b.name]
	switch {
	case refusal == nil && (b.orAbsent || isTolerated):
		return nil
	case refusal == nil:
		return fmt.Errorf("accepted")
	case isTolerated:
		return fmt.Errorf("refused, but tolerated because %s", reason)
	case !codes[refusal.Code]:
		return fmt.Errorf("the code %q is not in docs/errors.md", refusal.Code)
	case refusal.Message == "" || refusal.Type != "invalid_request_error":
		return fmt.Errorf("the message is %q and the type %q", refusal.Message, refusal.Type)
	}
	for _, param := range b.params {
		if refusal.Param == param || strings.HasPrefix(refusal.Param, param+".") || strings.HasPrefix(refusal.Param, param+"[") {
			return nil
		}
	}
	return fmt.Errorf("the error names %q, want %q: %s", refusal.Param, b.params[0], refusal.Message)
}

// TestBadInput makes every mistake in every field of OpenAI's schema, to the exchange itself and through Envoy. Each is an error
// that names the field, and no server hears of it.
func TestBadInput(t *testing.T) {
	c, err := loadCase("cases/chat_text_whole.txtar")
	if err != nil {
		t.Fatal(err)
	}
	server, url := runSim(t, sim.Options{Keep: 10_000})
	config, err := c.config(url)
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.New(config.Filter(), vocabulary, nil)
	codes, all := errorCodes(t), badInputs(t, g)
	refusals := make([]*refusedWith, len(all))
	accepted := 0
	t.Run("native", func(t *testing.T) {
		byCode, came := map[string]int{}, map[string]bool{}
		for i, bad := range all {
			came[bad.name] = true
			refusals[i] = refusalOf(t, g, bad.body)
			if err := bad.judge(refusals[i], codes); err != nil {
				t.Errorf("%s: %v\n%.300s", bad.name, err, bad.body)
			}
			if refusals[i] == nil {
				accepted++
			} else {
				byCode[refusals[i].Code]++
			}
		}
		for name := range tolerated {
			if !came[name] {
				t.Errorf("tolerated, but never tried: %s", name)
			}
		}
		t.Logf("%d bad inputs: %d refused, %v; %d accepted, as null or tolerated", len(all), len(all)-accepted, byCode, accepted)
	})
	t.Run("envoy", func(t *testing.T) {
		host, err := hosts.Envoy(hosts.Setup{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Stop)
		client := &http.Client{Timeout: time.Minute}
		defer client.CloseIdleConnections()
		for i, bad := range all {
			got, want := refusalThrough(t, client, host.URL, bad.body), refusals[i]
			if (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: refused with %+v, want %+v", bad.name, got, want)
			}
		}
		if got := len(server.Requests()); got != accepted {
			t.Errorf("%d requests reached the server, and %d were accepted", got, accepted)
		}
	})
}

// refusalThrough sends a request through a proxy, and returns its refusal.
func refusalThrough(t *testing.T, client *http.Client, base string, b []byte) *refusedWith {
	t.Helper()
	response, err := client.Post(base+chatPath, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusOK {
		return nil
	}
	refusal, err := readError(text)
	if err != nil {
		t.Error(err)
		return &refusedWith{}
	}
	return refusal
}
