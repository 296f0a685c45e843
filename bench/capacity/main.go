// Command capacity computes the tables of docs/capacity.md from those that the benches have written.
//
// It knows the tables of docs/bench. It does not know how they were measured.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run("docs"); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func run(docs string) error {
	page, err := os.ReadFile(docs + "/capacity.md")
	if err != nil {
		return err
	}
	next, err := computed(docs, string(page))
	if err != nil {
		return err
	}
	return os.WriteFile(docs+"/capacity.md", []byte(next), 0o644)
}

// computed returns the page with the tables that the figures in the folder give.
func computed(docs, page string) (string, error) {
	edge, err := readFigures(docs + "/bench/edge.md")
	if err != nil {
		return "", err
	}
	workers, err := readFigures(docs + "/bench/workers.md")
	if err != nil {
		return "", err
	}
	for name, t := range map[string]table{
		"core": coreTable(edge), "memory": memoryTable(workers), "start": startTable(workers),
	} {
		if page, err = replace(page, name, t); err != nil {
			return "", err
		}
	}
	return page, nil
}

// replace replaces the table of a name in a page.
func replace(page, name string, t table) (string, error) {
	begin, end := "<!-- "+name+": written by make capacity -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("the page has no table between %q and %q", begin, end)
	}
	return before + begin + "\n" + t.String() + "\n" + end + after, nil
}

// The variants that are shown.
const (
	plain = "none"
	ours  = "chat"
)

// second is a second in microseconds, the unit of the benches' CPU.
const second = 1e6

// coreTable returns what a core does: its time divided by the CPU of one.
func coreTable(edge figures) table {
	rate := func(load, column string, each float64) func(string) string {
		return func(variant string) string {
			cost, ok := edge.value(load, variant, column)
			return number(second/cost/each, ok)
		}
	}
	t := table{{"a core does in a second", "no filter", "this filter"}}
	for _, row := range []struct {
		what   string
		figure func(variant string) string
	}{
		{"tokens of streams, one by one as a model writes them", rate("Paced", "CPU, µs a token", 1)},
		{"that is, streams of 50 tokens per second", rate("Paced", "CPU, µs a token", 50)},
		{"tokens that come faster than they are sent on", rate("Full", "CPU, µs a token", 1)},
		{"small requests, with their answers of 20 tokens", rate("Small", "CPU, µs a request", 1)},
		{"requests with a prompt of 1,000 tokens", rate("Prompt 1k", "CPU, µs a request", 1)},
		{"requests with a prompt of 10,000 tokens", rate("Prompt 10k", "CPU, µs a request", 1)},
		{"requests with a prompt of 100,000 tokens", rate("Prompt 100k", "CPU, µs a request", 1)},
	} {
		t = append(t, []string{row.what, row.figure(plain), row.figure(ours)})
	}
	return t
}

// memoryTable returns the parts of an Envoy's memory.
func memoryTable(workers figures) table {
	t := table{{"memory", "no filter", "this filter"}}
	without, with := partsOf(workers, plain), partsOf(workers, ours)
	for _, row := range []struct {
		what, unit    string
		without, with float64
	}{
		{"an Envoy with one worker", " MiB", without.base, with.base},
		{"each further worker", " MiB", without.worker, with.worker},
		{"each stream over HTTP/1.1", " KiB", 1024 * without.stream, 1024 * with.stream},
		{"each stream over HTTP/2", " KiB", 1024 * without.stream2, 1024 * with.stream2},
	} {
		t = append(t, []string{row.what, number(row.without, without.ok) + row.unit, number(row.with, with.ok) + row.unit})
	}
	return t
}

// parts are the parts of an Envoy's memory, in MiB.
type parts struct {
	base, worker, stream, stream2 float64
	ok                            bool
}

// partsOf computes the parts from the smallest and the largest Envoy.
func partsOf(workers figures, variant string) parts {
	if len(workers) < 2 {
		return parts{}
	}
	few, many := workers.crowd(0, variant), workers.crowd(len(workers)-1, variant)
	return parts{
		base: few.start, worker: (many.start - few.start) / (many.workers - few.workers),
		stream: (few.held - few.start) / few.streams, stream2: (many.held - many.start) / many.streams,
		ok: few.ok && many.ok,
	}
}

// startTable returns what each Envoy took.
func startTable(workers figures) table {
	t := table{{"workers", "streams", "CPU of the start", "÷ workers", "memory", "with the streams", "÷ no filter"}}
	for i := range workers {
		c, base := workers.crowd(i, ours), workers.crowd(i, plain)
		t = append(t, []string{
			number(c.workers, true), number(c.streams, true), number(c.cpu/1000, c.ok) + " s",
			number(c.cpu/1000/c.workers, c.ok) + " s", number(c.start, c.ok) + " MiB", number(c.held, c.ok) + " MiB",
			number(c.held/base.held, c.ok && base.ok),
		})
	}
	return t
}
