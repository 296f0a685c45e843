package server

import (
	"strings"
	"testing"
)

// TestLogsWhatHasChanged checks that a log line names the settings that differ, and those that have no effect in a
// control plane.
func TestLogsWhatHasChanged(t *testing.T) {
	first := oneModel(newEngine(t, `{"id":"m"}`).URL)
	p := start(t, folderWith(t, "admin: 127.0.0.1:9901\n"+first))
	p.ready()
	for _, tt := range []struct{ file, want string }{
		{"admin: 127.0.0.1:9901\nbody_limit: 1MB\n" + first, "changed=[body_limit]"},
		{"admin: 127.0.0.1:9901\nbody_limit: 1MB\n# a comment\n" + first, "changed=[nothing]"},
		{"admin: 127.0.0.1:9901\n" + first + "- name: q\n  servers: [ http://127.0.0.1:9 ]\n",
			`changed="[body_limit pools[q] is new]"`},
		{"admin: 127.0.0.1:9901\n" + strings.Replace(first, "pool: p", "pool: p\n  max_reasoning_tokens: 9", 1),
			"changed=\"[models[m].max_reasoning_tokens pools[q] is removed]\""},
	} {
		p.write("config.yaml", tt.file)
		eventually(t, tt.want, func() bool { return strings.Contains(p.log.String(), tt.want) })
	}
	const only = "settings are for harmony up only"
	if log := p.log.String(); strings.Count(log, only) != 1 || !strings.Contains(log, "settings=[admin]") {
		t.Errorf("%q is not logged once:\n%s", only, log)
	}
}
