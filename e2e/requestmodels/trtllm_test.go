//go:build e2e

package requestmodels

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

func trtllmSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/trtllm.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// wrongIn returns what the schema says against a request, or nil.
func wrongIn(t *testing.T, schema *jsonschema.Schema, request string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(request))
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return schema.Validate(value)
}

// TestTRTLLM gives everything that the gateway makes of the suite's requests to TensorRT-LLM's request model, which
// forbids unknown members.
func TestTRTLLM(t *testing.T) {
	schema := trtllmSchema(t)
	names, requests := requestsTo(t, contract.TRTLLM)
	lines := strings.Split(strings.TrimSpace(string(requests)), "\n")
	if len(lines) != len(names) || len(names) < 250 {
		t.Fatalf("%d lines of %d requests", len(lines), len(names))
	}
	for i, name := range names {
		if err := wrongIn(t, schema, lines[i]); err != nil {
			t.Errorf("%s: TensorRT-LLM does not know, or refuses: %v", name, err)
		}
	}
	t.Logf("%d requests are as TensorRT-LLM wants them", len(names))
}

// TestTRTLLMRefuses checks that the schema refuses something at all.
func TestTRTLLMRefuses(t *testing.T) {
	schema := trtllmSchema(t)
	for _, request := range []string{
		`{"model":"m"}`, `{"prompt":[1]}`, `{"model":"m","prompt":[1,"x"]}`, `{"model":"m","prompt":[1],"cache_salt":"s"}`,
		`{"model":"m","prompt":[1],"return_token_ids":true}`, `{"model":"m","prompt":[1],"priority":2}`,
		`{"model":"m","prompt":[1],"stream_options":{"x":true}}`, `{"model":"m","prompt":[1],"response_format":{"x":1}}`,
	} {
		if wrongIn(t, schema, request) == nil {
			t.Errorf("%s is accepted", request)
		}
	}
	if err := wrongIn(t, schema, `{"model":"m","prompt":[1],"detokenize":false}`); err != nil {
		t.Error(err)
	}
}

// TestTRTLLMSimulated checks that the simulated server knows the members of the request model, and no others.
func TestTRTLLMSimulated(t *testing.T) {
	handler := sim.New(sim.Options{Kind: sim.TRTLLM}).Handler()
	knows := func(member string) bool {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, contract.CompletionsPath,
			strings.NewReader(`{"`+member+`":null}`)))
		return !strings.Contains(w.Body.String(), "unknown field")
	}
	known := trtllmSchema(t).Properties
	for name := range known {
		if !knows(name) {
			t.Errorf("the simulated server refuses %s", name)
		}
	}
	for _, name := range []string{"return_token_ids", "cache_salt", "request_id", "structured_outputs", "session_id"} {
		if knows(name) || known[name] != nil {
			t.Errorf("%s is known", name)
		}
	}
}
