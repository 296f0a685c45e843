package fleet

import (
	"cmp"
	"fmt"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// printQueues prints what waits for the servers of pools that have a queue. It returns the warnings.
func printQueues(to *screen, all []server.Pool) (warned []string) {
	rows := [][]cell{cells("QUEUE", "CLASS", "WAITING", "TOKENS", "OLDEST", "ADMITTED", "LEFT", "REFUSED")}
	var notes []cell
	for i := range all {
		q := all[i].Queue
		if q == nil {
			continue
		}
		name, waiting := all[i].Name, 0
		for j := range q.Classes {
			c := &q.Classes[j]
			waiting += c.Requests
			oldest := "-"
			if c.Requests > 0 {
				oldest = (time.Duration(c.OldestMS) * time.Millisecond).Round(100 * time.Millisecond).String()
			}
			rows = append(rows, cells(name, c.Name, fmt.Sprint(c.Requests), fmt.Sprint(c.Tokens), oldest,
				fmt.Sprint(c.Ended["admitted"]), fmt.Sprint(c.Ended["left"]), cmp.Or(server.Refusals(c), "-")))
			name = ""
		}
		if len(q.Classes) == 0 {
			rows = append(rows, cells(name, "-", "unknown", "", "", "", "", ""))
		}
		if q.Held && waiting > 0 {
			notes = append(notes, cell{"HELD: no server of " + all[i].Name + " is ready; requests wait for one", doubt})
		}
		if q.Problem != "" {
			text := fmt.Sprintf("pool %s: %s (%s)", all[i].Name, q.Problem, q.Picker)
			notes = append(notes, cell{"WARNING: " + text, doubt})
			warned = append(warned, text)
		}
	}
	if len(rows) > 1 {
		fmt.Fprintln(to)
		to.table(0, rows)
	}
	for _, one := range notes {
		to.note(2, one.color, one.text)
	}
	return warned
}
