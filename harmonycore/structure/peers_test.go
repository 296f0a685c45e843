//go:build peers

package structure_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
)

// peerVector is an input of a peer's own tests, and what the peer's parser makes of it: tools/callvectors/peers.py.
type peerVector struct {
	Form, Text string
	Tools      []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
	Whole *shownAnswer
}

// peersFile has the inputs of peers' tests of which we make something else: peer, form, reason, the input's hash and
// that of our answer. The inputs are the peers', so they are not here.
var peersFile = filepath.Join("testdata", "calls", "peers.txt")

// leastOfPeer is how many inputs each peer's tests must at least have: a test that finds none proves nothing.
const leastOfPeer = 100

// TestPeersVectors compares the forms of calls with the peers' own parsers, on the inputs of the peers' own tests.
func TestPeersVectors(t *testing.T) {
	known := map[string][2]string{}
	for _, row := range readPeers(t) {
		known[row[0]+"\t"+row[1]+"\t"+row[3]] = [2]string{row[2], row[4]}
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("HARMONY_PEER_VECTORS"), "*.jsonl"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v: `make peer-vectors` makes them", files, err)
	}
	var found []string
	for _, file := range files {
		peer := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		equal, all, reasons := 0, 0, map[string]int{}
		for _, v := range readPeer(t, file) {
			all++
			got := v.ours(t)
			if reflect.DeepEqual(got, v.Whole.plainly()) {
				equal++
				continue
			}
			key := peer + "\t" + v.Form + "\t" + shortHash(v.Text)
			reason, want := cmp.Or(known[key][0], "?"), known[key][1]
			reasons[reason]++
			found = append(found, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\n", peer, v.Form, reason, shortHash(v.Text),
				shortHash(got.String())))
			if want != shortHash(got.String()) {
				report := t.Errorf
				if *update {
					report = t.Logf
				}
				report("%s %s %s: %q\n ours %s\ntheirs %s", peer, v.Form, shortHash(v.Text), v.Text, got, v.Whole.plainly())
			}
		}
		t.Logf("%s: %d inputs, %d equal, the others by reason: %v", peer, all, equal, reasons)
		if all < leastOfPeer {
			t.Errorf("%s has %d inputs only", peer, all)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found) // two parsers of a peer may read the same text
	if *update {
		if err := os.WriteFile(peersFile, []byte(strings.Join(found, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(found) != len(known) {
		t.Errorf("%s has %d lines, and there are %d differences", peersFile, len(known), len(found))
	}
}

// ours returns what we make of a vector's text.
func (v *peerVector) ours(t *testing.T) *shownAnswer {
	t.Helper()
	set := tools{}
	for _, tool := range v.Tools {
		set[tool.Function.Name] = string(tool.Function.Parameters)
	}
	o := structure.Options{ThinkTags: contract.ThinkLeading, Tools: set}
	begin, end := strings.Index(v.Text, "<think>"), strings.Index(v.Text, "</think>")
	if end >= 0 && (begin < 0 || begin > end) {
		o.ThinkTags = contract.ThinkOpened // the prompt has opened it
	}
	create := structure.NewCalls(vectorForms[v.Form])
	return shownOf(structuretest.Read(t, create, o, v.Text, true).Messages).plainly()
}

func shortHash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:12] }

func readPeer(t *testing.T, file string) (all []peerVector) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var v peerVector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// readPeers reads the rows of [peersFile].
func readPeers(t *testing.T) (rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(peersFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != 5 {
			t.Fatalf("%s: %q", peersFile, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestPeersAreExplained: each reason of a difference is a row of a table in docs/structure.md.
func TestPeersAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "structure.md"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]int{}
	for _, row := range readPeers(t) {
		reasons[row[2]]++
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if !bytes.Contains(page, []byte("| `"+reason+"` |")) {
			t.Errorf("%q: %d differences", reason, reasons[reason])
		}
	}
}
