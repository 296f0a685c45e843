//go:build e2e

package instructions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/instructions/wasmcount"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// page has the committed counts.
const page = "docs/bench/instructions.md"

// tolerance is by how much counts of instructions and bytes may differ from the committed ones. allocatedTolerance is
// added for bytes, which grow in steps.
const (
	tolerance          = 0.02
	allocatedTolerance = 256
)

const head = `# What the filter executes

The instructions that the shipped module executes, counted in the module itself. The same work gives the same counts on
every machine, busy or not: see [entry 105](../../RATIONALE.md#105). A test compares them, within 2 %, and the calls of
the host exactly. ` + "`make instructions`" + ` writes this page, ` + "`make profile-filter`" +
	` draws where instructions go.

- Answers repeat a sentence; a chunk has one token. The first 200 chunks of a stream are not counted.
- A small request has 8 headers and a prompt of 70 tokens; its answer has 42 chunks. The average of 50 is shown.
- A recorder gets what is tapped, and answers at once. Without one there is no tap.
- An agent's session is of ` + "`e2e/agents`" + `. ` + "`make instructions`" + ` counts all of its 43 turns, and the test the first 10.
- The collector's own work is not in the counts. It depends on the bytes allocated.
- memory.copy and memory.fill count 1 for every 8 bytes.

| what | instructions | calls of the host | bytes allocated |
|---|---|---|---|
`

// TestInstructions compares what the filter executes with the committed counts.
func TestInstructions(t *testing.T) {
	wasm := instrumented(t)
	committed := committedCounts(t)
	out := head
	for _, l := range loads() {
		if l.whole && !*lab.Update {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			g := newGateway(t, wasm, &l, false)
			l.run(g)
			got := g.sum.Div(l.times)
			out += fmt.Sprintf("| %s | %s | %s | %s |\n", l.name, grouped(got.Instructions), grouped(got.HostCalls),
				grouped(got.Allocated))
			want, known := committed[l.name]
			same := known && near(got.Instructions, want.Instructions, 0) && got.HostCalls == want.HostCalls &&
				near(got.Allocated, want.Allocated, allocatedTolerance)
			if !same && !*lab.Update {
				t.Errorf("%d instructions, %d calls, %d bytes; %s has %d, %d, %d: if that is meant, run make instructions",
					got.Instructions, got.HostCalls, got.Allocated, page, want.Instructions, want.HostCalls, want.Allocated)
			}
		})
	}
	if *lab.Update && !t.Failed() {
		if err := os.WriteFile(lab.File(page), []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func near(got, want uint64, more float64) bool {
	allowed := tolerance*float64(want) + more
	return float64(got) >= float64(want)-allowed && float64(got) <= float64(want)+allowed
}

var row = regexp.MustCompile(`(?m)^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$`)

// committedCounts returns the counts of the page, by the loads' names.
func committedCounts(t *testing.T) map[string]wasmcount.Counts {
	t.Helper()
	text, err := os.ReadFile(lab.File(page))
	if err != nil && !*lab.Update {
		t.Fatal(err)
	}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		return n
	}
	all := map[string]wasmcount.Counts{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = wasmcount.Counts{Instructions: number(m[2]), HostCalls: number(m[3]), Allocated: number(m[4])}
	}
	return all
}

// grouped writes 1234567 as 1,234,567.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// TestProfile draws a flame graph of each load into the folder that HARMONY_PROFILE names, and prints the functions with
// the most instructions of their own. The functions together must have all instructions that are counted. Without the
// variable one load is enough.
func TestProfile(t *testing.T) {
	folder, drawn := os.Getenv("HARMONY_PROFILE"), loads()
	if folder == "" {
		folder, drawn = t.TempDir(), drawn[1:2]
	}
	wasm := instrumented(t)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, l := range drawn {
		t.Run(l.name, func(t *testing.T) {
			g := newGateway(t, wasm, &l, true)
			l.run(g)
			words := regexp.MustCompile(`[a-z0-9]+`).FindAllString(strings.ToLower(l.name), -1)
			path := filepath.Join(folder, strings.Join(words, "-")+".svg")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			profile := g.counter.Root()
			if all := g.sum.Instructions + g.sum.Collecting; profile.Total() != all {
				t.Errorf("the functions have %d instructions of %d", profile.Total(), all)
			}
			if err := profile.WriteSVG(file, l.name); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s: %s instructions, %s\n", l.name, grouped(profile.Total()), path)
			for i, f := range profile.Functions() {
				if i == 12 {
					break
				}
				fmt.Printf("%14s %5.1f %% %9s calls  %s\n", grouped(f.Self), 100*float64(f.Self)/float64(profile.Total()),
					grouped(f.Calls), f.Name)
			}
		})
	}
}
