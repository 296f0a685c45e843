//go:build e2e

package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// quietly is a stream of an API that passes the service. Of each, members are the body's beside the model.
type quietly struct{ path, members string }

var quietAPIs = map[string]quietly{
	"responses": {"responses", `"input":"hi","store":false,"stream":true`},
	"chat":      {"chat/completions", `"messages":[{"role":"user","content":"hi"}],"stream":true`},
	"messages": {"messages", `"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},` +
		`"messages":[{"role":"user","content":"hi"}],"stream":true`},
}

// signOf is in the last line of each API's sign of life.
var signOf = map[string]string{"responses": `"type":"response.in_progress"`, "chat": ": keep-alive",
	"messages": `"type":"ping"`}

// answerTokens are what the model says.
func answerTokens() []uint32 {
	return lab.Tokens("<|channel|>analysis<|message|>a thought<|end|><|start|>assistant<|channel|>final<|message|>" +
		"the answer<|return|>")
}

// answerEach is a script with an answer for each API: a line is used once.
func answerEach() *sim.Script {
	line := sim.Line{Tokens: answerTokens()}
	return sim.NewScript(line, line, line)
}

// readQuiet checks a stream of an API by its grammar, and returns its text, how many signs of life it had, and the kind
// of the error at its end.
func readQuiet(t *testing.T, g *gateway, api string, a lab.Answer) (text string, signs int, failure string) {
	t.Helper()
	switch api {
	case "responses":
		rest, n, err := grammar.WithoutSigns(a.Body)
		if err != nil || a.Err != nil {
			t.Fatalf("%v, %v: %s", err, a.Err, a.Body)
		}
		r := g.In(t).LastOf(rest)
		return r.Text(), n, r.Code()
	case "messages":
		if a.Err != nil {
			t.Fatalf("%v: %s", a.Err, a.Body)
		}
		failed := strings.Contains(a.Body, "event: error\n")
		message, _, err := grammar.ReadMessages(a.Body, false)
		if err != nil {
			t.Fatalf("%v: %s", err, a.Body)
		}
		if failed {
			_, data, _ := strings.Cut(a.Body, "event: error\ndata: ")
			var e struct{ Error struct{ Type string } }
			if err := json.Unmarshal([]byte(strings.TrimSpace(data)), &e); err != nil {
				t.Fatal(err)
			}
			return "", strings.Count(a.Body, "event: ping\n"), e.Error.Type
		}
		content, _ := message["content"].([]any)
		block, _ := content[len(content)-1].(map[string]any)
		return fmt.Sprint(block["text"]), strings.Count(a.Body, "event: ping\n"), ""
	}
	rest, signs := grammar.WithoutComments(a.Body)
	for _, event := range strings.SplitAfter(rest, "\n\n") {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   *struct{ Code string }
		}
		data, found := strings.CutPrefix(event, "data: ")
		switch {
		case event == "", event == "data: [DONE]\n\n":
			continue
		case !found || json.Unmarshal([]byte(data), &chunk) != nil:
			t.Fatalf("%q in %s", event, a.Body)
		case chunk.Error != nil:
			failure = chunk.Error.Code
		case len(chunk.Choices) > 0:
			text += chunk.Choices[0].Delta.Content
		}
	}
	if (a.Err != nil) != (failure != "") || strings.HasSuffix(rest, "data: [DONE]\n\n") != (failure == "") {
		t.Errorf("the stream ends with %v: %s", a.Err, a.Body)
	}
	return text, signs, failure
}

// ask sends the API's request.
func (q *quietly) ask(g *gateway) lab.Answer {
	return lab.Do(g.Client, "POST", g.URL+"/v1/"+q.path, http.Header{"anthropic-version": {"2023-06-01"}},
		strings.NewReader(`{"model":"`+lab.Model+`",`+q.members+`}`))
}

// TestQuietPrefill: a stream has signs of life while the model's server reads the prompt, and is what it would have
// been without.
func TestQuietPrefill(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := start(t, host, "", "", sim.Options{Keep: 100, TimeToFirstToken: 3500 * time.Millisecond,
				Script: answerEach()}, "relay: retry", "keep_alive: 1s")
			for api, q := range quietAPIs {
				t.Run(api, func(t *testing.T) {
					t.Parallel()
					a := q.ask(g)
					text, signs, failure := readQuiet(t, g, api, a)
					if a.Status != 200 || text != "the answer" || failure != "" || signs < 2 {
						t.Errorf("%d, %q after %d signs of life, %s", a.Status, text, signs, failure)
					}
				})
			}
		})
	}
}

