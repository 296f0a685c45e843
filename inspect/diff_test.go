package inspect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// compared is what the JSON of a comparison has.
type compared struct {
	Reason                                      string
	Message                                     struct{ A, B int }
	ATokens                                     int `json:"a_tokens"`
	AGenerated                                  int `json:"a_generated"`
	BTokens                                     int `json:"b_tokens"`
	Common, Block, Cached, Computed, Again, New int
}

func diff(t *testing.T, a, b string, o DiffOptions) (compared, *Diff) {
	t.Helper()
	d, err := NewDiff(o200k.Tokenizer(), DiffFile{"a", []byte(a)}, DiffFile{"b", []byte(b)}, o)
	if err != nil {
		t.Fatal(err)
	}
	var c compared
	if err := json.Unmarshal(d.AppendJSON(nil), &c); err != nil {
		t.Fatal(err)
	}
	if c.Cached+c.Computed != c.BTokens || c.Again+c.New != c.Computed || c.Again < 0 || c.New < 0 {
		t.Errorf("the numbers do not add up: %+v", c)
	}
	return c, d
}

// conversations are the same two turns by each API.
var conversations = map[string][2]string{
	"chat": {
		`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Where?"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Where?"},` +
			`{"role":"assistant","content":"There."},{"role":"user","content":"When?"}]}`,
	},
	"responses": {
		`{"model":"m","instructions":"Be brief.","input":"Where?"}`,
		`{"model":"m","instructions":"Be brief.","input":[{"role":"user","content":"Where?"},` +
			`{"role":"assistant","content":"There."},{"role":"user","content":"When?"}]}`,
	},
	"messages": {
		`{"model":"m","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"Where?"}]}`,
		`{"model":"m","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"Where?"},` +
			`{"role":"assistant","content":"There."},{"role":"user","content":"When?"}]}`,
	},
}

func TestDiffOfEachAPI(t *testing.T) {
	for api, turns := range conversations {
		for _, o := range []DiffOptions{{Block: 16}, {Block: 16, API: api}} {
			c, d := diff(t, turns[0], turns[1], o)
			if d.now.api != api || c.Reason != "none" || c.Common != c.ATokens || c.BTokens <= c.ATokens || c.Again > 15 {
				t.Errorf("%s: read as %s, %+v", api, d.now.api, c)
			}
			c, _ = diff(t, turns[0], strings.Replace(turns[1], "brief", "long", 1), o)
			if c.Reason != "instructions" || c.Message.A != 2 || c.Message.B != 2 {
				t.Errorf("%s: %+v", api, c)
			}
		}
		// The same turn by another API has the same prompt.
		if c, _ := diff(t, turns[0], conversations["responses"][0], DiffOptions{}); c.Reason != "none" ||
			c.Common != c.BTokens || c.Computed != 1 {
			t.Errorf("%s: %+v", api, c)
		}
	}
}

func TestDiffFindsTheAPI(t *testing.T) {
	const start = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":`
	for body, api := range map[string]string{
		start + `"Hi"}]}`:                                                         "chat",
		start + `"Hi"}],"stop_sequences":["x"]}`:                                  "messages",
		start + `"Hi"}],"thinking":{"type":"adaptive"}}`:                          "messages",
		start + `"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`: "messages",
		start + `"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`:   "chat",
		start + `[{"type":"text","text":"Hi"}]}]}`:                                "chat",
		start + `[{"type":"tool_result","tool_use_id":"a","content":"b"}]}]}`:     "messages",
		`{"id":1,"messages":` + start + `"Hi"}]},"date":"2026-01-31"}`:            "messages",
		`{"model":"m","input":"Hi","messages":null}`:                              "chat",
	} {
		var p diffPrompt
		if err := p.read(o200k.Tokenizer(), DiffFile{"a", []byte(body)}, DiffOptions{}); err != nil || p.api != api {
			t.Errorf("%s: %s, %v", body, p.api, err)
		}
	}
}

// recordOf returns the record of a request with this prompt and answer.
func recordOf(prompt, generated []uint32) string {
	ids, _ := json.Marshal(prompt)
	out, _ := json.Marshal(generated)
	return fmt.Sprintf(`{"type":"request","record":1,"path":"/v1/responses","body":{"input":"Hi"}}
{"type":"sent","at_ms":1,"server":"vllm","model":"m","prompt_ids":%s}
{"type":"tokens","at_ms":2,"choice":0,"ids":%s}
`, ids, out)
}

