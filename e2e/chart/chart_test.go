//go:build e2e && chart

package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// chartFolder is the chart.
func chartFolder() string { return lab.File("envoy/chart") }

// check runs chartcheck and returns what it prints, and what it says is wrong.
func check(t *testing.T, args ...string) (out, wrong string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_CHARTCHECK"), args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	switch {
	case err == nil:
		return stdout.String(), ""
	case stderr.Len() == 0:
		t.Fatal(err)
	}
	return stdout.String(), stderr.String()
}

// render returns the objects of the chart with values files, as a file.
func render(t *testing.T, chart string, values ...string) (file string) {
	t.Helper()
	out, wrong := check(t, append([]string{"render", "-release", "edge", "-namespace", "models", chart}, values...)...)
	if wrong != "" {
		t.Fatalf("%s: %s", values, wrong)
	}
	return write(t, "objects.yaml", out)
}

// write writes a file into a folder of its own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// valid fails the test unless all objects of a file are what an API server takes. It returns their kinds with how many
// there are of each.
func valid(t *testing.T, file string) map[string]int {
	t.Helper()
	out, wrong := check(t, "validate", "-crds", lab.File(".tools/chart"), file)
	if wrong != "" {
		t.Errorf("%s: %s", file, wrong)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		kinds[fields[0]+" "+fields[1]]++
	}
	return kinds
}

// valuesFiles returns the files of testdata/values or testdata/wrong.
func valuesFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + folder + "/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

func base(file string) string { return strings.TrimSuffix(filepath.Base(file), ".yaml") }

// TestLint runs Helm's linter, for which a warning is an error, with the values of the chart and with others.
func TestLint(t *testing.T) {
	for _, values := range append(valuesFiles(t, "values"), "") {
		args := []string{"lint", chartFolder()}
		if values != "" {
			args = append(args, values)
		}
		if _, wrong := check(t, args...); wrong != "" {
			t.Errorf("%s: %s", values, wrong)
		}
	}
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(chartFolder())); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(broken, "templates", "z.yaml")
	if err := os.WriteFile(template, []byte("a: {{ .Values.a.b }}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, wrong := check(t, "lint", broken); !strings.Contains(wrong, "z.yaml") {
		t.Errorf("a broken template is not found: %s", wrong)
	}
}

// TestObjects renders the chart with each values file, and holds the objects against the schemas.
func TestObjects(t *testing.T) {
	all := map[string]int{}
	for _, values := range valuesFiles(t, "values") {
		t.Run(base(values), func(t *testing.T) {
			kinds := valid(t, render(t, chartFolder(), values))
			record("the chart, "+base(values)+".yaml", kinds)
			for kind := range kinds {
				all[kind]++
			}
		})
	}
	if len(all) != 12 {
		t.Errorf("%d kinds of objects: %v", len(all), all)
	}
}

// TestWrongValues holds what Helm says of values that cannot work: each file begins with it.
func TestWrongValues(t *testing.T) {
	for _, values := range valuesFiles(t, "wrong") {
		text, err := os.ReadFile(values)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		want := strings.TrimPrefix(first, "# ")
		if out, wrong := check(t, "render", chartFolder(), values); !strings.Contains(wrong, want) || out != "" {
			t.Errorf("%s: got %q, want %q", values, wrong, want)
		}
	}
}

