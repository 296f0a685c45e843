//go:build e2e

package cases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Each runs every case in both modes, in subtests MODE/SETTINGS/CASE, on what start makes for its settings.
func Each[S any](t *testing.T, start func(*testing.T, *Case, string) *S,
	run func(*testing.T, *S, *Case, string)) {
	for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
		t.Run(mode, func(t *testing.T) { EachIn(t, mode, start, run) })
	}
}

// EachIn is Each in one mode, in subtests SETTINGS/CASE.
func EachIn[S any](t *testing.T, mode string, start func(*testing.T, *Case, string) *S,
	run func(*testing.T, *S, *Case, string)) {
	EachOf(t, All(t), mode, start, run)
}

// EachOf is EachIn of some cases.
func EachOf[S any](t *testing.T, all []*Case, mode string, start func(*testing.T, *Case, string) *S,
	run func(*testing.T, *S, *Case, string)) {
	cases := map[string][]*Case{}
	for _, c := range all {
		cases[c.GatewaySettings()] = append(cases[c.GatewaySettings()], c)
	}
	for _, settings := range slices.Sorted(maps.Keys(cases)) {
		// The hosts end with their settings: hosts of all settings at once would take a machine's memory.
		t.Run(settings, func(group *testing.T) {
			var s *S
			for _, c := range cases[settings] {
				group.Run(c.Name, func(t *testing.T) {
					if s == nil { // none is started for cases that -run leaves out
						s = start(group, c, mode)
					}
					run(t, s, c, mode)
				})
			}
		})
	}
}

// serverSettings are about the simulated server, and change nothing of the gateway.
var serverSettings = []string{"server_fault", "tokens_per_chunk", "front_end", "server_context", "chat_form",
	"chat_marker", "openai_only", "no_developer", "text_only", "chat_whole", "no_usage", "one_call", "server_path"}

// GatewaySettings are the settings that make a host of its own necessary, in words.
func (c *Case) GatewaySettings() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.Settings)) {
		if !slices.Contains(serverSettings, key) || key == "server_path" {
			fmt.Fprintf(&b, ", %s %s", key, c.Settings[key])
		}
	}
	return cmp.Or(strings.TrimPrefix(b.String(), ", "), "defaults")
}
