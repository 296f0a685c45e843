//go:build e2e

package up

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestKilled kills harmony up, whose folders are left. The next start removes them, and not the folders of a run that
// lives. Two runs have a responses service each, and harmony status shows either.
func TestKilled(t *testing.T) {
	_, model := lab.RunSim(t, sim.Options{})
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			temp := t.TempDir()
			start := func() *lab.Program {
				t.Helper()
				program, _ := lab.StartUpWith(t, []string{"TMPDIR=" + temp}, "--host", host, "--model", lab.Model, "--backend",
					"vllm="+model, "--store", filepath.Join(t.TempDir(), "store.db"))
				return program
			}
			lives, killed := start(), start()
			before := folders(t, temp)
			killed.Kill(t)
			if left := folders(t, temp); len(left) != len(before) {
				t.Fatalf("a killed run has removed its folders: %v of %v; this test shows nothing", left, before)
			}
			next := start()
			if after := folders(t, temp); len(after) != len(before) {
				t.Errorf("folders %v, and then %v", before, after)
			}
			for _, program := range []*lab.Program{lives, next} {
				page := regexp.MustCompile(`page(?: and Envoy's admin interface)?: http://(\S+)`).
					FindStringSubmatch(program.Stdout.String())
				if page == nil {
					t.Fatal("no page is named")
				}
				said := lab.RunHarmony(t, nil, "status", "--address", page[1])
				if !said.Ended(lab.ReadyLimit) || said.ExitCode(t) != 0 || !strings.HasPrefix(said.Stdout.String(), "harmony up") {
					t.Errorf("harmony status: %s%s", &said.Stdout, &said.Stderr)
				}
			}
			for _, program := range []*lab.Program{lives, next} {
				if err := program.Cmd.Process.Signal(syscall.SIGINT); err != nil || !program.Ended(lab.StopLimit) {
					t.Fatalf("it does not end: %v", err)
				}
			}
			if left := folders(t, temp); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

func folders(t *testing.T, parent string) []string {
	t.Helper()
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
