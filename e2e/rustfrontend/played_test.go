//go:build rustfrontend

package rustfrontend_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestRustFrontEndAsPlayed asks the real front end and the simulated one the same, and wants the same answers: what the
// simulated one refuses, it refuses in the real one's words.
func TestRustFrontEndAsPlayed(t *testing.T) {
	const length = 60
	options := sim.Options{
		Models: []string{lab.Model}, MaxModelLen: length, FrontEnd: sim.RustFrontEnd, AnyPrompt: true,
		PromptTokensDetails: true, TokensPerChunk: 3,
	}
	p := runFrontEnd(t, length)
	long := strings.Repeat("1,", length-1) + "1"
	for _, members := range []string{
		`"prompt":[1],"return_token_ids":true,"stream_options":{"include_usage":true}`,
		`"prompt":[1],"stop_token_ids":[17196],"return_token_ids":true`,
		`"prompt":[1],"max_tokens":4`,
		`"prompt":[1],"max_tokens":4,"logprobs":3,"return_tokens_as_token_ids":true,"return_token_ids":true,` +
			`"stream_options":{"include_usage":true}`,
		`"prompt":[1],"spaces_between_special_tokens":true,"max_tokens":100000`,
		`"prompt":[1],"spaces_between_special_tokens":false`,
		`"prompt":[1],"n":2`,
		`"prompt":[1],"n":2,"spaces_between_special_tokens":false,"use_beam_search":true`,
		`"prompt":[1],"spaces_between_special_tokens":false,"use_beam_search":true`,
		`"prompt":[1],"suffix":"x"`,
		`"prompt":[1],"max_tokens":0`,
		`"prompt":[1],"stream":false,"stream_options":{"include_usage":true}`,
		`"prompt":[` + long + `],"max_tokens":1`,
		`"prompt":[` + long + `,1],"max_tokens":1`,
		`"prompt":[201088]`,
		`"prompt":[1],"logit_bias":{"201088":1}`,
		`"prompt":[1],"temperature":2.5`,
		`"prompt":[1],"presence_penalty":3`,
		`"prompt":[1],"frequency_penalty":-2.5`,
		`"prompt":[1],"min_p":3`,
		`"prompt":[1],"top_p":0`,
		`"prompt":[1],"repetition_penalty":0`,
		`"prompt":[1],"max_tokens":2,"min_tokens":3`,
		`"prompt":[1],"logprobs":30`,
		`"prompt":[1],"thinking_token_budget":-2`,
	} {
		// Neither has read a prompt before, so that none is known.
		engine := sim.New(options)
		p.engine.Store(engine)
		body := `{"model":"` + lab.Model + `",` + members + `}`
		if !strings.Contains(members, `"stream":`) {
			body = body[:len(body)-1] + `,"stream":true}`
		}
		want := completionOf(t, p.server.URL, body)
		engine.Close()
		_, url := lab.RunSim(t, options)
		if got := completionOf(t, url, body); got != want {
			t.Errorf("%s: the simulated front end answers\n%s\nthe real one\n%s", members, got, want)
		}
	}
}

// TestRustFrontEndAsPlayedBySuite gives everything that the gateway makes of the suite's requests to the real front end
// and to the simulated one. Both must answer with the same status, the same members and the same events.
func TestRustFrontEndAsPlayedBySuite(t *testing.T) {
	p := runFrontEnd(t, 0)
	ran, left := 0, map[string]int{}
	for _, c := range cases.All(t) {
		why := notOfRustFrontEnd(c)
		if c.Name == "error_format_server" {
			why = "what an engine refuses, which the front end does not check"
		}
		if why != "" {
			left[why]++
			continue
		}
		config, err := c.Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = contract.ModeFull
		action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
		if action.Forward == nil || action.Forward.Body == nil {
			left["nothing for a server"]++
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) { answersAlike(t, p, c, string(action.Forward.Body)) })
	}
	t.Logf("%d requests; left out: %v", ran, left)
	if ran < 200 {
		t.Errorf("only %d requests", ran)
	}
}

// answersAlike wants the same answer to a case's request from the real front end and from the simulated one. Each has
// an engine of its own, since an engine knows the prompts that it has read.
func answersAlike(t *testing.T, p *rustPlace, c *cases.Case, body string) {
	played := *c
	played.Settings = maps.Clone(c.Settings)
	played.Settings["front_end"] = sim.RustFrontEnd
	engine, err := played.Server(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	p.engine.Store(engine)
	want := completionOf(t, p.server.URL, body)
	simulated, err := played.Server(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(simulated.Handler())
	defer server.Close()
	defer simulated.Close()
	if got := completionOf(t, server.URL, body); got != want {
		t.Errorf("%s: the simulated front end answers\n%s\nthe real one\n%s", body, got, want)
	}
}

var (
	completionPattern   = regexp.MustCompile(`cmpl-[0-9a-f]+`)
	alternativesPattern = regexp.MustCompile(`\{("token_id:[^}]*)\}`)
)

// completionOf is the answer of a server to a completion, without what differs from run to run: ids, times, and the
// order of alternatives, which are a hash map's.
func completionOf(t *testing.T, url, body string) string {
	t.Helper()
	answer := lab.Ask(lab.HTTP1(t), url+lab.RawPath, body)
	if answer.Err != nil {
		t.Fatal(answer.Err)
	}
	text := completionPattern.ReplaceAllString(cases.Normalise(answer.Body), "cmpl-<>")
	text = alternativesPattern.ReplaceAllStringFunc(text, func(object string) string {
		members := strings.Split(strings.Trim(object, "{}"), ",")
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	})
	return fmt.Sprintf("%d %s\n%s", answer.Status, answer.Header.Get("content-type"), text)
}
