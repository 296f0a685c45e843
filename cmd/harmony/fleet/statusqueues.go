package fleet

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// printQueues prints what waits for the servers of pools that have a queue. It returns the warnings.
func printQueues(w io.Writer, all []server.Pool) (warned []string) {
	begun := false
	for i := range all {
		q := all[i].Queue
		if q == nil {
			continue
		}
		if !begun {
			fmt.Fprintf(w, "\nQUEUE\tCLASS\tWAITING\tTOKENS\tOLDEST\tADMITTED\tLEFT\tREFUSED\n")
			begun = true
		}
		name, waiting := all[i].Name, 0
		for j := range q.Classes {
			c := &q.Classes[j]
			waiting += c.Requests
			oldest := "-"
			if c.Requests > 0 {
				oldest = (time.Duration(c.OldestMS) * time.Millisecond).Round(100 * time.Millisecond).String()
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\n", name, c.Name, c.Requests, c.Tokens, oldest,
				c.Ended["admitted"], c.Ended["left"], cmp.Or(server.Refusals(c), "-"))
			name = ""
		}
		if len(q.Classes) == 0 {
			fmt.Fprintf(w, "%s\t-\tunknown\n", name)
		}
		if q.Held && waiting > 0 {
			fmt.Fprintf(w, "\tHELD: no server is ready; requests wait for one\n")
		}
		if q.Problem != "" {
			text := fmt.Sprintf("pool %s: %s (%s)", all[i].Name, q.Problem, q.Picker)
			fmt.Fprintf(w, "\tWARNING: %s\n", text)
			warned = append(warned, text)
		}
	}
	return warned
}
