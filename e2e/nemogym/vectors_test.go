//go:build e2e

package nemogym

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestVectors asks the gateway what NeMo Gym's VLLMModel was asked, before a server that answers the same. Each
// difference, in what the server gets or in what the client gets, must be in the table of differences, and each row of
// the table must be needed.
func TestVectors(t *testing.T) {
	used, played, vectors := map[string]int{}, 0, readVectors(t)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			server := runScripted(t)
			gateways := map[string]string{}
			for _, v := range vectors {
				settings := encode(t, v.Settings)
				if gateways[settings] == "" {
					gateways[settings] = lab.RunNative(t, configuration(t, v, server.url)).URL
				}
				t.Run(v.String(), func(t *testing.T) {
					played++
					ours := play(t, v, m, gateways[settings], server)
					for _, d := range turnsDifferences(v, ours) {
						name := explain(v, d)
						if name == "" {
							t.Errorf("%s\n  NeMo Gym: %s\n  ours:     %s", d.path, shown(t, d.theirs), shown(t, d.ours))
						}
						used[name]++
					}
				})
			}
		})
	}
	if played < len(modes)*len(vectors) {
		return // the flag -run chose some
	}
	for i := range differences {
		if used[differences[i].name] == 0 {
			t.Errorf("no vector differs in this: %s", differences[i].name)
		}
	}
}

// turnsDifferences compares the turns of a recording with ours.
func turnsDifferences(v *vector, ours []turn) []difference {
	var all []difference
	for i := range v.Turns {
		path := fmt.Sprintf("turns[%d]", i)
		if i >= len(ours) {
			return append(all, difference{path: path, theirs: "a turn", ours: missing{}})
		}
		theirs, ours := &v.Turns[i], &ours[i]
		for j := range max(len(theirs.Sent), len(ours.Sent)) {
			all = compare(all, fmt.Sprintf("%s.sent[%d]", path, j), sentAt(theirs.Sent, j), sentAt(ours.Sent, j))
		}
		if theirs.Status != ours.Status {
			all = append(all, difference{path: path + ".status", theirs: theirs.Status, ours: ours.Status})
		} else {
			found := compare(nil, path+".response", theirs.Response, ours.Response)
			all = append(all, placed(found, elements(theirs.Response["output"]), elements(ours.Response["output"]))...)
		}
	}
	return all
}

var outputIndex = regexp.MustCompile(`\.response\.output\[(\d+)\]`)

// placed adds the output items in which differences are.
func placed(all []difference, theirs, ours []any) []difference {
	for i := range all {
		if m := outputIndex.FindStringSubmatch(all[i].path); m != nil {
			n, _ := strconv.Atoi(m[1])
			all[i].theirItem, all[i].ourItem = theirs[n], ours[n]
		}
	}
	return all
}

func sentAt(all []sent, i int) any {
	if i >= len(all) {
		return missing{}
	}
	return map[string]any{"path": all[i].Path, "body": all[i].Body}
}

func shown(t *testing.T, v any) string {
	if v == (missing{}) {
		return "nothing"
	}
	text := encode(t, v)
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return text
}
