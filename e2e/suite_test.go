//go:build e2e

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

var update = flag.Bool("update", false, "write what the native host does into the cases")

// seen is what a run of a case shows: the client's side, and the prompt on the server's.
type seen struct {
	view   string
	prompt string
	// sent is the body that the server got, without the prompt's ids.
	sent string
	ids  []uint32
	// chunks is how many pieces of the response the gateway was called with.
	chunks int
}

// place is a host before a server of its own that changes from case to case, and how the server's stream comes to it.
type place struct {
	name   string
	server atomic.Pointer[sim.Server]
	host   *hosts.Host
	// pieces is how many bytes the server sends at once; 0 is whole events.
	pieces int
	// cuts are the offsets at which the stream is cut, every one of them if bytewise.
	cuts     []int
	bytewise bool
	// requests is how many have been made.
	requests, chunks int
}

// stage is every host with one configuration. The first place of each host has the stream as it comes.
type stage struct{ native, wazero, envoy []*place }

// newStage starts the hosts for the settings of a case, in a mode.
func newStage(t *testing.T, c *testCase, mode string) *stage {
	t.Helper()
	s := &stage{}
	prepare := func(name string) (*place, *config.Config) {
		p := &place{name: name}
		config, err := c.config(p.serve(t))
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = mode
		return p, config
	}
	start := func(name string, on func(hosts.Setup) (*hosts.Host, error), setup hosts.Setup) *place {
		p, config := prepare(name)
		setup.Config = config
		host, err := on(setup)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(host.Stop)
		p.host, p.cuts, p.bytewise = host, setup.CutAt, setup.Cut == 1
		return p
	}
	s.native = []*place{start("native", hosts.Native, hosts.Setup{}),
		start("native, one byte at a time", hosts.Native, hosts.Setup{Cut: 1})}
	s.wazero = []*place{start("wazero", hosts.Wazero, hosts.Setup{}),
		start("wazero, one byte at a time", hosts.Wazero, hosts.Setup{Cut: 1})}
	for _, cuts := range loadCuts(t) {
		s.wazero = append(s.wazero, start(fmt.Sprintf("wazero, cut at %v", cuts), hosts.Wazero, hosts.Setup{CutAt: cuts}))
	}
	// One Envoy has everything in its bootstrap, the other gets it from a control plane.
	//
	// Over HTTP/2 each piece that the server sends is a frame of its own, and a call of the filter's; over HTTP/1.1 Envoy
	// joins those that come together.
	whole, one := prepare("envoy")
	whole.host = runEnvoy(t, one)
	frames, two := prepare("envoy, one byte at a time")
	frames.host, frames.pieces, frames.bytewise = runDiscovering(t, two, http2To(xds.PoolCluster(&two.Models[0]))), 1, true
	s.envoy = append(s.envoy, whole, frames)
	return s
}

// serve listens for the server, with both protocols in clear text, and returns its URL.
func (p *place) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.server.Load().Handler().ServeHTTP(w, r) }),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// run runs a case, with so many tokens in an event of the server's; 0 is as the case says.
func (p *place) run(c *testCase, tokens int) (seen, error) {
	server, err := c.server(p.pieces, tokens)
	if err != nil {
		return seen{}, err
	}
	defer server.Close()
	p.server.Store(server)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	view, err := c.send(client, p.host.URL)
	if err != nil {
		return seen{}, err
	}
	p.requests++
	chunks, err := p.host.ResponseChunks(p.requests)
	if err != nil {
		return seen{}, err
	}
	out := seen{view: view, prompt: "none\n", chunks: chunks - p.chunks}
	p.chunks = chunks
	for _, r := range server.Requests() {
		if len(r.PromptIDs) > 0 {
			out.ids = r.PromptIDs
			out.prompt = vocabulary.DecodeString(r.PromptIDs) + "\n"
			out.sent = string(promptField.ReplaceAll(r.Body, []byte(`"prompt":[]`))) + "\n"
		}
	}
	return out, nil
}

var promptField = regexp.MustCompile(`"prompt":\[[0-9,]*\]`)

// runAll runs a case in all places at once: a case whose server falls silent takes its time.
func runAll(t *testing.T, c *testCase, places []*place, tokens int) map[*place]seen {
	t.Helper()
	results, failures := make([]seen, len(places)), make([]error, len(places))
	var all sync.WaitGroup
	for i, p := range places {
		all.Go(func() { results[i], failures[i] = p.run(c, tokens) })
	}
	all.Wait()
	out := map[*place]seen{}
	for i, p := range places {
		if failures[i] != nil {
			t.Fatalf("%s: %v", p.name, failures[i])
		}
		out[p] = results[i]
	}
	return out
}

// TestSuite runs every case natively, under wazero and on Envoy with the filter that ships, in both modes, each also with
// the server's stream in single bytes, and under wazero at the places in cuts.txt. What the client sees and what the
// server gets must be the same everywhere, and what the case says.
func TestSuite(t *testing.T) {
	table := &suiteTable{schemas: loadSchemas(t)}
	eachCase(t, newStage, func(t *testing.T, s *stage, c *testCase, mode string) { runCase(t, s, c, mode, table) })
	t.Logf("%d answers, chunks and events are as OpenAI's schemas say", table.checked)
	table.write(t)
	t.Run("prompts equal the reference's", table.askReference)
}

