package browse

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// actionSchemas are the names of the schemas of actions, by the actions' types.
var actionSchemas = map[string]string{
	"search": "WebSearchActionSearch", "open_page": "WebSearchActionOpenPage", "find_in_page": "WebSearchActionFind",
}

// schemas are OpenAI's, with the formats of texts checked.
var schemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	data, err := os.ReadFile("../../../e2e/grammar/testdata/openai.schema.json")
	if err != nil {
		panic(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openai.json", document); err != nil {
		panic(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range append(slices.Collect(maps.Values(actionSchemas)), "UrlCitationBody") {
		compiled[name] = compiler.MustCompile("openai.json#/$defs/" + name)
	}
	return compiled
})

func checkAction(t *testing.T, action json.RawMessage) {
	t.Helper()
	for word, name := range actionSchemas {
		if strings.HasPrefix(string(action), `{"type":"`+word+`"`) {
			checkSchema(t, name, action)
			return
		}
	}
	t.Errorf("an action of no type: %s", action)
}

func checkCitation(t *testing.T, c Citation) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "UrlCitationBody", text)
}

func checkSchema(t *testing.T, name string, text []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas()[name].Validate(value); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}
