package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestEveryMistakeIsPrinted checks that each mistake of a file is a line, with its place, and how many there are at most.
func TestEveryMistakeIsPrinted(t *testing.T) {
	two := clitest.WriteFile(t, "two.yaml", "mode: half\nmodels:\n- name: m\n  servers: [vllm=h:1]\n  colour: red\n")
	var servers strings.Builder
	for i := range 60 {
		fmt.Fprintf(&servers, "  - vllm=h:%d\n", i)
	}
	many := clitest.WriteFile(t, "many.yaml", "models:\n- name: m\n  servers:\n"+servers.String())
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "validate", two, many}, &out, &failed); code != cli.ExitUsage {
		t.Errorf("status %d", code)
	}
	lines := strings.Split(strings.TrimSpace(failed.String()), "\n")
	for i, want := range []string{
		"error: " + two + `:1:7: mode: "half" is not known; write full or reduced`,
		"error: " + two + `:4:13: models[0].servers[0]: "h:1" is not a URL; write http://host:port`,
		"error: " + two + ":5:3: models[0].colour: colour is not a setting; check its spelling and its indentation",
		"error: " + many + `:4:5: models[0].servers[0]: "h:0" is not a URL; write http://host:port`,
	} {
		if lines[i] != want {
			t.Errorf("line %d:\ngot  %s\nwant %s", i, lines[i], want)
		}
	}
	if len(lines) != 3+50+1 || lines[len(lines)-1] != "error: and 10 more" {
		t.Errorf("%d lines, the last one: %s", len(lines), lines[len(lines)-1])
	}
	failed.Reset()
	anywhere := []string{"controlplane", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--state", "none",
		"--wasm-on-envoys", "/f.wasm", "--config", two}
	code := run(t.Context(), anywhere, &out, &failed)
	for _, want := range []string{":1: mode: ", ":4: models[0].servers[0]: ", ":5: models[0].colour: "} {
		if code != cli.ExitUsage || !strings.Contains("\n"+failed.String(), "\nerror: "+two+want) {
			t.Errorf("at a start: status %d, and no %s in\n%s", code, want, &failed)
		}
	}
}

// TestMissingIsNoted checks that validate notes what this machine lacks, and ends with status 0.
func TestMissingIsNoted(t *testing.T) {
	t.Setenv("HARMONY_TEST_UNSET", "")
	file := clitest.WriteFile(t, "c.yaml", "secrets: [{ name: k, env: HARMONY_TEST_UNSET }]\npools: [{ name: p, servers: "+
		"['http://h:1'], authorization: k }]\nmodels: [{ name: m, pool: p }]\n")
	var out, failed bytes.Buffer
	code := run(t.Context(), []string{"controlplane", "validate", file}, &out, &failed)
	want := "note: " + file + ":1:27: secrets[0].env: HARMONY_TEST_UNSET is not set here, or is empty; set it in the " +
		"environment of the control plane\n"
	if code != 0 || failed.String() != want {
		t.Errorf("status %d\ngot  %swant %s", code, &failed, want)
	}
}

// TestExplain checks that the table has every setting of the schema, and says of each what a change needs.
func TestExplain(t *testing.T) {
	var table, list, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "validate", "--explain"}, &table, &failed); code != 0 {
		t.Fatal(&failed)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(table.String()) {
		if cells := strings.Fields(line); len(cells) > 1 && !strings.HasPrefix(line, " ") {
			rows[cells[0]] = cells[1:]
		}
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	n := eachSetting(t, config.Schema, schema.Defs, "", func(path string) {
		if rows[path] == nil || rows[path][0] != "live" && rows[path][0] != "start:" && rows[path][0] != "up:" {
			t.Errorf("%s: %v", path, rows[path])
		}
	})
	if code := run(t.Context(), []string{"controlplane", "validate", "--explain", "--json"}, &list, &failed); code != 0 {
		t.Fatal(&failed)
	}
	var all []explained
	if err := json.Unmarshal(list.Bytes(), &all); err != nil || len(all) != n || n < 100 {
		t.Errorf("%v, %d settings, and %d in the schema", err, len(all), n)
	}
	for _, s := range all {
		if s.Meaning == "" || s.Range == "" || s.Default == "" || strings.ContainsAny(s.Meaning, "`\n") {
			t.Errorf("%+v", s)
		}
	}
	for path, want := range map[string]string{"envoy.concurrency": "Envoy", "admin": "page",
		"responses_service.store": "service"} {
		if rows[path][0] != "start:" || rows[path][1] != want {
			t.Errorf("%s: %v", path, rows[path])
		}
	}
}

// eachSetting calls visit for every setting of a block of a schema, and returns how many there are.
func eachSetting(t *testing.T, block json.RawMessage, defs map[string]json.RawMessage, prefix string,
	visit func(path string)) (n int) {
	t.Helper()
	type property struct {
		Ref   string `json:"$ref"`
		Items struct {
			Ref string `json:"$ref"`
		} `json:"items"`
	}
	var b struct {
		Properties map[string]property `json:"properties"`
	}
	if err := json.Unmarshal(block, &b); err != nil {
		t.Fatal(err)
	}
	for name, p := range b.Properties {
		path, ref := prefix+name, p.Ref
		if p.Items.Ref != "" {
			path, ref = path+"[]", p.Items.Ref
		}
		if inner := defs[strings.TrimPrefix(ref, "#/$defs/")]; inner != nil {
			n += eachSetting(t, inner, defs, path+".", visit)
			continue
		}
		n++
		visit(path)
	}
	return n
}
