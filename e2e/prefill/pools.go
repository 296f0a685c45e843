//go:build e2e

package prefill

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// kinds are the kinds of servers that share requests.
var kinds = []string{contract.VLLM, contract.VLLMGenerate, contract.SGLang, contract.SGLangCompletions}

func isSGLang(kind string) bool { return strings.HasPrefix(kind, contract.SGLang) }

// pools are a pool of servers that read prompts and one of servers that write answers.
type pools struct {
	readers, writers       []*sim.Server
	readerURLs, writerURLs []string
	kind                   string
	bootstrapPort          int
}

// runPools runs so many servers of each role. options are for all servers, and ofReaders for the readers only.
func runPools(t *testing.T, kind string, readers, writers int, options, ofReaders sim.Options) *pools {
	t.Helper()
	p := &pools{kind: kind}
	if options.Script == nil {
		options.Script = sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})
	}
	options.Kind, options.Models = kind, []string{lab.Model}
	for i := range readers {
		o := options
		o.Role, o.TimeToFirstToken, o.Fault = sim.RolePrefill, ofReaders.TimeToFirstToken, ofReaders.Fault
		p.readers = append(p.readers, p.runReader(t, i, o))
	}
	options.Role = sim.RoleDecode
	for range writers {
		s, url := lab.RunSim(t, options)
		p.writers, p.writerURLs = append(p.writers, s), append(p.writerURLs, url)
	}
	return p
}

// runReader runs a server that reads prompts. Each has an address of its own, because all of a pool have one bootstrap
// port.
func (p *pools) runReader(t *testing.T, i int, o sim.Options) *sim.Server {
	t.Helper()
	host := "127.0.0." + strconv.Itoa(2+i)
	o.TransferListen = net.JoinHostPort(host, strconv.Itoa(p.bootstrapPort))
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start(net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(s.TransferAddress())
	if err != nil {
		t.Fatal(err)
	}
	if p.bootstrapPort, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	p.readerURLs = append(p.readerURLs, url)
	return s
}

// config returns a configuration with the pools.
func (p *pools) config() *config.Config {
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.BodyLimit, c.StallTimeout = 2<<20, config.Duration(20*time.Second)
	m := config.DefaultModel(lab.Model)
	m.Pool, m.System.Date = "writers", lab.Date
	c.Models = []config.Model{m}
	unchecked := config.Health{Path: config.NoHealthChecks}
	c.Pools = []config.Pool{
		{Name: "readers", Kind: p.kind, Servers: p.readerURLs, Health: unchecked},
		{Name: "writers", Kind: p.kind, Servers: p.writerURLs, Health: unchecked, Prefill: config.Prefill{Pool: "readers"}},
	}
	if isSGLang(p.kind) {
		c.Pools[1].Prefill.BootstrapPort = p.bootstrapPort
	}
	return c
}

// completions returns the requests for completions that servers have had.
func completions(servers []*sim.Server) []sim.Request {
	var all []sim.Request
	for _, s := range servers {
		for _, q := range lab.Completions(s) {
			if q.Path != "/abort_request" {
				all = append(all, q)
			}
		}
	}
	return all
}

func transfers(servers []*sim.Server) (done, kept int) {
	for _, s := range servers {
		done, kept = done+s.Transfers(), kept+s.Kept()
	}
	return done, kept
}
