// Command render measures what the gateway adds to the turns of a conversation with a model that is not gpt-oss: by the
// kind that renders, by the kind that passes conversations on, in an Envoy without the filter, and without an Envoy.
// The server is a real vLLM on the CPU.
//
// It knows how to ask and what to measure. It does not know how a prompt is rendered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

type options struct {
	page   string
	sizes  string
	rounds int
}

func main() {
	var o options
	flag.StringVar(&o.page, "out", "", "the page whose table is written")
	flag.StringVar(&o.sizes, "sizes", "1000,10000,100000", "tokens of the prompts")
	flag.IntVar(&o.rounds, "rounds", 9, "conversations for each row and way")
	command.Main("bench-render", func(ctx context.Context) error { return run(ctx, o) })
}

// way is how a request reaches vLLM.
type way struct {
	name string
	// kind is the kind of the pool, and plain reports whether Envoy runs without the filter. Without a kind there is no
	// Envoy.
	kind  string
	plain bool
}

var ways = []way{
	{name: "vLLM alone"},
	{name: "Envoy without the filter", kind: contract.Chat, plain: true},
	{name: "`chat`", kind: contract.Chat},
	{name: "`vllm-render`", kind: contract.VLLMRender},
}

// turns is how many turns of a conversation are measured.
const turns = 2

// cell is what was measured of a way, in milliseconds.
type cell struct{ first, cpu [turns][]float64 }

func run(ctx context.Context, o options) error {
	v, gateways, stop, err := start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var table strings.Builder
	table.WriteString("| tokens | turn | | " + strings.Join(names(), " | ") + " | ÷ plain Envoy |\n|---|---|---|" +
		strings.Repeat("---|", len(ways)+1) + "\n")
	for size := range strings.SplitSeq(o.sizes, ",") {
		tokens, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		cells := make([]cell, len(ways))
		for round := range o.rounds + 1 { // the first one warms up
			for i := range ways {
				at := (i + round) % len(ways)
				measured, err := converse(ctx, gateways[at], fmt.Sprintf("%d-%d-%d-%d", time.Now().UnixNano(), tokens, round, at),
					tokens)
				if err != nil {
					return fmt.Errorf("%s, %d tokens: %w\n%s", ways[at].name, tokens, err, v.LogEnd())
				}
				for turn := range turns {
					if round > 0 {
						cells[at].first[turn] = append(cells[at].first[turn], measured.first[turn]...)
						cells[at].cpu[turn] = append(cells[at].cpu[turn], measured.cpu[turn]...)
					}
				}
			}
			command.Progress("%d tokens, round %d of %d", tokens, round, o.rounds)
		}
		table.WriteString(rows(tokens, cells))
	}
	fmt.Print(table.String())
	if o.page == "" {
		return nil
	}
	return publish(o.page, table.String())
}

func names() (all []string) {
	for _, w := range ways {
		all = append(all, w.name)
	}
	return all
}

// rows returns the rows of a size: medians, and what the last way takes of what an Envoy without the filter takes.
func rows(tokens int, cells []cell) string {
	var b strings.Builder
	for turn := range turns {
		for what, of := range []func(c *cell) []float64{
			func(c *cell) []float64 { return c.first[turn] }, func(c *cell) []float64 { return c.cpu[turn] },
		} {
			fmt.Fprintf(&b, "| %d | %d | %s |", tokens, turn+1, []string{"first byte, ms", "gateway's CPU, ms"}[what])
			for i := range cells {
				if ways[i].kind == "" && what == 1 {
					b.WriteString(" |")
					continue
				}
				fmt.Fprintf(&b, " %.1f |", stats.Quantile(of(&cells[i]), 0.5))
			}
			plain := stats.Quantile(of(&cells[1]), 0.5)
			fmt.Fprintf(&b, " %.1f |\n", stats.Quantile(of(&cells[len(cells)-1]), 0.5)/plain)
		}
	}
	return b.String()
}

// publish writes the table into a page, between two marks.
func publish(page, table string) error {
	const begin, end = "<!-- cost: written by make bench-render -->\n", "<!-- end of cost -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok1 := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return errors.New(page + " has no place for the table")
	}
	return os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644)
}

// model is the family whose template is rendered. Only its attention is another one: with a window the time to prefill
// grows with the prompt, and not with its square.
func model() engines.Family {
	family := engines.Families[0]
	family.Window = 128
	return family
}
