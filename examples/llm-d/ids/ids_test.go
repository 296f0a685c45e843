package ids

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"

	"github.com/llm-d/llm-d-router/pkg/epp/config/loader"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/requesthandling"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/requestcontrol/dataproducer/tokenizer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/requesthandling/parsers/openai"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/requesthandling/parsers/vllmhttp"
)

// TestIDs parses what the gateway sends as llm-d does, and lets its token-producer without a backend make the tokens that
// scorers get.
func TestIDs(t *testing.T) {
	for file, c := range map[string]struct {
		path   string
		parser requesthandling.Parser
	}{
		"vllm":          {"/v1/completions", openai.NewOpenAIParser()},
		"vllm-generate": {"/inference/v1/generate", vllmhttp.NewVllmHTTPParser()},
	} {
		t.Run(file, func(t *testing.T) {
			body, err := os.ReadFile("testdata/" + file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := c.parser.ParseRequest(t.Context(), body, map[string]string{":path": c.path})
			if err != nil {
				t.Fatal(err)
			}
			producer, err := tokenizer.PluginFactory("token-producer", nil, handle{ctx: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			r := &scheduling.InferenceRequest{Body: parsed.Body}
			if err := producer.(*tokenizer.Plugin).Produce(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			got := r.Body.TokenizedPrompt
			if got == nil || len(got.PerPromptTokens) != 1 ||
				!slices.Equal(got.PerPromptTokens[0], []uint32{200006, 17360, 200008, 3575}) || got.CacheSalt != "s" {
				t.Errorf("the tokens are %+v", got)
			}
		})
	}
}

// handle has what the producer asks of llm-d's program.
type handle struct {
	plugin.Handle
	ctx context.Context
}

// Context implements [plugin.Handle].
func (h handle) Context() context.Context { return h.ctx }

// TestConfig reads the example's configuration with llm-d's own reader.
func TestConfig(t *testing.T) {
	text, err := os.ReadFile("../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := loader.LoadRawConfig(text, logr.Discard()); err != nil {
		t.Error(err)
	}
}
