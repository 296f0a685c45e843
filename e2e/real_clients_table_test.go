package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// clientTable is what each client has shown, on each host.
type clientTable struct {
	rows []clientRow
}

type clientRow struct {
	host, client string
	clientRun
}

func (c *clientTable) add(host, client string, r clientRun) {
	c.rows = append(c.rows, clientRow{host, client, r})
}

// write logs the table, and puts it into the file $HARMONY_CLIENTS_TABLE, if one is named.
func (c *clientTable) write(t *testing.T) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "host\tclient\tversion\tseconds\tchecks\tthe last of them")
	for _, r := range c.rows {
		last := "none"
		if n := len(r.checks); n > 0 {
			last = r.checks[n-1]
		}
		version := r.version
		if version == "" {
			version = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%d\t%s\n", r.host, r.client, version, r.took.Round(100*time.Millisecond).Seconds(), len(r.checks), last)
	}
	_ = w.Flush() // a strings.Builder takes everything
	t.Logf("\n%s", &out)
	if path := os.Getenv("HARMONY_CLIENTS_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
