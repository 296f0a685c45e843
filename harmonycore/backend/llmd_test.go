package backend

import (
	"flag"
	"os"
	"testing"
)

var updateBodies = flag.Bool("update-llm-d", false, "rewrite examples/llm-d/bodies")

// TestLLMDBodies keeps the bodies of examples/llm-d as an endpoint picker and the servers get them.
func TestLLMDBodies(t *testing.T) {
	r := &Request{Model: "gpt-oss-120b", Prompt: []uint32{200006, 17360, 200008, 3575}, MaxTokens: 4096,
		StopTokens: []uint32{200002, 200012},
		Sampling:   Sampling{Temperature: "0.70", Extras: []Member{{"cache_salt", `"s"`}}}}
	for _, kind := range []string{"vllm", "vllm-generate", "sglang"} {
		k, ok := Named(kind)
		if !ok {
			t.Fatal("no kind " + kind)
		}
		file, body := "../../examples/llm-d/bodies/"+kind+".json", string(k.AppendRequest(nil, r))+"\n"
		if *updateBodies {
			if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != body {
			t.Errorf("%s has %s, and the gateway sends %s (%v)", file, want, body, err)
		}
	}
}
