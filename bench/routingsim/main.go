// Command routingsim decides by simulation how many blocks of a prompt should count for its affinity, and how much load
// a server may have before its prompts go elsewhere. It plays the workloads of bench/workload on simulated engines,
// in a time of its own.
//
// It knows the prompts as the filter renders them and the hashes of package affinity. It knows no proxy: it has the
// proxy's ways to choose a server in a few lines each.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// options are the flags.
type options struct {
	servers, seeds int
	length         time.Duration
	out            string
	engine         batch.Options
}

func main() {
	var o options
	flag.IntVar(&o.servers, "servers", 8, "`servers` of the pool")
	flag.IntVar(&o.seeds, "seeds", 5, "how `many` workloads of each kind there are; their results are averaged")
	flag.DurationVar(&o.length, "length", time.Minute, "how `long` new conversations come")
	flag.IntVar(&o.engine.Blocks, "blocks", 12288, "`blocks` in a server's cache")
	flag.IntVar(&o.engine.MaxRunning, "running", 64, "`requests` in a server's batch")
	flag.Float64Var(&o.engine.PrefillRate, "prefill", 4000, "`tokens` of prompts that a server computes a second")
	flag.Float64Var(&o.engine.DecodeRate, "decode", 1500, "`tokens` of answers that a server computes a second")
	flag.DurationVar(&o.engine.StepTime, "step", 25*time.Millisecond, "`time` of a step without tokens")
	flag.StringVar(&o.out, "out", "", "write routing-blocks.md into this `folder` instead of the standard output")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "routingsim:", err)
		os.Exit(1)
	}
}

// variant is a policy with its settings. The policy's memory begins anew in each run.
type variant struct {
	name string
	make func() policy
}

func prefix(name string, blocks int, within bool, bound int) variant {
	return variant{name, func() policy { return &hashed{byPrefix(blocks, within), bound} }}
}

// numbers of blocks and bounds that are compared.
var (
	manyBlocks = []int{4, 8, 16, 32, 64, 128, 256, 1024}
	bounds     = []int{0, 100, 110, 125, 150, 200, 300}
	// weights are how many cached tokens a request in flight outweighs, for a picker.
	weights = []int{50, 100, 200, 400, 800}
)

// The settings that are kept while another one is varied.
const (
	usualBlocks = 64
	usualBound  = 125
	usualWeight = 200
)

func policies() []variant {
	return []variant{
		{"round robin", func() policy { return &roundRobin{} }},
		{"least request", func() policy { return &leastRequest{rand.New(rand.NewPCG(1, 1))} }},
		{"session", func() policy { return &hashed{bySession, 0} }},
		prefix("prefix", usualBlocks, true, usualBound),
		{"perfect picker", func() policy { return perfect{usualWeight} }},
	}
}

func run(o options) error {
	var out bytes.Buffer
	o.introduce(&out)
	sets := map[string][]*prepared{}
	var names []string
	for seed := range o.seeds {
		for _, w := range workload.All(uint64(seed+1), workload.Scale{Servers: o.servers, Length: o.length}) {
			p, err := prepare(w)
			if err != nil {
				return err
			}
			if seed == 0 {
				names = append(names, w.Name)
			}
			sets[w.Name] = append(sets[w.Name], p)
		}
	}
	for _, name := range names {
		o.write(&out, sets[name])
	}
	if o.out == "" {
		_, err := os.Stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "routing-blocks.md"), out.Bytes(), 0o644)
}

