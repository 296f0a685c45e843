//go:build e2e && kinds

package suite

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// kindRefusal is what clients get that ask for what the kind of servers lacks: status 400 with this code and param, and
// a message that names the kind.
type kindRefusal struct {
	what, code string
	// param is the error's param. If it is empty, any will do.
	param string
}

// refusalOf returns what a case gets before servers of a kind that lacks something that it asks for. It returns nil if
// the kind lacks nothing of it, and for cases that fail in another way before vLLM too.
func refusalOf(t *testing.T, c *cases.Case, kind *contract.Kind) *kindRefusal {
	t.Helper()
	sent, reply := beforeVLLM(t, c, "")
	if !kind.StopTokens && strings.HasPrefix(errorOf(reply).Param, "stop_token_ids") {
		return &kindRefusal{what: "stop tokens", code: contract.CodeUnsupportedParameter, param: "stop_token_ids"}
	}
	if !kind.MinTokens && errorOf(reply).Param == "min_tokens" {
		return &kindRefusal{what: "least tokens", code: contract.CodeUnsupportedParameter, param: "min_tokens"}
	}
	if !kind.Biases && strings.HasPrefix(errorOf(reply).Param, "logit_bias.") {
		return &kindRefusal{what: "biases", code: contract.CodeUnsupportedParameter, param: "logit_bias"}
	}
	if sent == nil {
		return nil
	}
	var asked struct {
		Include  []string
		Logprobs bool
		N        int
	}
	var members struct {
		Biases    json.RawMessage `json:"logit_bias"`
		StopIDs   []uint32        `json:"stop_token_ids"`
		Salt      string          `json:"cache_salt"`
		MinTokens int             `json:"min_tokens"`
	}
	if json.Unmarshal(c.Body, &asked) != nil || json.Unmarshal(sent, &members) != nil {
		t.Fatalf("%s: its body is forwarded and is not JSON", c.Name)
	}
	strict := c.Header.Get(contract.StrictHeader)
	unsupported := func(what, param string) *kindRefusal {
		return &kindRefusal{what: what, code: contract.CodeUnsupportedParameter, param: param}
	}
	format := []uint32{tokenizer.Return, tokenizer.Call}
	switch {
	case kind.TextAnswers && strict == "1":
		return unsupported("strict parsing", contract.StrictHeader)
	case kind.TextAnswers && c.Settings["strict"] == "true" && strict == "":
		return unsupported("strict parsing of all answers", "model")
	case !kind.Logprobs && asked.Logprobs:
		return unsupported("logprobs", "logprobs")
	case !kind.Logprobs && slices.Contains(asked.Include, "message.output_text.logprobs"):
		return unsupported("logprobs", "include")
	case !kind.StopTokens && len(members.StopIDs) > len(format):
		return unsupported("stop tokens", "stop_token_ids")
	case !kind.Biases && members.Biases != nil:
		return unsupported("biases", "logit_bias")
	case !kind.Choices && asked.N > 1:
		return &kindRefusal{what: "choices", code: contract.CodeChoicesNotSupported, param: "n"}
	case !kind.Scheduling && members.Salt != "":
		return unsupported("scheduling", "")
	case !kind.MinTokens && members.MinTokens > 0:
		return unsupported("least tokens", "min_tokens")
	case kind.TextPrompts && spellsControl(t, sent):
		return &kindRefusal{what: "text that spells control tokens", code: contract.CodeControlTokenInText}
	case !kind.HoldsForms() && bytes.Contains(sent, []byte(`"structural_tag"`)):
		// As before a vLLM whose operator says that it has none.
		if _, reply := beforeVLLM(t, c, contract.NoStructure); reply != nil {
			r := unsupported("an enforced form", errorOf(reply).Param)
			if r.param == "tool_choice" {
				r.code = contract.CodeToolChoiceNotSupported
			}
			return r
		}
	}
	return nil
}

// beforeVLLM returns the body that the case's request becomes before vLLM, or the body of the reply. It returns neither
// for a request that is not translated. structure, if not empty, is the model's structured_outputs.
func beforeVLLM(t *testing.T, c *cases.Case, structure string) (sent, reply []byte) {
	t.Helper()
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	if structure != "" {
		config.Models[0].StructuredOutputs = structure
	}
	action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
	switch {
	case c.API() == "":
		return nil, nil
	case action.Forward != nil:
		return bytes.Clone(action.Forward.Body), nil
	case action.Reply != nil:
		return nil, action.Reply.Body
	}
	return nil, nil
}

// spellsControl reports whether the ordinary text of a prompt spells a control token: its text then has more of them
// than its ids.
func spellsControl(t *testing.T, sent []byte) bool {
	t.Helper()
	var request struct{ Prompt []uint32 }
	if err := json.Unmarshal(sent, &request); err != nil {
		t.Fatal(err)
	}
	specials := func(ids []uint32) (n int) {
		for _, id := range ids {
			if tokenizer.IsSpecial(id) {
				n++
			}
		}
		return n
	}
	text := lab.Vocabulary.DecodeString(request.Prompt)
	return specials(lab.Vocabulary.AppendEncodeSpecial(nil, text)) != specials(request.Prompt)
}

type clientError struct{ Message, Type, Code, Param string }

// errorOf returns the error in a body, or an empty one.
func errorOf(body []byte) clientError {
	var answer struct{ Error clientError }
	_ = json.Unmarshal(body, &answer) // else it is empty
	return answer.Error
}

// checkOn holds what a case's client gets in these places against the refusal.
func (r *kindRefusal) checkOn(t *testing.T, places []*place, c *cases.Case, kind string) {
	t.Helper()
	for on, seen := range runAll(t, c, places, 0) {
		head, body, _ := strings.Cut(seen.View, "\n\n")
		got := errorOf([]byte(body))
		if head != "400\ncontent-type: application/json" || got.Type != contract.InvalidRequestError ||
			got.Code != r.code || r.param != "" && got.Param != r.param || got.Param == "" ||
			!strings.Contains(got.Message, "("+kind+")") || seen.Prompt != "none\n" {
			t.Errorf("%s: %s: the client sees\n%s\nwant 400 %s for %q, naming %s", on.name, r.what, seen.View, r.code,
				r.param, kind)
		}
	}
}
