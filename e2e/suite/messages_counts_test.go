//go:build e2e

package suite

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestCountedMessages counts the tokens of every request to Messages of the suite, and compares the count with the
// usage of its answer.
func TestCountedMessages(t *testing.T) {
	var all []*cases.Case
	settings := map[string]int{}
	for _, c := range cases.All(t) {
		if c.Target == contract.MessagesPath {
			all = append(all, c)
			if _, seen := settings[c.GatewaySettings()]; !seen {
				settings[c.GatewaySettings()] = len(settings)
			}
		}
	}
	lab.OnProxiesOfAll(t, func(t *testing.T, run lab.RunProxies) {
		places, configs := make([]cases.Place, len(settings)), make([]*config.Config, len(settings))
		for _, c := range all {
			if i := settings[c.GatewaySettings()]; configs[i] == nil {
				configs[i] = configOf(t, c, places[i].Serve(t), contract.ModeFull)
			}
		}
		counted, running := 0, run(t, configs)
		for _, c := range all {
			t.Run(c.Name, func(t *testing.T) {
				i := settings[c.GatewaySettings()]
				if countsAsUsed(t, c, &places[i], running[i]) {
					counted++
				}
			})
		}
		if counted < 12 {
			t.Errorf("%d answers have a usage", counted)
		}
	})
}

// countsAsUsed reports whether the answer to a case has a usage. It compares it with the count.
func countsAsUsed(t *testing.T, c *cases.Case, place *cases.Place, host *hosts.Host) bool {
	t.Helper()
	seen, err := place.Run(c, host.URL, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+contract.CountTokensPath, c.Header, bytes.NewReader(c.Body))
	used := usagesIn(seen.View)
	if len(used) == 0 {
		return false
	}
	var told struct {
		InputTokens *int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(count.Body), &told); err != nil || count.Status != 200 || told.InputTokens == nil ||
		*told.InputTokens != len(seen.IDs) {
		t.Errorf("%d %s, of a prompt of %d tokens", count.Status, count.Body, len(seen.IDs))
	}
	for _, n := range used {
		if n != len(seen.IDs) {
			t.Errorf("a prompt of %d tokens:\n%s", len(seen.IDs), seen.View)
		}
	}
	return true
}

// usagesIn returns how many tokens the prompt of an answer had, as each usage in it says. An answer that was refused
// has none.
func usagesIn(view string) (used []int) {
	type usage struct {
		Input     int `json:"input_tokens"`
		CacheRead int `json:"cache_read_input_tokens"`
		Creation  int `json:"cache_creation_input_tokens"`
	}
	for line := range strings.Lines(view) {
		var event struct {
			Usage   *usage
			Message struct{ Usage *usage }
		}
		data := strings.TrimPrefix(line, "data: ")
		if json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		for _, u := range []*usage{event.Usage, event.Message.Usage} {
			if u != nil {
				used = append(used, u.Input+u.CacheRead+u.Creation)
			}
		}
	}
	return used
}
