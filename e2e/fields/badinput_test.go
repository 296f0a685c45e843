//go:build e2e

package fields

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

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/sim"
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
			if n, _ := most.Int64(); n < 1<<20 { // what is longer is more than a body may have
				out["too long"] = strings.Repeat("x", int(n)+1)
			}
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

// otherForm is an object of an unknown type or role.
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

// badInputs returns the mistakes in all fields, and those that no schema describes.
func (api *fieldAPI) badInputs(t *testing.T, g *exchange.Gateway) []badInput {
	t.Helper()
	var all []badInput
	table := api.readTable(t)
	for _, f := range api.fields(t) {
		if row := table[f.name]; row.verdict == isIgnored || row.verdict == isQuoted {
			continue
		}
		params := []string{f.param}
		if other := api.alsoNamed[f.name]; other != "" {
			params = append(params, other)
		}
		if refusal := refusalOf(t, g, api.path, body(t, f.put(f.example))); refusal != nil {
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
	for _, h := range api.handMade {
		all = append(all, badInput{name: h.name, body: []byte(h.body), params: []string{h.param}})
	}
	return all
}

// handMade is a mistake that the schema does not describe.
type handMade struct{ name, param, body string }

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
func refusalOf(t *testing.T, g *exchange.Gateway, path string, b []byte) *refusedWith {
	t.Helper()
	x := g.Begin(http.MethodPost, path)
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
	text, err := os.ReadFile(lab.File("docs/errors.md"))
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

// kind is the mistake's name, without its form if that is the unknown one.
func (b *badInput) kind() string { return anotherForm.ReplaceAllString(b.name, "(*): another form") }

var anotherForm = regexp.MustCompile(`\(\w+\): another form$`)

// judge says what is wrong with the answer to a bad input; nil is no refusal.
func (b *badInput) judge(refusal *refusedWith, codes map[string]bool, tolerated map[string]string) error {
	reason, isTolerated := tolerated[b.kind()]
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
		if refusal.Param == param || strings.HasPrefix(refusal.Param, param+".") ||
			strings.HasPrefix(refusal.Param, param+"[") {
			return nil
		}
	}
	return fmt.Errorf("the error names %q, want %q: %s", refusal.Param, b.params[0], refusal.Message)
}

// checkBadInputs makes every mistake to the exchange itself. It returns them with their refusals, nil for one that is
// tolerated.
func (api *fieldAPI) checkBadInputs(t *testing.T, g *exchange.Gateway) ([]badInput, []*refusedWith) {
	t.Helper()
	codes, all := errorCodes(t), api.badInputs(t, g)
	refusals := make([]*refusedWith, len(all))
	accepted, byCode, came := 0, map[string]int{}, map[string]bool{}
	for i, bad := range all {
		came[bad.kind()] = true
		refusals[i] = refusalOf(t, g, api.path, bad.body)
		if err := bad.judge(refusals[i], codes, api.tolerated); err != nil {
			t.Errorf("%s: %v\n%.300s", bad.name, err, bad.body)
		}
		if refusals[i] == nil {
			accepted++
		} else {
			byCode[refusals[i].Code]++
		}
	}
	for name := range api.tolerated {
		if !came[name] {
			t.Errorf("tolerated, but never tried: %s", name)
		}
	}
	t.Logf("%d bad inputs: %d refused, %v; %d accepted, as null or tolerated", len(all), len(all)-accepted, byCode,
		accepted)
	return all, refusals
}

// TestBadInput makes every mistake in every field of OpenAI's schema of Chat, to the exchange itself and through Envoy.
// Each is an error that names the field, and none reaches a server.
func TestBadInput(t *testing.T) { chatAPI.testBadInputs(t) }

// TestBadResponsesInput does so with the schema of Responses.
func TestBadResponsesInput(t *testing.T) { responsesAPI.testBadInputs(t) }

func (api *fieldAPI) testBadInputs(t *testing.T) {
	c := cases.Load(t, "chat_text_whole")
	server, url := lab.RunSim(t, sim.Options{Keep: 10_000})
	config, err := c.Config(url)
	if err != nil {
		t.Fatal(err)
	}
	var all []badInput
	var refusals []*refusedWith
	t.Run("native", func(t *testing.T) {
		all, refusals = api.checkBadInputs(t, exchange.New(
			exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
	})
	t.Run("envoy", func(t *testing.T) {
		host, err := hosts.Envoy(hosts.Setup{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Stop)
		client := &http.Client{Timeout: time.Minute}
		defer client.CloseIdleConnections()
		accepted := 0
		for i, bad := range all {
			if refusals[i] == nil {
				accepted++
			}
			got, want := refusalThrough(t, client, host.URL+api.path, bad.body), refusals[i]
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
func refusalThrough(t *testing.T, client *http.Client, url string, b []byte) *refusedWith {
	t.Helper()
	response, err := client.Post(url, "application/json", bytes.NewReader(b))
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
