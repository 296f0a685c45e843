package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// clientTable is what each client has shown, on each host.
type clientTable struct {
	clients []clientRow
}

type clientRow struct {
	client string
	runs   []clientRun // one for each host, in order
}

// clientRun is what a client has shown on one host.
type clientRun struct {
	version string // empty when the client did not end well
	checks  []string
	took    time.Duration
}

func (c *clientTable) add(client string, r clientRun) {
	at := slices.IndexFunc(c.clients, func(row clientRow) bool { return row.client == client })
	if at < 0 {
		at = len(c.clients)
		c.clients = append(c.clients, clientRow{client: client})
	}
	c.clients[at].runs = append(c.clients[at].runs, r)
}

// write logs the table, and puts it into the file $HARMONY_CLIENTS_TABLE, if one is named. Each client has a row, and under
// it what it has seen on the last host.
func (c *clientTable) write(t *testing.T, hosts []string) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "client\tversion\t%s\tseen\n", strings.Join(hosts, "\t"))
	for _, row := range c.clients {
		last := row.runs[len(row.runs)-1]
		fmt.Fprintf(w, "%s\t%s", row.client, last.version)
		for _, r := range row.runs {
			result := fmt.Sprintf("%.1f s", r.took.Seconds())
			if r.version == "" {
				result = "FAILED"
			}
			fmt.Fprintf(w, "\t%s", result)
		}
		for i, check := range last.checks {
			if i > 0 {
				fmt.Fprint(w, strings.Repeat("\t", 2+len(row.runs)))
			} else {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprintln(w, check)
		}
	}
	_ = w.Flush() // a strings.Builder takes everything
	t.Logf("\n%s", &out)
	if path := os.Getenv("HARMONY_CLIENTS_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
