//go:build e2e && mesh

package mesh

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// gateway is one way to program an Envoy.
type gateway struct {
	name  string
	start func(*testing.T, *config.Config) *hosts.Host
}

func static(t *testing.T, c *config.Config) *hosts.Host     { return lab.RunEnvoy(t, c) }
func discovered(t *testing.T, c *config.Config) *hosts.Host { return lab.RunEnvoyOverADS(t, c) }
func throughIstio(t *testing.T, c *config.Config) *hosts.Host {
	return lab.RunIstio(t, c, hosts.Istio{})
}

// gateways are columns of the table, by mode. The first two have no mesh, for comparison.
var gateways = map[string][]gateway{
	contract.ModeFull:    {{"static", static}, {"xDS", discovered}, {"Istio EnvoyFilter", throughIstio}},
	contract.ModeReduced: {{"static", static}, {"xDS", discovered}, {"Istio WasmPlugin", throughIstio}},
}

// place is a gateway before a server that changes from case to case.
type place struct {
	cases.Place
	name string
	host *hosts.Host
}

type stage struct{ places []*place }

// TestMesh runs every case of the suite in each of the gateways, in both modes. A mesh's gateway must show what the
// case wants, to the byte.
func TestMesh(t *testing.T) {
	cases.Each(t, func(t *testing.T, c *cases.Case, mode string) *stage { return newStage(t, c, mode, gateways[mode]) },
		runCase)
}

// TestEnvoyGateway does the same with Envoy Gateway, of which only one runs at a time.
func TestEnvoyGateway(t *testing.T) {
	for _, column := range []struct {
		mode, name string
		host       hosts.EnvoyGateway
	}{
		{contract.ModeFull, "Envoy Gateway patch", hosts.EnvoyGateway{}},
		{contract.ModeFull, "Envoy Gateway extension and patch", hosts.EnvoyGateway{Fetched: true}},
		{contract.ModeReduced, "Envoy Gateway extension", hosts.EnvoyGateway{Fetched: true}},
	} {
		t.Run(column.name, func(t *testing.T) {
			one := []gateway{{column.name, func(t *testing.T, c *config.Config) *hosts.Host {
				return lab.RunEnvoyGateway(t, c, column.host)
			}}}
			cases.EachIn(t, column.mode, func(t *testing.T, c *cases.Case, mode string) *stage {
				return newStage(t, c, mode, one)
			}, runCase)
		})
	}
}

func newStage(t *testing.T, c *cases.Case, mode string, gateways []gateway) *stage {
	t.Helper()
	s := &stage{}
	for _, g := range gateways {
		p := &place{name: g.name}
		config, err := c.Config(p.Serve(t))
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = mode
		p.host = g.start(t, config)
		s.places = append(s.places, p)
	}
	return s
}

func runCase(t *testing.T, s *stage, c *cases.Case, mode string) {
	want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt")}
	if mode == contract.ModeReduced {
		var mistake string
		if want.View, mistake = c.ReducedView(); mistake != "" {
			t.Error(mistake)
		}
	}
	seen, failures := make([]cases.Seen, len(s.places)), make([]error, len(s.places))
	var all sync.WaitGroup
	for i, p := range s.places {
		all.Go(func() { seen[i], failures[i] = p.Run(c, p.host.URL, 0, 0) })
	}
	all.Wait()
	for i, p := range s.places {
		if failures[i] != nil {
			t.Fatalf("%s: %v", p.name, failures[i])
		}
		want.Sent = seen[0].Sent
		if c.IsAboutSent() {
			want.Sent = c.Member("sent")
		}
		cases.Compare(t, p.name, seen[i], want)
		cell := hash(seen[i].View)
		if cell == hash(want.View) && seen[i].Prompt == want.Prompt && seen[i].Sent == want.Sent {
			cell = "equal"
		}
		board.add(rowKey{c.Name, mode, hash(want.View)}, p.name+": "+cell)
	}
}

func hash(view string) string {
	sum := sha256.Sum256([]byte(view))
	return hex.EncodeToString(sum[:])[:16]
}

// table has a row for each case and mode: what is wanted, and for each gateway "equal", or what it showed.
type table map[rowKey][]string

type rowKey struct{ name, mode, want string }

// board is the table of all tests. They run one after another.
var board = table{}

func (b table) add(row rowKey, cell string) { b[row] = append(b[row], cell) }

// TestMain writes the table into the file $HARMONY_MESH, if one is named, after all tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if path := os.Getenv("HARMONY_MESH"); path != "" {
		if err := os.WriteFile(path, []byte(board.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// String returns the table's rows, in order.
func (b table) String() string {
	var rows []string
	for row, cells := range b {
		rows = append(rows, strings.Join(append([]string{row.mode, row.name, row.want}, cells...), "\t")+"\n")
	}
	slices.Sort(rows)
	return strings.Join(rows, "")
}
