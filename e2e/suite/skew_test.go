//go:build skew

package suite

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestSkew runs the behaviour suite on Envoy with the filter of an older commit ($HARMONY_WASM), which this commit's
// control plane programs by delta ADS. The views must be as that commit's cases say ($HARMONY_CASES): its filter
// need not do what has become right since. tools/skew.sh builds the one and finds the other.
func TestSkew(t *testing.T) {
	lab.Tool(t, "HARMONY_CASES")
	cases.Each(t, skewPlace, runSkewed)
}

func skewPlace(t *testing.T, c *cases.Case, mode string) *place {
	t.Helper()
	p := &place{name: "envoy", counts: &counts{}}
	config, err := c.Config(p.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	cases.InMode(config, mode)
	p.host = lab.RunEnvoyOverADS(t, config)
	return p
}

func runSkewed(t *testing.T, p *place, c *cases.Case, mode string) {
	t.Helper()
	got, err := p.run(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt"), Sent: got.Sent}
	if mode == contract.ModeReduced {
		var mistake string
		if want.View, mistake = c.ReducedView(); mistake != "" {
			t.Error(mistake)
		}
	}
	if c.IsAboutSent() {
		want.Sent = c.Member("sent")
	}
	cases.Compare(t, p.name, got, want)
}
