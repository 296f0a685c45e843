package completion

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func ids(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }

const final = "<|channel|>final<|message|>"

// beginCompletion starts a completion of a Chat request with these members.
func beginCompletion(t *testing.T, members string) *Completion {
	t.Helper()
	model := GPTOSS("m")
	model.Extras = []string{"top_k", "min_tokens"}
	tr := New(Options{Tokenizer: o200k.Tokenizer(), Model: model,
		Now: func() time.Time { return time.Unix(1_767_323_045, 0) }})
	c, err := tr.Chat([]byte(`{"model":"m","messages":[{"role":"user","content":"Hi"}]` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// all passes the model's text to the first choice token by token, and ends the choice.
func all(t *testing.T, c *Completion, text string, reason Finish) string {
	t.Helper()
	var out []byte
	for _, id := range ids(text) {
		chunk, err := c.Write(0, id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, chunk...)
	}
	chunk, err := c.End(0, reason)
	if err != nil || !c.Done() {
		t.Fatal(err, c.Done())
	}
	return string(append(out, chunk...))
}

func TestRequest(t *testing.T) {
	c := beginCompletion(t, `,"temperature":0.5,"seed":1234567890123456789,"logit_bias":{"5":-1.5},"max_tokens":9,"n":2,`+
		`"presence_penalty":0.25,"stop_token_ids":[7],"top_k":40,"min_p":0.1,"min_tokens":3`)
	if n := len(c.Prompt); n == 0 || c.Prompt[n-1] != ids("assistant")[0] || c.Prompt[0] != tokenizer.Start {
		t.Errorf("prompt %v", c.Prompt)
	}
	if !slices.Equal(c.StopTokens, []uint32{tokenizer.Return, tokenizer.Call, 7}) || c.MaxTokens != 9 || c.Choices != 2 {
		t.Errorf("%+v", c.Request)
	}
	if s := c.Sampling; s.Temperature != 0.5 || s.TopP != 1 || s.PresencePenalty != 0.25 || s.FrequencyPenalty != 0 ||
		s.Seed != "1234567890123456789" || s.LogitBias[5] != -1.5 ||
		len(s.Extras) != 2 || s.Extras["top_k"] != "40" || s.Extras["min_tokens"] != "3" {
		t.Errorf("%+v", s)
	}
	if text := o200k.Tokenizer().DecodeString(c.Prompt); !strings.Contains(text, "Current date: 2026-01-02") {
		t.Error(text)
	}
}

func TestWholeAnswer(t *testing.T) {
	c := beginCompletion(t, "")
	got := all(t, c, final+"Hello<|return|>", Length)
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"content":"Hello"`) ||
		!strings.Contains(got, `"finish_reason":"length"`) || c.ContentType() != "application/json" {
		t.Error(got, c.ContentType())
	}
}

// TestDoneBeforeTheModel checks that the response is complete at a stop sequence and that later tokens are ignored.
func TestDoneBeforeTheModel(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		c := beginCompletion(t, `,"stop":["END"]`+stream)
		out, err := c.Write(0, ids(final+"One END two")...)
		if err != nil || !c.Done() || !strings.Contains(string(out), `"finish_reason":"stop"`) ||
			strings.Contains(string(out), "two") {
			t.Errorf("%v %s", err, out)
		}
		late, err := c.Write(0, 13225)
		end, endErr := c.End(0, Stopped)
		if len(late)+len(end) > 0 || err != nil || endErr != nil {
			t.Errorf("%s%s %v %v", late, end, err, endErr)
		}
	}
}

func TestChoices(t *testing.T) {
	c := beginCompletion(t, `,"n":2`)
	for i, text := range []string{"first", "second"} {
		if _, err := c.Write(i, ids(final+text+"<|return|>")...); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.End(1, Stopped); len(out) > 0 || err != nil || c.Done() {
		t.Fatal(string(out), err)
	}
	out, err := c.End(0, Stopped)
	if err != nil || !strings.Contains(string(out), "first") || !strings.Contains(string(out), "second") {
		t.Error(string(out), err)
	}
	if u := c.Usage(); u.Completion != 10 || u.Prompt != len(c.Prompt) {
		t.Errorf("%+v", u)
	}
}

func TestFail(t *testing.T) {
	c := beginCompletion(t, `,"stream":true`)
	var refused *Error
	if _, err := c.Fail(503, "out of memory"); !errors.As(err, &refused) || refused.Status != 429 ||
		!strings.Contains(refused.Error(), "out of memory") {
		t.Error(err)
	}
	c = beginCompletion(t, `,"stream":true`)
	if _, err := c.Write(0, ids(final+"Hello")...); err != nil {
		t.Fatal(err)
	}
	out, err := c.Fail(500, "out of memory")
	if err != nil || !strings.Contains(string(out), `"error":{"message":"out of memory"`) || !c.Done() {
		t.Error(string(out), err)
	}
	// A choice that was not asked for is an error of the program.
	if _, err := beginCompletion(t, "").Write(1, 13225); !errors.As(err, &refused) || refused.Status != 502 {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	tr := New(Options{Tokenizer: o200k.Tokenizer(), Model: GPTOSS("m"), MaxBody: 1000})
	const messages = `"messages":[{"role":"user","content":"Hi"}]`
	for body, want := range map[string]string{
		`{"model":"x",` + messages + `}`:                            "404 model_not_found",
		`{"model":"m",` + messages + `,"logprobs":true}`:            "400 unsupported_parameter",
		`{"model":"m","a":"` + strings.Repeat("x", 1000) + `"}`:     "413 request_too_large",
		`{"model":"m",` + messages + `,"tool_choice":"required"}`:   "400",
		`{"model":"m",` + messages + `,"reasoning_effort":"none"}`:  "400",
		`{"model":"m","messages":[{"role":"user","content":"Hi"}]`:  "400",
		`{"model":"m",` + messages + `,"reasoning_effort":"xhigh"}`: "",
	} {
		_, err := tr.Chat([]byte(body))
		var refused *Error
		status, code, _ := strings.Cut(want, " ")
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%.90s: %v", body, err)
		case want == "":
		case !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "status "+status) ||
			!strings.Contains(string(refused.Body), code):
			t.Errorf("%.90s: %v", body, err)
		}
	}
	body := []byte(`{"model":"m","input":"Hi","include":["message.output_text.logprobs"]}`)
	kept := string(body)
	if _, err := tr.Responses(body); err == nil || !strings.Contains(err.Error(), "include") || string(body) != kept {
		t.Error(err, string(body))
	}
}

// TestRandomIDs checks that each answer has an id of its own if the program supplies none.
func TestRandomIDs(t *testing.T) {
	a, b := randomID(), randomID()
	if len(a) < 24 || a == b {
		t.Error(a, b)
	}
}
