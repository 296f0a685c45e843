package config

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestHoldsAnswers: answers are held where another server can be asked, and the filter and the clusters are told the
// same.
func TestHoldsAnswers(t *testing.T) {
	const (
		one, two = "servers: ['http://h:1']", "servers: ['http://h:1', 'http://h:2']"
		third    = "servers: ['http://h:3']"
	)
	for name, tt := range map[string]struct {
		model, pools, extra string
		want                bool
	}{
		"one server":         {"pool: p", "- {name: p, " + one + "}", "", false},
		"two":                {"pool: p", "- {name: p, " + two + "}", "", true},
		"a file":             {"pool: p", "- {name: p, servers_file: /f.yaml}", "", true},
		"a spare":            {"pool: p", "- {name: p, " + one + ", spares: [s]}\n- {name: s, " + third + "}", "", true},
		"turned off":         {"pool: p", "- {name: p, " + two + ", retry_until: headers}", "", false},
		"turned on":          {"pool: p", "- {name: p, " + two + ", retry_until: first_token}", "", true},
		"another reads":      {"pool: p", "- {name: p, " + two + ", prefill: {pool: r}}\n- {name: r, " + third + "}", "", false},
		"the model's own":    {"servers: ['vllm=http://h:1', 'vllm=http://h:2']", "[]", "", true},
		"the model's one":    {"servers: ['vllm=http://h:1']", "[]", "", false},
		"no headers to hold": {"pool: p", "- {name: p, " + two + "}", "mode: reduced\n", false},
	} {
		c, err := Parse("test.yaml", []byte(tt.extra+"models:\n- name: m\n  "+tt.model+"\npools:\n"+tt.pools+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := r.Pool(c.Models[0].PoolName())
		told := c.Filter().Models[0].Routing.UntilFirstToken
		if held := r.HoldsAnswers(p); held != tt.want || told != tt.want {
			t.Errorf("%s: held %t, told %t, want %t", name, held, told, tt.want)
		}
		c.HeadersOnly = true
		if c.Filter().Models[0].Routing != (contract.Routing{}) {
			t.Errorf("%s: a mesh's filter is told %+v", name, c.Filter().Models[0].Routing)
		}
	}
}

// TestReadersAreNotHeld: the servers that read prompts for others are called by the filter itself.
func TestReadersAreNotHeld(t *testing.T) {
	c, err := Parse("test.yaml", []byte("models: [{name: m, pool: w}]\npools:\n"+
		"- {name: r, servers: ['http://h:1', 'http://h:2']}\n- {name: w, servers: ['http://h:3'], prefill: {pool: r}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if r.HoldsAnswers(r.Pool("r")) {
		t.Error("their answers are held")
	}
}