// TestDiffOfRecords compares records, whose servers have what they generated, and gives a body the day of a record.
func TestDiffOfRecords(t *testing.T) {
	const date = "2026-01-31"
	_, d := diff(t, conversations["responses"][0], conversations["responses"][1], DiffOptions{Date: date})
	first, second := d.before.ids, d.now.ids
	generated := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>There.<|return|>")
	record := recordOf(first, generated)
	c, _ := diff(t, record, recordOf(second, nil), DiffOptions{Block: 1})
	// <|return|> is <|end|> in the next prompt. That is no difference: no server has computed it.
	if c.Reason != "none" || c.AGenerated != len(generated) ||
		c.Cached != len(first)+len(generated)-1 {
		t.Errorf("%+v", c)
	}
	if c, _ = diff(t, record, conversations["responses"][1], DiffOptions{Block: 1}); c.Common != c.Cached ||
		c.Cached != len(first)+len(generated)-1 {
		t.Errorf("the body has another day than the record: %+v", c)
	}
	other := o200k.Tokenizer().AppendEncodeSpecial(slices.Clone(first), "<|channel|>final<|message|>Here.<|end|>")
	if c, _ = diff(t, record, recordOf(other, nil), DiffOptions{Block: 1}); c.Reason != "answer" ||
		c.Common != len(first)+3 {
		t.Errorf("%+v", c)
	}
	chat := `{"type":"request","record":1,"path":"/v1/responses","body":` + conversations["responses"][0] + "}\n" +
		`{"type":"sent","at_ms":1,"server":"chat","model":"m","body":{}}`
	if c, _ = diff(t, chat, conversations["responses"][0], DiffOptions{}); c.Reason != "none" || c.Computed != 1 {
		t.Errorf("a record without ids: %+v", c)
	}
}

// TestDiffOfEnds compares prompts for a server that goes on only from where the earlier one ended.
func TestDiffOfEnds(t *testing.T) {
	turns := conversations["chat"]
	c, _ := diff(t, turns[0], turns[1], DiffOptions{Block: 4, Ends: true})
	if want := (c.ATokens - 1) / 4 * 4; c.Reason != "none" || c.Cached != want {
		t.Errorf("%+v, want %d cached", c, want)
	}
	c, _ = diff(t, turns[0], strings.Replace(turns[1], "brief", "long", 1), DiffOptions{Block: 4, Ends: true})
	if c.Reason != "instructions" || c.Common < 32 || c.Cached != 0 {
		t.Errorf("%+v", c)
	}
}

func TestDiffPrintsNoText(t *testing.T) {
	_, d := diff(t, conversations["chat"][0], strings.Replace(conversations["chat"][1], "Where", "Who\x7f\\u202e", 1),
		DiffOptions{Block: 16, Date: "2026-01-31"})
	var plain, shown strings.Builder
	if d.Write(&plain, false) != nil || d.Write(&shown, true) != nil {
		t.Fatal("not written")
	}
	if strings.Contains(plain.String(), "Where") ||
		!strings.Contains(plain.String(), "user: a message of the user differs") {
		t.Error(plain.String())
	}
	if !strings.Contains(shown.String(), "A | ") || !strings.Contains(shown.String(), `>> Where?<|end|>`) ||
		!strings.Contains(shown.String(), `Who\x7f\u{202e}`) {
		t.Error(shown.String())
	}
}

func TestDiffErrors(t *testing.T) {
	good := conversations["chat"][0]
	for bad, want := range map[string]string{
		"":                 "b: it is empty",
		"hello":            "b: it is no body of a request",
		"[]":               "b: it is no body of a request",
		`{"a":1}`:          "b: it is no body of a request",
		good + "\n" + good: "b: it is not JSON, or more than one object",
		`{"model":"m","messages":[{"role":"nobody","content":"Hi"}]}`:  "b: the gateway refuses this body as a request",
		`{"responses":{"model":"m","input":"Hi"},"date":"31 January"}`: `b: "31 January" is not a day`,
		`{"type":"request","record":1,"path":"/v1/responses"}`:         "b: the record has neither a prompt nor",
		`{"completion":["x"]}`: `b: "completion" must be an array`,
	} {
		_, err := NewDiff(o200k.Tokenizer(), DiffFile{"a", []byte(good)}, DiffFile{"b", []byte(bad)}, DiffOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v", bad, err)
		}
	}
}
