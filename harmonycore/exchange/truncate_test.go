package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// longTurns are turns of a conversation as items of an input: those that cannot be parted are one.
var longTurns = []string{
	`{"role":"user","content":"One, two."},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text",` +
		`"text":"Long ago."}]},{"role":"assistant","content":"Three."}`,
	`{"role":"user","content":"Is it raining?"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text",` +
		`"text":"I look."}]},` +
		`{"type":"function_call","call_id":"a","name":"look","arguments":"{}"},{"type":"function_call_output",` +
		`"call_id":"a","output":"rain and more rain"},` +
		`{"role":"developer","content":"Be brief."}`,
	`{"role":"user","content":"And elsewhere?"},{"type":"function_call","call_id":"b","name":"look","arguments":"{}"},` +
		`{"type":"function_call","call_id":"c","name":"look","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"b","output":"sun"},{"role":"user","content":"Hurry up."},` +
		`{"type":"function_call_output","call_id":"c","output":"fog"}`,
	`{"role":"user","content":"Thanks."}`,
	`{"role":"user","content":"And then?"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text",` +
		`"text":"Still at it."}]},{"type":"function_call","call_id":"a","name":"look","arguments":"{}"}`,
}

const longHead = `{"role":"system","content":"You know the weather."}`

// requestWith is a request with these turns.
func requestWith(turns []string, more string) string {
	return `{"model":"` + testModel + `","instructions":"Be kind."` + more +
		`,"tools":[{"type":"function","name":"look","parameters":{}}],"input":[` +
		strings.Join(append([]string{longHead}, turns...), ",") + `]}`
}

// plan is how many tokens the server is sent for a body and how many it is to write, or the error's code.
func plan(t *testing.T, g *Gateway, body string) (prompt []uint32, room int, code string, turns int) {
	t.Helper()
	x := g.Begin("POST", "/v1/responses")
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Reply != nil {
		var object struct{ Error struct{ Code string } }
		_ = json.Unmarshal(a.Reply.Body, &object)
		return nil, 0, object.Error.Code, 0
	}
	var sent struct {
		Prompt    []uint32
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.Prompt, sent.MaxTokens, "", x.Report().TruncatedTurns
}

// TestTruncation: in every context the prompt is the prompt of the request without its oldest turns, of as few as it
// takes for the prompt and the answer to fit; without truncation, and where the last turn does not fit, it is refused.
// The tokens that are counted beforehand are the tokens that are sent.
func TestTruncation(t *testing.T) {
	for _, leading := range []string{"", `{"role":"assistant","content":"Where was I? I had begun to tell of rain in ` +
		`the north, and of fog along the coast."}`} {
		turns := slices.Clone(longTurns)
		if leading != "" {
			turns = slices.Insert(turns, 0, leading)
		}
		var want [][]uint32
		for i := range turns {
			prompt, _, code, _ := plan(t, testGateway(nil), requestWith(turns[i:], ""))
			if code != "" {
				t.Fatal(code)
			}
			want = append(want, prompt)
		}
		shortest, seen := want[len(want)-1], map[int]bool{}
		for context := len(shortest) - 2; context < len(want[0])+60; context++ {
			g := testGateway(func(o *Options) { o.Models[0].ContextLength = context })
			for _, answer := range []int{0, 16, 40, 100_000} {
				more := ""
				if answer > 0 {
					more = fmt.Sprintf(`,"max_output_tokens":%d`, answer)
				}
				reserved := context / 4
				if answer > 0 && answer < reserved {
					reserved = answer
				}
				dropped := slices.IndexFunc(want, func(prompt []uint32) bool { return len(prompt)+reserved <= context })
				if len(want[0]) < context {
					dropped = 0
				}
				if dropped < 0 {
					dropped = len(want) - 1
				}
				body := requestWith(turns, more+`,"truncation":"auto"`)
				prompt, room, code, truncated := plan(t, g, body)
				if len(shortest) >= context {
					if code != "context_length_exceeded" {
						t.Fatalf("%d tokens: got %q, and a prompt of %d", context, code, len(prompt))
					}
					continue
				}
				left := context - len(prompt)
				if !slices.Equal(prompt, want[dropped]) || truncated != dropped || left < 1 || answer == 0 && room != left ||
					answer > 0 && room != min(answer, left) {
					t.Fatalf("%d tokens, %d for the answer: got %q, a prompt of %d without %d turns and room for %d; want %d "+
						"without %d",
						context, answer, code, len(prompt), truncated, room, len(want[dropped]), dropped)
				}
				if _, object := counted(t, g, "/v1/responses/input_tokens", body); object["input_tokens"] != float64(len(prompt)) {
					t.Fatalf("%d tokens: counted %v, sent %d", context, object["input_tokens"], len(prompt))
				}
				seen[dropped] = true
			}
			for _, word := range []string{"", `,"truncation":"disabled"`, `,"truncation":null`} {
				if prompt, _, code, _ := plan(t, g, requestWith(turns, word)); (code != "") != (len(want[0]) >= context) ||
					code == "" && !slices.Equal(prompt, want[0]) {
					t.Fatalf("%d tokens, %q: got %q and a prompt of %d", context, word, code, len(prompt))
				}
			}
		}
		if len(seen) != len(want) {
			t.Errorf("dropped %v of %d turns", seen, len(turns))
		}
	}
}

// TestTruncationHasNothingToDrop: an input without a turn is left as it is.
func TestTruncationHasNothingToDrop(t *testing.T) {
	for _, input := range []string{`"Hi"`, `[{"role":"developer","content":"Be kind."}]`,
		`[{"role":"assistant","content":""},{"role":"user","content":"Hi"}]`} {
		prompt, _, code, truncated := plan(t, testGateway(nil),
			`{"model":"`+testModel+`","truncation":"auto","input":`+input+`}`)
		if code != "" || truncated != 0 || len(prompt) == 0 {
			t.Errorf("%s: got %q, %d turns dropped", input, code, truncated)
		}
	}
}
