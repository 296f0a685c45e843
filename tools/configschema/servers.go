package main

import (
	"errors"
	"reflect"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The tables of docs/servers.md. The losses of clients are written by hand and kept.
const (
	serversTable = "| kind | prompts | answers | control tokens | choices | logprobs | stop tokens | structural tags | " +
		"thinking budget | scheduling | least tokens | biases | conversations | " +
		"renders |"
	lossesTable = "| without | what a client loses |"
)

// capabilityColumns are the columns of the fields of [contract.Capabilities], in their order. loss is the name of the
// row about servers without the capability.
var capabilityColumns = []struct{ field, yes, no, loss string }{
	{"TextPrompts", "text", "token ids", "prompts in token ids"},
	{"TextAnswers", "text", "token ids", "answers in token ids"},
	{"ControlTokens", "yes", "no", "control tokens"},
	{"Choices", "yes", "no", "choices"},
	{"Logprobs", "yes", "no", "logprobs"},
	{"StopTokens", "yes", "no", "stop tokens"},
	{"StructuralTags", "yes", "no", "structural tags"},
	{"ThinkingBudget", "yes", "no", "thinking budget"},
	{"Scheduling", "yes", "no", "scheduling"},
	{"MinTokens", "yes", "no", "least tokens"},
	{"Biases", "yes", "no", "biases"},
	{"Conversations", "yes", "no", "conversations"},
	{"Renders", "yes", "no", "renders"},
}

// serversPage updates the tables of docs/servers.md.
func serversPage(page []byte) ([]byte, error) {
	page, err := rewrite(page, serversTable, kindRows)
	if err != nil {
		return nil, err
	}
	return rewrite(page, lossesTable, func(t *table) error {
		var all []string
		for _, c := range capabilityColumns {
			if t.row(c.loss) < 0 {
				return errors.New("docs/servers.md does not say what a client loses without " + c.loss + "; write it")
			}
			all = append(all, c.loss)
		}
		return t.known(all)
	})
}

// kindRows writes a row for every kind of server.
func kindRows(t *table) error {
	before := ""
	for _, name := range contract.ServerKinds() {
		capabilities := reflect.ValueOf(contract.KindNamed(name).Capabilities)
		fields := slices.DeleteFunc(reflect.VisibleFields(capabilities.Type()),
			func(f reflect.StructField) bool { return f.Name == "_" })
		if len(fields) != len(capabilityColumns) {
			return errors.New("capabilityColumns and contract.Capabilities differ")
		}
		cells := make([]string, 0, len(capabilityColumns))
		for i, c := range capabilityColumns {
			if fields[i].Name != c.field {
				return errors.New("capabilityColumns and contract.Capabilities differ at " + c.field)
			}
			switch {
			case c.field == "TextPrompts" && contract.KindNamed(name).Conversations:
				cells = append(cells, "messages")
			case capabilities.FieldByIndex(fields[i].Index).Bool():
				cells = append(cells, c.yes)
			default:
				cells = append(cells, c.no)
			}
		}
		for i, cell := range cells {
			t.set(name, before, i+1, cell, cells...)
		}
		before = name
	}
	return t.known(contract.ServerKinds())
}
