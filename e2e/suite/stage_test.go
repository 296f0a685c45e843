//go:build e2e

package suite

import (
	"fmt"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// place is a host before a server of its own that changes from case to case, and how the server's stream comes to it.
type place struct {
	cases.Place
	name string
	host *hosts.Host
	// pieces is how many bytes the server sends at once; 0 is whole events.
	pieces int
	// cuts are the offsets at which the stream is cut, every one of them if bytewise.
	cuts     []int
	bytewise bool
	*counts
}

// counts are of a host, which may be at several places.
type counts struct{ requests, chunks int }

// stage is every host with one configuration. The first place of each host has the stream as it comes.
type stage struct{ native, wazero, envoy []*place }

// run runs a case, with so many tokens in an event of the server's; 0 is as the case says.
func (p *place) run(c *cases.Case, tokens int) (cases.Seen, error) {
	out, err := p.Run(c, p.host.URL, p.pieces, tokens)
	if err != nil {
		return cases.Seen{}, err
	}
	p.requests++
	chunks, err := p.host.ResponseChunks(p.requests)
	if err != nil {
		return cases.Seen{}, err
	}
	out.Chunks = chunks - p.chunks
	p.chunks = chunks
	return out, nil
}

// asItIs is for [eachOnStages]: the case itself.
func asItIs(c *cases.Case, _ string) *cases.Case { return c }

// eachOnStages runs cases in both modes, in subtests MODE/SETTINGS/CASE. on returns a case before the servers of its
// stage, or nil if its settings have no stage in the mode.
func eachOnStages(t *testing.T, all []*cases.Case, on func(c *cases.Case, mode string) *cases.Case,
	run func(*testing.T, *stage, *cases.Case, string)) {
	for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
		t.Run(mode, func(t *testing.T) {
			e := startEnvoys(t, all, on, mode)
			cases.EachOf(t, all, mode, func(t *testing.T, c *cases.Case, mode string) *stage {
				if c = on(c, mode); c == nil {
					return nil
				}
				return e.stage(t, c, mode)
			}, run)
		})
	}
}

// envoys are the two Envoys of a mode. Each start of one costs the time in which it compiles the filter, so they serve
// all settings. One has everything in its bootstrap, a listener for each settings. The other gets them from a control
// plane, one after another.
//
// Over HTTP/2 each piece that the server sends is a frame of its own, and a call of the filter's; over HTTP/1.1 Envoy
// joins those that come together. The second Envoy gets single bytes.
type envoys struct {
	whole  map[string]*place // by the settings
	frames *place
	server string // of the second Envoy
}

func startEnvoys(t *testing.T, all []*cases.Case, on func(*cases.Case, string) *cases.Case, mode string) *envoys {
	t.Helper()
	e := &envoys{whole: map[string]*place{}}
	var configs []*config.Config
	var places []*place
	counted := &counts{}
	for _, c := range all {
		if c = on(c, mode); c == nil || e.whole[c.GatewaySettings()] != nil {
			continue
		}
		p := &place{name: "envoy", counts: counted}
		configs = append(configs, configOf(t, c, p.Serve(t), mode))
		places = append(places, p)
		e.whole[c.GatewaySettings()] = p
	}
	if len(configs) == 0 {
		return e
	}
	for i, host := range lab.RunEnvoyOfAll(t, configs) {
		places[i].host = host
	}
	e.frames = &place{name: "envoy, one byte at a time", pieces: 1, bytewise: true, counts: &counts{}}
	e.server = e.frames.Serve(t)
	first := configs[0]
	e.frames.host = lab.RunEnvoyOverADS(t, first, overHTTP2(first)...)
	return e
}

// configOf is the gateway's configuration for a case before a server.
func configOf(t *testing.T, c *cases.Case, server, mode string) *config.Config {
	t.Helper()
	config, err := c.Config(server)
	if err != nil {
		t.Fatal(err)
	}
	cases.InMode(config, mode)
	return config
}

// overHTTP2 makes Envoy speak HTTP/2 to the servers of all pools of the model.
func overHTTP2(c *config.Config) []lab.Change {
	var all []lab.Change
	for _, m := range c.Places() {
		all = append(all, lab.HTTP2To(xds.PoolCluster(m)))
	}
	return all
}

// stage starts the other hosts for the settings of a case.
func (e *envoys) stage(t *testing.T, c *cases.Case, mode string) *stage {
	t.Helper()
	s := &stage{}
	start := func(name string, on func(hosts.Setup) (*hosts.Host, error), setup hosts.Setup) *place {
		p := &place{name: name, cuts: setup.CutAt, bytewise: setup.Cut == 1, counts: &counts{}}
		setup.Config = configOf(t, c, p.Serve(t), mode)
		host, err := on(setup)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Stop)
		p.host = host
		return p
	}
	s.native = []*place{start("native", hosts.Native, hosts.Setup{}),
		start("native, one byte at a time", hosts.Native, hosts.Setup{Cut: 1})}
	s.wazero = []*place{start("wazero", hosts.Wazero, hosts.Setup{}),
		start("wazero, one byte at a time", hosts.Wazero, hosts.Setup{Cut: 1})}
	for _, cuts := range loadCuts(t) {
		s.wazero = append(s.wazero, start(fmt.Sprintf("wazero, cut at %v", cuts), hosts.Wazero, hosts.Setup{CutAt: cuts}))
	}
	next := configOf(t, c, e.server, mode)
	if err := e.frames.host.Update(lab.Resources(t, next, overHTTP2(next)...)); err != nil {
		t.Fatal(err)
	}
	s.envoy = []*place{e.whole[c.GatewaySettings()], e.frames}
	return s
}
