package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// TestLogprobs: the object of vLLM's completions, with names by id or by text, the token itself first and then the
// likeliest, one more than requested if the token is not among them.
func TestLogprobs(t *testing.T) {
	s := New(Options{AnyPrompt: true, Script: NewScript(
		Line{Match: "x", Tokens: []uint32{13225, 2375, 13225, 2375, 13225, tokenizer.Return}})})
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	send := func(members string) string {
		response, err := http.Post(server.URL+"/v1/completions", "application/json",
			strings.NewReader(`{"prompt":"x","max_tokens":9,`+members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	var whole struct {
		Choices []struct {
			Logprobs struct {
				TextOffset    []int                `json:"text_offset"`
				TokenLogprobs []float64            `json:"token_logprobs"`
				Tokens        []string             `json:"tokens"`
				Top           []map[string]float64 `json:"top_logprobs"`
			}
		}
	}
	if err := json.Unmarshal([]byte(send(`"logprobs":2,"return_tokens_as_token_ids":true,"n":2`)), &whole); err != nil ||
		len(whole.Choices) != 2 {
		t.Fatalf("%v, %+v", err, whole)
	}
	l := whole.Choices[1].Logprobs
	if len(l.Tokens) != 6 || l.Tokens[0] != "token_id:13225" || l.TextOffset[1] != len(l.Tokens[0]) ||
		len(l.TokenLogprobs) != 6 {
		t.Errorf("%+v", l)
	}
	for at, want := range []int{2, 2, 3, 3, 2, 2} {
		if len(l.Top[at]) != want || l.Top[at][l.Tokens[at]] != l.TokenLogprobs[at] {
			t.Errorf("at %d: %v, want %d", at, l.Top[at], want)
		}
	}
	if got := send(`"stream":true,"logprobs":0`); strings.Count(got, `"top_logprobs":[{"`) != 6 ||
		!strings.Contains(got, `"tokens":["Hello"]`) {
		t.Errorf("got %s", got)
	}
	if got := send(`"stream":true`); strings.Count(got, `"logprobs":null`) != 6 {
		t.Errorf("got %s", got)
	}
	for members, want := range map[string]string{
		`"logprobs":21`: "greater than max allowed: 20", `"logprobs":-1`: "greater than max allowed: 20",
		`"logprobs":-2`: "must be non-negative or -1"} {
		if got := send(members); !strings.Contains(got, want) {
			t.Errorf("%s: %s", members, got)
		}
	}
}
