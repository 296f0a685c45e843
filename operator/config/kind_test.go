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

// TestKind checks that the kind of a model's servers is that of its pool, or of the servers that it names itself.
func TestKind(t *testing.T) {
	const server = "servers: ['http://h:1']"
	for in, wantDeprecated := range map[string]string{
		"pools: [{name: p, " + server + "}]\nmodels: [{name: m, pool: p}]":             "",
		"pools: [{name: p, kind: vllm, " + server + "}]\nmodels: [{name: m, pool: p}]": "",
		"models: [{name: m, servers: ['vllm=http://h:1']}]":                            "",
		"models: [{name: m, dialect: vllm, servers: ['vllm=http://h:1']}]": "models[0].dialect: is deprecated; leave it " +
			"out: each of servers names its kind",
		"pools: [{name: p, " + server + "}]\nmodels: [{name: m, dialect: vllm, pool: p}]": "models[0].dialect: is " +
			"deprecated; leave it out, and write kind: vllm in the pool p",
		"pools: [{name: p, kind: vllm, " + server + "}]\nmodels: [{name: m, dialect: vllm, pool: p}]": "models[0].dialect: " +
			"is deprecated; leave it out: kind of the pool p is in its place",
	} {
		c, r := resolved(t, in)
		if kind := r.Pools[0].ServerKind(); kind != contract.KindNamed(contract.VLLM) || r.Pools[0].Kind != contract.VLLM ||
			c.Filter().Models[0].Server != contract.VLLM {
			t.Errorf("%s: the kind is %+v", in, kind)
		}
		var got []string
		for _, e := range c.Deprecated() {
			got = append(got, e.Error())
		}
		if strings.Join(got, "\n") != wantDeprecated {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, wantDeprecated)
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

// TestKindsDoNotMix checks the errors for two kinds where one is needed. The configurations are built by hand, so that
// the kinds need not exist.
func TestKindsDoNotMix(t *testing.T) {
	r := &Resolved{Pools: []ResolvedPool{
		{Pool: Pool{Name: "p", Kind: "vllm", Spares: []string{"q"}}}, {Pool: Pool{Name: "q", Kind: "other"}},
	}}
	const want = "pools[0].spares[0]: q has servers of the kind other, and p of the kind vllm; name a pool of the same " +
		"kind"
	if e := r.checkSpares(0); e == nil || !strings.HasPrefix(e.Error(), want) {
		t.Errorf("a spare of another kind: %v", e)
	}
	c := &Config{
		Pools:  []Pool{{Name: "p", Kind: "other", Servers: []string{"http://h:1"}}},
		Models: []Model{DefaultModel("m")},
	}
	c.Models[0].Pool, c.Models[0].Dialect = "p", contract.VLLM
	const contradicts = "models[0].dialect: vllm contradicts the pool p, whose servers are of the kind other; leave " +
		"dialect"
	if e := c.checkServers(0, &Resolved{Config: c}); e == nil || !strings.HasPrefix(e.Error(), contradicts) {
		t.Errorf("another dialect than the pool's kind: %v", e)
	}
}