// eachCase runs every case in both modes, in subtests MODE/SETTINGS/CASE, on what start makes for its settings.
func eachCase[S any](t *testing.T, start func(*testing.T, *testCase, string) *S,
	run func(*testing.T, *S, *testCase, string)) {
	for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
		t.Run(mode, func(t *testing.T) {
			cases := map[string][]*testCase{}
			for _, c := range loadCases(t) {
				cases[c.gatewaySettings()] = append(cases[c.gatewaySettings()], c)
			}
			for _, settings := range slices.Sorted(maps.Keys(cases)) {
				// The hosts end with their settings: those of all settings at once would take a machine's memory.
				t.Run(settings, func(group *testing.T) {
					var s *S
					for _, c := range cases[settings] {
						group.Run(c.name, func(t *testing.T) {
							if s == nil { // none is started for cases that -run leaves out
								s = start(group, c, mode)
							}
							run(t, s, c, mode)
						})
					}
				})
			}
		})
	}
}

// runCase holds every place of a stage against what the case says.
func runCase(t *testing.T, s *stage, c *testCase, mode string, table *suiteTable) {
	got := runAll(t, c, slices.Concat(s.native, s.wazero, s.envoy), 0)
	native, bytewise := got[s.native[0]], got[s.native[1]]
	want := seen{view: c.member("want"), prompt: c.member("prompt"), sent: native.sent}
	if c.isAboutSent() {
		want.sent = c.member("sent")
	}
	if mode == contract.ModeReduced {
		want.view = reducedView(t, c, native)
	} else if *update {
		if err := c.update(native); err != nil {
			t.Fatal(err)
		}
		want = native
	}
	compare(t, "native", native, want)
	compare(t, s.native[1].name, bytewise, native)
	for _, on := range slices.Concat(s.wazero, s.envoy) {
		compare(t, on.name, got[on], native)
		if calls, want := got[on].chunks, on.calls(bytewise.chunks); calls < want {
			t.Errorf("%s: the filter was called %d times for the response's body, want %d", on.name, calls, want)
		}
	}
	checkAnswers(t, c, got, table)
	runGroupings(t, s, c, native, table)
	table.add(suiteRow{c: c, mode: mode, native: native, wazero: got[s.wazero[0]], envoy: got[s.envoy[0]]})
}

// runGroupings runs a case on every host with other numbers of tokens in the server's events, whole and in single bytes. The
// hosts must agree to the byte, and the client must get what it gets of the case's own events, though in other pieces.
func runGroupings(t *testing.T, s *stage, c *testCase, own seen, table *suiteTable) {
	t.Helper()
	own.view = fold(own.view)
	for _, tokens := range c.otherGroupings() {
		got := runAll(t, c, slices.Concat(s.native, s.wazero[:2], s.envoy), tokens)
		native := got[s.native[0]]
		for on, seen := range got {
			compare(t, fmt.Sprintf("%s, %d tokens in an event", on.name, tokens), seen, native)
		}
		checkAnswers(t, c, got, table)
		native.view = fold(native.view)
		compare(t, fmt.Sprintf("native, %d tokens in an event, folded", tokens), native, own)
	}
}

// checkAnswers holds every different answer of a case against OpenAI's schemas, and streams against their grammars.
func checkAnswers(t *testing.T, c *testCase, got map[*place]seen, table *suiteTable) {
	t.Helper()
	checked := map[string]bool{}
	for on, s := range got {
		if checked[s.view] {
			continue
		}
		checked[s.view] = true
		n, err := table.schemas.check(c.api(), c.byChannels(), s.view)
		if err != nil {
			t.Errorf("%s: not as OpenAI's schemas or the grammar say: %v", on.name, err)
		}
		table.checked += n
	}
}

// calls is how often the filter must have been called for a stream of which the native host was given so many single
// bytes, before it came to an end or was given up.
func (p *place) calls(bytes int) int {
	if p.bytewise {
		return bytes
	}
	calls := min(bytes, 1)
	for _, at := range p.cuts {
		if at < bytes-1 {
			calls++
		}
	}
	return calls
}

// reducedView is what the case says about reduced mode, once it has been brought up to date if that is wanted.
func reducedView(t *testing.T, c *testCase, native seen) string {
	t.Helper()
	if *update {
		different := native.view
		if different == c.member("want") {
			different = ""
		}
		if err := c.updateReduced(different); err != nil {
			t.Fatal(err)
		}
		*c = *loadCase(t, c.name)
	}
	want, mistake := c.reducedView()
	if mistake != "" {
		t.Error(mistake)
	}
	return want
}

// serverSettings are about the simulated server, and change nothing of the gateway.
var serverSettings = []string{"server_fault", "tokens_per_chunk", "front_end", "server_context"}

// gatewaySettings are the settings that make a host of its own necessary, in words.
func (c *testCase) gatewaySettings() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		if !slices.Contains(serverSettings, key) {
			fmt.Fprintf(&b, ", %s %s", key, c.settings[key])
		}
	}
	return cmp.Or(strings.TrimPrefix(b.String(), ", "), "defaults")
}

func compare(t *testing.T, host string, got, want seen) {
	t.Helper()
	if got.view != want.view {
		t.Errorf("%s: the client sees\n%s\nwant\n%s", host, got.view, want.view)
	}
	if got.prompt != want.prompt {
		t.Errorf("%s: the server gets\n%s\nwant\n%s", host, got.prompt, want.prompt)
	}
	if got.sent != want.sent {
		t.Errorf("%s: the server gets\n%s\nwant\n%s", host, got.sent, want.sent)
	}
}