// introduce writes what the tables say.
func (o *options) introduce(out io.Writer) {
	fmt.Fprintf(out, `# How many blocks of a prompt count

`+"`make routing-blocks`"+` has written this page. It is a simulation: %d workloads of each kind, of %v, on %d servers in a
time of its own, with no proxy and no filter. [The same workloads with real Envoys](routing.md) come to the same.

- **prefix** has the settings of a pool with the policy prefix: %d blocks of %d tokens, but nothing after the end of the
  user's first message, and a bound of %d %% on a server's load (`+"`affinity.blocks`, `affinity.max_load`"+`).
- **N blocks, to the user's end** and **N blocks** have another number of blocks, with and without that end.
- **bound N %%** has another bound: a server with more than its part of all requests, by so much, is passed over.
- **one of N keys of a prefix** divides the conversations that begin alike among N servers.
- **perfect picker** knows each server's cache and load: it stands for the best that is possible without knowing the
  future. A request in flight outweighs %d cached tokens, or N: **perfect picker, N**.

A server's cache has %d blocks. A step of it takes %v, and a second more for %.0f tokens of prompts that are not in
the cache, or %.0f tokens of answers.

The columns are the same as there: the hit rate, the time to the first token, and how uneven the servers are.

These choices follow from it:

- **The user's first message ends what counts.** All prompts of a conversation then have one key. Without that end the
  longer keys of chats and agents change from turn to turn.
- **64 blocks.** Up to 8 blocks are little more than Harmony's own system message, which all prompts share. From 16 to 64
  the results are alike, and more blocks tell applications apart whose instructions begin alike. Beyond 64 the shorter
  system prompts end before the blocks do, and every conversation has a key of its own: with 256 blocks tenants and
  bursts lose 10 points and more.
- **125 %%.** Without a bound a popular prefix has its server alone, and waits for minutes. With 100 %% servers are even,
  but prompts lose their caches for small differences. 125 %% keeps the requests in flight within 1.3 × of least request's.
- **Agents of few kinds** overflow at 64 blocks, and who overflows does not come back. With 256 blocks or more, or with a
  `+"`prompt_cache_key`"+` for each conversation, they stay.

`, o.seeds, o.length, o.servers, usualBlocks, batch.DefaultBlockSize, usualBound, usualWeight, o.engine.Blocks, o.engine.StepTime,
		o.engine.PrefillRate, o.engine.DecodeRate)
}

// write writes the tables of a workload.
func (o *options) write(out io.Writer, all []*prepared) {
	requests, tokens := 0, 0
	for _, p := range all {
		for _, c := range p.conversations {
			for _, a := range c.asks {
				requests, tokens = requests+1, tokens+len(a.prompt)
			}
		}
	}
	name := all[0].name
	fmt.Fprintf(out, "## %s\n\n%s. Requests: %d, of %d tokens on average.\n\n", strings.ToUpper(name[:1])+name[1:],
		strings.ToUpper(all[0].about[:1])+all[0].about[1:], requests/len(all), tokens/requests)
	var rows [][]string
	add := func(v variant) { rows = append(rows, o.row(v, all)) }
	for _, v := range policies() {
		add(v)
	}
	for _, n := range manyBlocks {
		add(prefix(fmt.Sprintf("%d blocks, to the user's end", n), n, true, usualBound))
	}
	for _, n := range manyBlocks {
		add(prefix(fmt.Sprintf("%d blocks", n), n, false, usualBound))
	}
	for _, n := range []int{2, 4, 8} {
		add(variant{fmt.Sprintf("one of %d keys of a prefix", n),
			func() policy { return &hashed{split(usualBlocks, n), usualBound} }})
	}
	for _, n := range weights {
		add(variant{fmt.Sprintf("perfect picker, %d", n), func() policy { return perfect{n} }})
	}
	for _, b := range bounds {
		title := fmt.Sprintf("bound %d %%", b)
		if b == 0 {
			title = "no bound"
		}
		add(prefix(title, usualBlocks, true, b))
	}
	lab.WriteTable(out, []string{"policy", "hits, %", "p50, ms", "p95, ms", "p99, ms", "in flight", "at a moment",
		"work"}, rows)
}

func (o *options) row(v variant, all []*prepared) []string {
	var sum result
	n := float64(len(all))
	for _, p := range all {
		r := simulate(p, o.servers, o.engine, v.make())
		sum.hitRate += r.hitRate / n
		sum.p50 += r.p50 / time.Duration(len(all))
		sum.p95 += r.p95 / time.Duration(len(all))
		sum.p99 += r.p99 / time.Duration(len(all))
		sum.spread += r.spread / n
		sum.moment += r.moment / n
		sum.work += r.work / n
	}
	ms := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	return []string{v.name, fmt.Sprintf("%.1f", 100*sum.hitRate), ms(sum.p50), ms(sum.p95), ms(sum.p99),
		fmt.Sprintf("%.2f", sum.spread), fmt.Sprintf("%.2f", sum.moment), fmt.Sprintf("%.2f", sum.work)}
}
