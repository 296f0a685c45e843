//go:build e2e

package instructions

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// heapPage has the committed figures of the heap.
const heapPage = "docs/bench/heap.md"

// heapTolerance is by how much those figures may differ from the committed ones. One collection more or less does not
// count.
const heapTolerance = 0.1

const heapHead = `# What the heap of a VM comes to

How large the memory of a VM becomes, which never shrinks, and what its collections take, while which all streams of the
worker wait. It is counted in the shipped module as in [what the filter executes](instructions.md), so it is the same on
every machine. A test compares it with this page, within 10 %. ` + "`make instructions`" + ` writes the page.

A million instructions are about 0.1 ms.

| what | memory, KiB | collections | the longest, instructions | all, instructions |
|---|---|---|---|---|
`

// heapLoad is something that makes garbage, or holds memory.
type heapLoad struct {
	name string
	run  func(*gateway)
}

func heapLoads() []heapLoad {
	all := []heapLoad{
		{"1,000 small requests, one after the other", func(g *gateway) {
			for range 1000 {
				g.answer(shortAnswer, 1)
			}
		}},
		{"8 streams at once of 1,600 chunks, 200 in a piece", func(g *gateway) { g.atOnce(8, 200) }},
		{"8 streams at once of 1,600 chunks, all in a piece", func(g *gateway) { g.atOnce(8, 10_000) }},
		{"20 prompts of 100,000 tokens, one after the other", func(g *gateway) {
			for range 20 {
				g.answer(longPrompt, 1)
			}
		}},
		{"5 prompts of 100,000 tokens beside 200 streams", func(g *gateway) {
			open := g.open(200)
			for range 5 {
				g.answer(longPrompt, 1)
			}
			leave(open)
		}},
		{"1,000 streams that begin and fall silent", func(g *gateway) {
			open := g.open(1000)
			g.host.Advance(time.Second)
			leave(open)
		}},
	}
	each := all
	return append(all, heapLoad{"all of these in one VM, twice", func(g *gateway) {
		for range 2 {
			for _, l := range each {
				l.run(g)
				g.host.Advance(time.Second)
			}
		}
	}})
}

// longPrompt is a question with a prompt of 100,000 tokens.
var longPrompt = words(100_000) + shortAnswer

// answer sends a question, and its answer with so many events in a piece.
func (g *gateway) answer(question string, events int) {
	x := g.request(chat, question, true, false)
	x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
	x.EndResponse(joined(g.pieces(x), events)...)
	if !x.Done() || !strings.Contains(x.Client().Body(), "inhabitants") {
		g.t.Fatalf("the client has got %+v", x.Client())
	}
}

// atOnce sends n long answers, each a piece at a time in turns, with so many events in a piece.
func (g *gateway) atOnce(n, events int) {
	var open []*filtertest.Exchange
	for range n {
		x := g.request(chat, longAnswer, true, false)
		x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
		open = append(open, x)
	}
	pieces := joined(g.pieces(open[0]), events)
	for _, piece := range pieces {
		for _, x := range open {
			x.SendResponse(piece)
		}
	}
	for _, x := range open {
		x.EndResponse()
	}
}

// open begins n streams, each of which has got the first words of its answer.
func (g *gateway) open(n int) []*filtertest.Exchange {
	var open []*filtertest.Exchange
	for range n {
		x := g.request(chat, shortAnswer, true, false)
		x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
		x.SendResponse(g.pieces(x)[:20]...)
		open = append(open, x)
	}
	return open
}

// leave ends streams by their clients.
func leave(open []*filtertest.Exchange) {
	for _, x := range open {
		x.ClientLeaves()
	}
}

// joined joins so many pieces to one.
func joined(pieces []string, events int) []string {
	var all []string
	for ; len(pieces) > events; pieces = pieces[events:] {
		all = append(all, strings.Join(pieces[:events], ""))
	}
	return append(all, strings.Join(pieces, ""))
}

// TestHeap compares the memory of a VM and its collections with the committed figures.
func TestHeap(t *testing.T) {
	wasm := instrumented(t)
	committed := committedHeap(t)
	out := heapHead
	for _, l := range heapLoads() {
		t.Run(l.name, func(t *testing.T) {
			g := newGateway(t, wasm, &load{kind: contract.VLLM}, false)
			l.run(g)
			counts := g.counter.Counts()
			got := [4]uint64{uint64(g.counter.Memory()) >> 10, counts.Collections, g.counter.LongestCollection(),
				counts.Collecting}
			out += "| " + l.name
			for _, n := range got {
				out += " | " + grouped(n)
			}
			out += " |\n"
			for i, want := range committed[l.name] {
				allowed := heapTolerance*float64(want) + 1
				if diff := float64(got[i]) - float64(want); (diff > allowed || diff < -allowed) && !*lab.Update {
					t.Errorf("%v; %s has %v: if that is meant, run make instructions", got, heapPage, committed[l.name])
					break
				}
			}
			if committed[l.name] == [4]uint64{} && !*lab.Update {
				t.Errorf("%v; %s lacks it: run make instructions", got, heapPage)
			}
		})
	}
	if *lab.Update && !t.Failed() {
		if err := os.WriteFile(lab.File(heapPage), []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var heapRow = regexp.MustCompile(`(?m)^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$`)

// committedHeap returns the figures of the page, by the loads' names.
func committedHeap(t *testing.T) map[string][4]uint64 {
	t.Helper()
	text, err := os.ReadFile(lab.File(heapPage))
	if err != nil && !*lab.Update {
		t.Fatal(err)
	}
	all := map[string][4]uint64{}
	for _, m := range heapRow.FindAllStringSubmatch(string(text), -1) {
		var figures [4]uint64
		for i := range figures {
			if figures[i], err = strconv.ParseUint(strings.ReplaceAll(m[i+2], ",", ""), 10, 64); err != nil {
				t.Fatal(fmt.Errorf("%s: %w", heapPage, err))
			}
		}
		all[m[1]] = figures
	}
	return all
}
