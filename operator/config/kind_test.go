package config

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// resolved reads a file that must be right.
func resolved(t *testing.T, file string) (*Config, *Resolved) {
	t.Helper()
	c, err := Parse("h.yaml", []byte(file))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c, r
}

// TestKind checks that the kind of a model's servers comes from its pool, or from the servers that it names itself.
func TestKind(t *testing.T) {
	const server = "servers: ['http://h:1']"
	for _, in := range []string{
		"pools: [{name: p, " + server + "}]\nmodels: [{name: m, pool: p}]",
		"pools: [{name: p, kind: vllm, " + server + "}]\nmodels: [{name: m, pool: p}]",
		"models: [{name: m, servers: ['vllm=http://h:1']}]",
	} {
		c, r := resolved(t, in)
		if kind := r.Pools[0].ServerKind(); kind != contract.KindNamed(contract.VLLM) || r.Pools[0].Kind != contract.VLLM ||
			c.Filter().Models[0].Server != contract.VLLM {
			t.Errorf("%s: the kind is %+v", in, kind)
		}
	}
}

// TestTextPrompts checks that a pool must accept prompts as text before it may have servers that take no others.
func TestTextPrompts(t *testing.T) {
	text := &contract.Kind{Name: "t", Capabilities: contract.Capabilities{TextPrompts: true}}
	for _, tt := range []struct {
		kind           *contract.Kind
		accepted, want bool
	}{{text, false, false}, {text, true, true}, {contract.KindNamed(contract.VLLM), false, true}} {
		if got := acceptsPrompts(tt.kind, tt.accepted); got != tt.want {
			t.Errorf("%s, %v: %v", tt.kind.Name, tt.accepted, got)
		}
	}
	if got := textPromptsReason(text); !strings.HasPrefix(got, "t servers take prompts as text") {
		t.Errorf("the error is %q", got)
	}
	_, err := Parse("h.yaml", []byte("pools: [{name: p, accept_text_prompts: true, servers: ['http://h:1']}]"))
	if err != nil {
		t.Errorf("accept_text_prompts with %s: %v", contract.VLLM, err)
	}
}

// TestHealthOfText checks that servers of a kind without a path for their health are not checked by default.
func TestHealthOfText(t *testing.T) {
	for health, want := range map[string]string{"": NoHealthChecks, ", health: {path: /v1/models}": "/v1/models"} {
		c, err := Parse("h.yaml", []byte("models: [{name: m, pool: p}]\n"+
			"pools: [{name: p, kind: text, accept_text_prompts: true, servers: ['http://h:1']"+health+"}]"))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil || r.Pools[0].Health.Path != want {
			t.Errorf("%q: %v, %+v", health, err, r)
		}
	}
}

// TestKindsDoNotMix checks the error for two kinds where one is needed. The configuration is built by hand, so that the
// kinds need not exist.
func TestKindsDoNotMix(t *testing.T) {
	r := &Resolved{Pools: []ResolvedPool{
		{Pool: Pool{Name: "p", Kind: "vllm", Spares: []string{"q"}}}, {Pool: Pool{Name: "q", Kind: "other"}},
	}}
	const want = "pools[0].spares[0]: q has servers of the kind other, and p of the kind vllm; name a pool of the same " +
		"kind"
	p := &problems{}
	if r.checkSpares(0, p); len(p.all) != 1 || !strings.HasPrefix(p.all[0].Error(), want) {
		t.Errorf("a spare of another kind: %v", p.all)
	}
}
