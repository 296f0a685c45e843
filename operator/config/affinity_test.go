package config

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRouting: the filter is told all that counts, whatever its own defaults are, and nothing without the policy.
func TestRouting(t *testing.T) {
	for settings, want := range map[string]contract.Routing{
		"policy: prefix": {Affinity: true, BlockSize: 16, Blocks: 64},
		"policy: prefix, session: {header: X-Session}, affinity: {blocks: 8, block_size: 32, max_load: 200}": {
			Affinity: true, SessionHeader: "x-session", BlockSize: 32, Blocks: 8},
		"policy: session, session: {header: X-Session}": {},
		"policy: least_request":                         {},
	} {
		text := "models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://h:1'], " + settings + "}]\n"
		c, err := Parse("test", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Filter().Models[0].Routing; got != want {
			t.Errorf("%s: %+v, want %+v", settings, got, want)
		}
	}
}