// TestQuietPause: a stream whose server falls silent in the middle has signs of life until it goes on.
func TestQuietPause(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 5,
				Script: answerEach()}, "relay: finish", "keep_alive: 1s")
			open := map[string]*service.Reading{}
			for api, q := range quietAPIs {
				open[api] = g.Open("POST", q.path, `{"model":"`+lab.Model+`",`+q.members+`}`)
			}
			for api, r := range open {
				r.Until("thought")
				for range 2 {
					r.Until(signOf[api])
				}
			}
			g.Sim.Release()
			for api, r := range open {
				text, signs, failure := readQuiet(t, g, api, lab.Answer{Status: 200, Body: r.End()})
				if text != "the answer" || failure != "" || signs < 1 {
					t.Errorf("%s: %q after %d signs of life, %s", api, text, signs, failure)
				}
			}
		})
	}
}

// TestRelayEnds lets the model's server die before the first token and in the middle, in the APIs that are passed on.
// Each stream ends with an error of its API, or is asked for once more where its client has seen nothing.
func TestRelayEnds(t *testing.T) {
	late := sim.Fault{Kind: sim.FaultReset, After: 5}
	drop, early := sim.Fault{Kind: sim.FaultDrop}, sim.Fault{Kind: sim.FaultReset, After: 1} // a token that shows nothing
	codes := map[string]string{"chat": "server_error", "messages": "api_error"}
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			for _, tt := range []struct {
				name, relay string
				fault       sim.Fault
				prefill     time.Duration
				asked       int
				ends        bool
			}{
				{"in the middle", "finish", late, 0, 1, false},
				{"in the middle, retry", "retry", late, 0, 1, false},
				{"in a quiet prefill", "finish", early, 2500 * time.Millisecond, 1, false},
				{"in a quiet prefill, retry", "retry", early, 2500 * time.Millisecond, 2, true},
				{"before the headers, retry", "retry", drop, 0, 2, true},
			} {
				for _, api := range []string{"chat", "messages"} {
					t.Run(tt.name+" "+api, func(t *testing.T) {
						t.Parallel()
						g := start(t, host, "", "", sim.Options{Keep: 100, TimeToFirstToken: tt.prefill,
							Script: sim.NewScript(sim.Line{Tokens: answerTokens(), Fault: &tt.fault},
								sim.Line{Tokens: answerTokens()})}, "relay: "+tt.relay, "keep_alive: 1s")
						q := quietAPIs[api]
						a := q.ask(g)
						text, signs, failure := readQuiet(t, g, api, a)
						if n := len(g.Prompts()); n != tt.asked || a.Status != 200 || (signs > 0) != (tt.prefill > 0) ||
							(failure == "") != tt.ends || tt.ends && text != "the answer" || !tt.ends && failure != codes[api] {
							t.Errorf("asked %d times; %d %q after %d signs, %s", n, a.Status, text, signs, failure)
						}
					})
				}
			}
		})
	}
}

// TestQuietClientLeaves: a client that leaves in a quiet prefill ends the server's work.
func TestQuietClientLeaves(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := start(t, host, "", "", sim.Options{Keep: 100, TimeToFirstToken: time.Hour,
				Script: answerEach()}, "relay: finish", "keep_alive: 1s")
			for api, q := range quietAPIs {
				before := aborted(g.Sim.Requests())
				r := g.Open("POST", q.path, `{"model":"`+lab.Model+`",`+q.members+`}`)
				r.Until(signOf[api])
				r.Leave()
				ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
				_, err := g.Sim.Await(ctx, func(all []sim.Request) bool { return aborted(all) > before })
				cancel()
				if err != nil {
					t.Errorf("%s: %v", api, err)
				}
			}
		})
	}
}

// aborted counts the requests whose clients have left.
func aborted(all []sim.Request) (n int) {
	for i := range all {
		if all[i].Aborted {
			n++
		}
	}
	return n
}
