//go:build !tinygo

// TinyGo cannot list a folder.

package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// suiteCase is a case of the behaviour suite with one answer of a server.
type suiteCase struct {
	name, path string
	body       []byte
	ids        []uint32
	finish     string
}

// suiteCases returns the cases of the suite that need no settings and no headers, and whose script is one answer.
func suiteCases(t *testing.T) []suiteCase {
	t.Helper()
	files, err := filepath.Glob("../../e2e/cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var cases []suiteCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := suiteCase{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), finish: "length"}
		script, settings := "", false
		// A case is a txtar archive. The core's tests import no module for it, since go mod tidy would fetch that for
		// everyone who imports the core (make test-go-get).
		for _, member := range strings.Split("\n"+string(data), "\n-- ")[1:] {
			name, text, _ := strings.Cut(member, " --\n")
			switch name {
			case "request":
				head, body, _ := strings.Cut(text, "\n\n")
				c.path, _, _ = strings.Cut(strings.TrimPrefix(head, "POST "), "\n")
				settings = settings || strings.Contains(head, "x-harmony-")
				c.body = []byte(strings.TrimSpace(body))
			case "script":
				script = strings.TrimSpace(text)
			case "settings":
				settings = true
			}
		}
		var line struct{ Text, Match, Finish string }
		if settings || c.path != contract.ChatPath && c.path != contract.ResponsesPath ||
			json.Unmarshal([]byte(script), &line) != nil || line.Text == "" || line.Match != "" {
			continue
		}
		for _, id := range o200k.Tokenizer().AppendEncodeSpecial(nil, line.Text) {
			c.ids = append(c.ids, id)
			if id == tokenizer.Return || id == tokenizer.Call {
				c.finish = "stop"
				break
			}
		}
		if line.Finish != "" {
			c.finish = line.Finish
		}
		cases = append(cases, c)
	}
	return cases
}

// idEvents is the stream of a server that writes an answer in token ids, one in an event.
func idEvents(ids []uint32, finish string) string {
	var b strings.Builder
	for i, id := range ids {
		reason := "null"
		if i == len(ids)-1 {
			reason = `"` + finish + `"`
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"token_ids\":[%d],\"finish_reason\":%s}]}\n\n", id, reason)
	}
	return b.String() + usageOf(len(ids)) + serverDone
}

// allEstimated are the counts of tokens that are estimates in an answer that ended early.
var allEstimated = regexp.MustCompile(`"(completion_tokens|output_tokens|total_tokens)":[0-9]+`)

// ambiguousText are the cases whose answers say something else without control tokens, by the reason (docs/servers.md).
var ambiguousText = map[string]string{
	"the name of a custom tool, and its input": "chat_custom_lark chat_custom_tool_stream chat_custom_tool_whole " +
		"responses_additional_tools responses_custom_lark_any responses_custom_lark_shown " +
		"responses_custom_length responses_custom_regex_shown responses_custom_regex_whole responses_custom_stream " +
		"responses_custom_whole responses_namespace_allowed responses_namespace_custom",
	"a message without <|start|>": "chat_missing_start responses_missing_start",
	"an unknown channel":          "chat_unknown_channel responses_unknown_channel",
	"a second header, after the one in the prompt": "choice_custom_whole choice_named_stream choice_named_whole " +
		"responses_choice_named_stream responses_choice_named_whole responses_choice_of_chat responses_custom_choice " +
		"responses_local_shell_choice",
	"a message that ends just before the limit": "responses_length_preamble responses_length_reasoning_stream",
}

// isAmbiguous reports whether a case's answer says something else without control tokens.
func isAmbiguous(name string) bool {
	for _, names := range ambiguousText {
		if slices.Contains(strings.Fields(names), name) {
			return true
		}
	}
	return false
}

// TestTextLikeSuite: what the model of a case of the suite writes gives the client the same as text, with control tokens
// and without them. The cases where that is not so are known.
func TestTextLikeSuite(t *testing.T) {
	for _, form := range textForms {
		compared := 0
		for _, c := range suiteCases(t) {
			whole := func(m *contract.Model) {
				contract.SetDefaults(m.ModelSettings.Fields())
				m.StructuredOutputs = contract.NoStructure
			}
			ids := testGateway(func(o *Options) { whole(&o.Models[0]) })
			text := textGateway(whole)
			x := ids.Begin("POST", c.path)
			if a := x.Request(bytes.Clone(c.body), Host{Now: testNow, ID: testID}); a.Forward == nil {
				continue
			}
			want := outcome(t, x, []string{idEvents(c.ids, c.finish), ""})
			y := text.Begin("POST", c.path)
			if a := y.Request(bytes.Clone(c.body), Host{Now: testNow, ID: testID}); a.Forward == nil {
				continue // it asks for what text cannot give
			}
			got := outcome(t, y, []string{form.textEvents(c.ids, c.finish), ""})
			repairs, textRepairs := x.Report().Recoveries, y.Report().Recoveries
			if x.Report().EarlyEnd == EarlyReasoning {
				continue // a limit on reasoning is held by estimate
			}
			compared++
			if x.Report().EarlyEnd != "" { // the server's count of its tokens is not used
				got, want = allEstimated.ReplaceAllString(got, "$1"), allEstimated.ReplaceAllString(want, "$1")
			}
			// A repair of the token that ended the answer shows only where the server writes that token.
			same := folded(t, got) == folded(t, want) && (!form.stops || repairs == textRepairs)
			if same == (form.stripped && isAmbiguous(c.name)) {
				t.Errorf("%s, %s, the same: %v\n got %s\nwant %s", c.name, form.name, same, got, want)
			}
		}
		if compared < 90 {
			t.Errorf("%s: only %d cases were compared", form.name, compared)
		}
	}
}
