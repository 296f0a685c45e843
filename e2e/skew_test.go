//go:build skew

package e2e

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestSkew runs the behaviour suite on Envoy with the filter of an older commit ($HARMONY_WASM), which this commit's control
// plane programs by delta ADS. What must be seen is what that commit's cases say ($HARMONY_CASES): its filter need not do
// what has become right since. tools/skew.sh builds the one and finds the other.
func TestSkew(t *testing.T) {
	tool(t, "HARMONY_CASES")
	eachCase(t, skewPlace, runSkewed)
}

func skewPlace(t *testing.T, c *testCase, mode string) *place {
	t.Helper()
	p := &place{name: "envoy"}
	config, err := c.config(p.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Mode = mode
	p.host = runDiscovering(t, config)
	return p
}

func runSkewed(t *testing.T, p *place, c *testCase, mode string) {
	t.Helper()
	got, err := p.run(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := seen{view: c.member("want"), prompt: c.member("prompt"), sent: got.sent}
	if mode == contract.ModeReduced {
		var mistake string
		if want.view, mistake = c.reducedView(); mistake != "" {
			t.Error(mistake)
		}
	}
	if c.isAboutSent() {
		want.sent = c.member("sent")
	}
	compare(t, p.name, got, want)
}