// TestConfigurations checks each rendered configuration as the control plane does.
func TestConfigurations(t *testing.T) {
	for _, values := range valuesFiles(t, "values") {
		folder := t.TempDir()
		objects := read(t, render(t, chartFolder(), values))
		for name, text := range objects.find(t, "ConfigMap", "").at("data") {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(fmt.Sprint(text)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := lab.RunHarmony(t, nil, "controlplane", "validate", filepath.Join(folder, "config.yaml"))
		if !p.Ended(lab.ReadyLimit) || p.ExitCode(t) != 0 || strings.Contains(p.Stderr.String(), "note:") {
			t.Errorf("%s: %s", values, &p.Stderr)
		}
	}
}

// TestFlags checks that the programs know every flag that is rendered. They read all flags before they show their help.
func TestFlags(t *testing.T) {
	known := func(program, help string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), lab.Tool(t, program), append(args, help)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "Couldn't find match") {
			t.Errorf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	for _, values := range valuesFiles(t, "values") {
		objects := read(t, render(t, chartFolder(), values))
		pod := objects.find(t, "Deployment", "-controlplane").at("spec", "template", "spec")
		known("HARMONY_BIN", "--help", append([]string{"controlplane"}, pod.list("containers")[0].strings("args")...)...)
		pod = objects.find(t, "Deployment", "-envoy").at("spec", "template", "spec")
		known("HARMONY_BIN", "--help", append([]string{"controlplane"}, pod.list("initContainers")[0].strings("args")...)...)
		known("ENVOY", "--version", pod.list("containers")[0].strings("args")...)
		for _, service := range objects.named("Deployment", "-responses") {
			c := service.at("spec", "template", "spec").list("containers")[0]
			known("HARMONY_BIN", "--help", append(c.strings("command")[1:], c.strings("args")...)...)
		}
	}
}

// TestToolsOfChart checks that the Secrets with headers are mounted, and that MCP servers are within reach.
func TestToolsOfChart(t *testing.T) {
	objects := read(t, render(t, chartFolder(), "testdata/values/everything.yaml"))
	pod := objects.find(t, "Deployment", "-responses").at("spec", "template", "spec")
	secrets := map[string]string{}
	for _, v := range pod.list("volumes") {
		secrets[fmt.Sprint(v["name"])] = fmt.Sprint(v.at("secret")["secretName"])
	}
	mounted := false
	for _, m := range pod.list("containers")[0].list("volumeMounts") {
		if m["mountPath"] == "/run/time/" {
			mounted = m["readOnly"] == true && secrets[fmt.Sprint(m["name"])] == "time"
		}
	}
	if !mounted {
		t.Errorf("the Secret is not mounted: %v", pod)
	}
	egress := fmt.Sprint(objects.find(t, "NetworkPolicy", "-responses").at("spec")["egress"])
	if !strings.Contains(egress, "10.0.1.5/32") || !strings.Contains(egress, "kubernetes.io/metadata.name:tools") {
		t.Errorf("the egress is %s", egress)
	}
	objects = read(t, render(t, chartFolder(), "testdata/values/responses.yaml"))
	open := false
	for _, rule := range objects.find(t, "NetworkPolicy", "-responses").at("spec").list("egress") {
		open = open || len(rule) == 0
	}
	if !open {
		t.Error("without rules of the database, MCP servers are out of reach")
	}
}

// object is a part of an object, as YAML has it.
type object map[string]any

// at returns the map at a path. It is nil where there is none.
func (o object) at(path ...string) object {
	for _, name := range path {
		next, _ := o[name].(map[string]any)
		o = next
	}
	return o
}

// list returns the maps of the list at a name.
func (o object) list(name string) []object {
	var all []object
	items, _ := o[name].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// strings returns the texts of the list at a name.
func (o object) strings(name string) []string {
	var all []string
	items, _ := o[name].([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

type objects []object

// read reads the objects of a file.
func read(t *testing.T, file string) objects {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all objects
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// named returns the objects of a kind whose names end so.
func (all objects) named(kind, suffix string) (found []object) {
	for _, o := range all {
		if o["kind"] == kind && strings.HasSuffix(fmt.Sprint(o.at("metadata")["name"]), suffix) {
			found = append(found, o)
		}
	}
	return found
}

// find returns the only object of a kind whose name ends so.
func (all objects) find(t *testing.T, kind, suffix string) object {
	t.Helper()
	found := all.named(kind, suffix)
	if len(found) != 1 {
		t.Fatalf("%d objects %s %s among %d", len(found), kind, suffix, len(all))
	}
	return found[0]
}
