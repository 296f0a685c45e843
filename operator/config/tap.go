package config

import (
	"cmp"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Tap is the recorder of tapped requests. Its key comes from the environment of Envoy and of the
// recorder, as HARMONY_TAP_KEY; without one nothing is tapped.
type Tap struct {
	// URL is the address of the recorder (harmony record), such as http://127.0.0.1:9903. Prompts and answers go there.
	// Empty: nothing is tapped.
	URL string `yaml:"url"`
	// All is what is tapped of requests that do not ask for it: [contract.TapNone], which empty means too,
	// [contract.TapSummary] or [contract.TapEverything]. Only the program sets it that runs the recorder.
	All string `yaml:"-"`
}

func (t *Tap) filter() contract.Tap {
	if t.URL == "" {
		return contract.Tap{}
	}
	return contract.Tap{Cluster: contract.TapCluster, All: cmp.Or(t.All, contract.TapNone)}
}

// checkTap checks the recorder's address. r holds the models' servers.
func (c *Config) checkTap(r *Resolved, p *problems) {
	if c.Tap.URL == "" {
		return
	}
	var err error
	if r.Tap, err = ParseURL(c.Tap.URL); err != nil {
		p.add("tap.url", "%v", err)
	} else if owner, ok := r.owners[r.Tap.withoutScheme()]; ok {
		p.add("tap.url", "%s is also a server of %s, which is no recorder; run harmony record, and write its address",
			c.Tap.URL, owner)
	}
}
