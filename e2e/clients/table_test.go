//go:build e2e

package clients

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// clientRun is what a client has shown on one host.
type clientRun struct {
	version string // empty when the client did not end well
	checks  []string
	took    time.Duration
}

// clientTable is what each of realClients has shown on each of clientHosts.
type clientTable [][]clientRun

func newClientTable() clientTable {
	table := make(clientTable, len(realClients))
	for i := range table {
		table[i] = make([]clientRun, len(clientHosts))
	}
	return table
}

// write logs the table, and puts it into the file $HARMONY_CLIENTS_TABLE, if one is named. Each client has a row, and
// under it what it has seen on the first host.
func (c clientTable) write(t *testing.T) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "client\tversion\t%s\tseen\n", strings.Join(clientHosts, "\t"))
	for i, runs := range c {
		fmt.Fprintf(w, "%s\t%s", realClients[i].name, runs[0].version)
		for _, r := range runs {
			result := fmt.Sprintf("%.1f s", r.took.Seconds())
			switch {
			case r.took == 0:
				result = "not run"
			case r.version == "":
				result = "FAILED"
			}
			fmt.Fprintf(w, "\t%s", result)
		}
		fmt.Fprintf(w, "\t%s\n", strings.Join(runs[0].checks, "\n"+strings.Repeat("\t", 2+len(runs))))
	}
	_ = w.Flush() // a strings.Builder takes everything
	t.Logf("\n%s", &out)
	if path := os.Getenv("HARMONY_CLIENTS_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
