//go:build e2e

package suite

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// suiteRow is what a case showed on each host, with the stream as it came.
type suiteRow struct {
	c                     *cases.Case
	mode                  string
	native, wazero, envoy cases.Seen
}

// suiteTable is the result of the whole suite.
type suiteTable struct {
	rows []suiteRow
	// schemas are for the answers, and traced for answers with the ids of their tokens. checked is the number of
	// objects that were compared with them.
	schemas, traced *grammar.Schemas
	checked         int
}

func (s *suiteTable) add(r suiteRow) { s.rows = append(s.rows, r) }

// hashes are the SHA-256 of what the client saw, ids and times normalised, and of the ids that the server got; "none"
// is no request at the server.
func hashes(s cases.Seen) (view, ids string) {
	sum := sha256.Sum256([]byte(s.View))
	view, ids = hex.EncodeToString(sum[:]), "none"
	if len(s.IDs) > 0 {
		var raw []byte
		for _, id := range s.IDs {
			raw = binary.LittleEndian.AppendUint32(raw, id)
		}
		sum = sha256.Sum256(raw)
		ids = hex.EncodeToString(sum[:])
	}
	return view, ids
}

// write puts the table into the file $HARMONY_SUITE, if one is named: a row for each case and mode.
func (s *suiteTable) write(t *testing.T) {
	path := os.Getenv("HARMONY_SUITE")
	if path == "" {
		return
	}
	var out strings.Builder
	out.WriteString("case\tmode\tequal\tdiffers from full mode for lack of\tclient native\tclient wazero\tclient " +
		"envoy\tids native\tids wazero\tids envoy\n")
	for _, r := range s.rows {
		nativeView, nativeIDs := hashes(r.native)
		wazeroView, wazeroIDs := hashes(r.wazero)
		envoyView, envoyIDs := hashes(r.envoy)
		equal := "NO"
		if nativeView == wazeroView && nativeView == envoyView && nativeIDs == wazeroIDs && nativeIDs == envoyIDs {
			equal = "yes"
		}
		lacks := "-"
		if r.mode != "full" && r.c.ReducedDiffers != "" {
			lacks = r.c.ReducedDiffers
		}
		fmt.Fprintln(&out, strings.Join([]string{
			r.c.Name, r.mode, equal, lacks, nativeView, wazeroView, envoyView, nativeIDs, wazeroIDs, envoyIDs,
		}, "\t"))
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// askReference compares the prompts with openai-harmony's.
func (s *suiteTable) askReference(t *testing.T) {
	var asked []lab.OracleRequest
	var rows []suiteRow
	for _, r := range s.rows {
		if r.c.API() != "" && r.native.IDs != nil {
			asked, rows = append(asked, promptRequest(r.c)), append(rows, r)
		}
	}
	if len(asked) == 0 {
		t.Fatal("no case reached a server")
	}
	for i, answer := range lab.AskOracle(t, asked) {
		if err := lab.SameIDs(rows[i].native.IDs, answer.IDs); err != nil {
			t.Errorf("%s, %s: %v", rows[i].c.Name, rows[i].mode, err)
		}
	}
	t.Logf("%d prompts equal openai-harmony's", len(asked))
}

// promptRequest is the case as the oracle reads it.
func promptRequest(c *cases.Case) lab.OracleRequest {
	r := lab.OracleRequest{API: c.API(), Body: c.Body, Effort: "medium", Context: contract.DefaultContextLength,
		Prefill: c.Settings["structured_outputs"] == "none"}
	date := lab.Date
	if set, ok := c.Settings["date"]; ok {
		date = set
	}
	if date != "omit" {
		r.Date = &date
	}
	if effort, ok := c.Settings["effort"]; ok {
		r.Effort = effort
	}
	if effort, ok := c.Settings["reasoning_efforts"]; ok {
		r.Effort = effort // of a request that names none
	}
	if n, err := strconv.Atoi(c.Settings["context_length"]); err == nil {
		r.Context = n
	}
	r.History = lab.OracleHistory{Calls: cmp.Or(c.Settings["calls"], sampledCalls.Calls),
		Results: cmp.Or(c.Settings["results"], sampledCalls.Results)}
	r.DropCommentary = c.Settings["drop_commentary_from_history"] == "true"
	return r
}

// loadCuts reads cuts.txt. Finding none is a failure.
func loadCuts(t *testing.T) [][]int {
	t.Helper()
	f, err := os.Open("cuts.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][]int
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var cuts []int
		for _, field := range strings.Fields(line) {
			at, err := strconv.Atoi(field)
			if err != nil || at < 1 {
				t.Fatalf("cuts.txt: %q is no offset", field)
			}
			cuts = append(cuts, at)
		}
		all = append(all, cuts)
	}
	if len(all) == 0 {
		t.Fatal("cuts.txt has no cuts")
	}
	return all
}
