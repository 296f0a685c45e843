package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// FuzzTokenIDs compares the check of what clients send back with what encoding/json reads, and the members that servers
// get with the client's.
func FuzzTokenIDs(f *testing.F) {
	f.Add(`[1,2]`, `[3, 4]`, `[-0.5,-1e-05]`)
	f.Add(`[]`, `[ ]`, `[]`)
	f.Add(`[1.0]`, `["3"]`, `[null]`)
	f.Add(`[[1]]`, `{"a":1}`, `[true]`)
	f.Add(`null`, `[-1]`, `1`)
	f.Fuzz(func(t *testing.T, prompt, sampled, logprobs string) {
		item := `{"role":"assistant","content":"A","` + memberPromptIDs + `":` + prompt + `,"` + memberSampledIDs + `":` + sampled +
			`,"` + memberLogprobs + `":` + logprobs + `}`
		var read struct {
			Role     string
			Prompt   any `json:"prompt_token_ids"`
			Sampled  any `json:"generation_token_ids"`
			Logprobs any `json:"generation_log_probs"`
		}
		decoder := json.NewDecoder(strings.NewReader(item))
		decoder.UseNumber()
		body, failure := Open([]byte(`{"model":"m","input":[` + item + `]}`))
		if failure != nil || decoder.Decode(&read) != nil || decoder.More() {
			return // not JSON, or other JSON
		}
		r, failure := DecodeResponsesRequest(body)
		if failure != nil || len(r.Input) != 1 {
			return
		}
		ids := r.Input[0].TokenIDs
		if read.Prompt == nil && read.Sampled == nil && read.Logprobs == nil {
			if ids != nil {
				t.Errorf("%s has ids", item)
			}
			return
		}
		n, ok := numbersOf(read.Sampled, true)
		m, numbers := numbersOf(read.Logprobs, false)
		_, whole := numbersOf(read.Prompt, true)
		valid := ok && numbers && whole && n == m
		if err := ids.Check("input[0]"); (err == nil) != valid {
			t.Fatalf("%s: %v, want valid %t", item, err, valid)
		}
		if !valid {
			return
		}
		appended := append(ids.AppendMembers([]byte(`{"role":"x"`)), '}')
		want := map[string]any{"role": "x", memberPromptIDs: read.Prompt, memberSampledIDs: read.Sampled,
			memberLogprobs: read.Logprobs}
		var got map[string]any
		again := json.NewDecoder(bytes.NewReader(appended))
		again.UseNumber()
		if err := again.Decode(&got); err != nil || encoded(t, got) != encoded(t, want) {
			t.Fatalf("%s becomes %s: %v", item, appended, err)
		}
		p, _ := numbersOf(read.Prompt, true)
		if values := body.TokenIDValues(); values < p+n+m || values > body.Values {
			t.Fatalf("%s: %d values of ids, of %d", item, values, body.Values)
		}
	})
}

// numbersOf returns the number of elements of an array of numbers, and reports whether v is one: of digits only if
// whole is set.
func numbersOf(v any, whole bool) (int, bool) {
	list, ok := v.([]any)
	for _, each := range list {
		number, isNumber := each.(json.Number)
		ok = ok && isNumber && (!whole || strings.Trim(number.String(), "0123456789") == "")
	}
	return len(list), ok
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzDefaults: whatever an operator writes, what is left of it beside the sampling parameters are members of an
// object.
func FuzzDefaults(f *testing.F) {
	f.Add(`{"temperature":0.6,"top_k":20,"a":[1, {"b":"\u0041"}]}`, contract.VLLM)
	f.Add(`{"stop_token_ids":[1],"\n":null,"max_tokens":1}`, contract.SGLang)
	f.Add(`{"stream":true}`, contract.Text)
	f.Fuzz(func(t *testing.T, object, name string) {
		kind := contract.KindNamed(name)
		if kind == nil || !json.Valid([]byte(object)) || strings.TrimSpace(object) != object || object[0] != '{' {
			return
		}
		d, failure := ReadDefaults(contract.Object(object), kind)
		if failure != nil {
			return
		}
		rest := `{"x":1` + string(d.Rest()) + `}`
		if !json.Valid([]byte(rest)) {
			t.Fatalf("%s leaves %s", object, rest)
		}
		var s Sampling
		if err := s.Complete(nil, d); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
	})
}
