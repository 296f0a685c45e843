//go:build e2e && chart

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// hash is the SHA-256 of nothing.
const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// rows are what was checked, for the table at the end.
var rows []string

func record(what string, kinds map[string]int) {
	total := 0
	var names []string
	for kind, n := range kinds {
		total += n
		_, name, _ := strings.Cut(kind, " ")
		names = append(names, name)
	}
	slices.Sort(names)
	rows = append(rows, fmt.Sprintf("%-44s  %3d objects  %s", what, total, strings.Join(names, ", ")))
}

// TestMain writes the table of what was checked to $HARMONY_CHART_TABLE.
func TestMain(m *testing.M) {
	code := m.Run()
	if file := os.Getenv("HARMONY_CHART_TABLE"); file != "" {
		slices.Sort(rows)
		if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestMeshes holds what harmony mesh prints against the schemas of Istio and Envoy Gateway, in both modes.
func TestMeshes(t *testing.T) {
	oci := []string{"--module", "oci://registry.example.com/harmony/filter:1", "--module-sha256", hash}
	for mesh, runs := range map[string]map[string][]string{
		"istio": {
			"everything": oci, "chat": oci, "reduced": append(oci, "--pull-secret", "registry"),
			"extension": append(oci, "--api", "TrafficExtension"),
			"inline": {"--module", "file:///opt/harmony-filter.wasm", "--inline", "--port", "80", "--target-port", "8080",
				"--bind", "127.0.0.1"},
			"inferencepool": append(oci, "-n", "models"),
		},
		"envoy-gateway": {
			"everything": oci, "chat": oci, "reduced": oci, "file": {"--module", "file:///opt/harmony-filter.wasm"},
			"inferencepool": oci,
		},
	} {
		folder := lab.File("envoy/mesh/" + strings.ReplaceAll(mesh, "-", "") + "/testdata")
		inputs, err := filepath.Glob(folder + "/*.yaml")
		if err != nil || len(inputs) != len(runs) {
			t.Fatalf("%s: %d inputs, want %d: %v", mesh, len(inputs), len(runs), err)
		}
		for _, input := range inputs {
			t.Run(mesh+"/"+base(input), func(t *testing.T) {
				flags, ok := runs[base(input)]
				if !ok {
					t.Fatal("no flags for this configuration")
				}
				p := lab.RunHarmony(t, nil, append([]string{"mesh", mesh, "--config", input}, flags...)...)
				if !p.Ended(lab.ReadyLimit) || p.ExitCode(t) != 0 {
					t.Fatal(p.Stderr.String())
				}
				kinds := valid(t, write(t, "objects.yaml", p.Stdout.String()))
				if len(kinds) < 4 {
					t.Errorf("only these kinds: %v", kinds)
				}
				record("harmony mesh "+mesh+", "+base(input)+".yaml", kinds)
			})
		}
	}
}

// TestWrongObjects checks that the schemas find mistakes: one of each kind of schema, in an object that is right
// without.
func TestWrongObjects(t *testing.T) {
	chart := render(t, chartFolder(), "testdata/values/everything.yaml")
	istio := lab.File("envoy/mesh/istio/testdata/inline.golden")
	gateway := lab.File("envoy/mesh/envoygateway/testdata/file.golden")
	const unknown = ": Invalid value: value provided for unknown field"
	found := map[string]int{}
	for _, tt := range []struct{ name, file, old, by, want string }{
		{"Kubernetes: unknown field", chart, "terminationGracePeriodSeconds:", "terminationGraceSeconds:",
			"spec.template.spec.terminationGraceSeconds" + unknown},
		{"Kubernetes: type", chart, "minReplicas: 2", "minReplicas: two", "minReplicas"},
		{"Kubernetes: kind", chart, "kind: HorizontalPodAutoscaler", "kind: HorizontalAutoscaler", "HorizontalAutoscaler"},
		{"Prometheus' operator", chart, "podMetricsEndpoints:", "podEndpoints:", "spec.podEndpoints" + unknown},
		{"cert-manager", chart, "algorithm: ECDSA", "algorithm: DSA", "Unsupported value"},
		{"Istio: unknown field", istio, "workloadSelector:", "workloads:", "spec.workloads" + unknown},
		{"Istio: value", istio, "resolution: STATIC", "resolution: SOME", "Unsupported value"},
		{"Gateway API", gateway, "gatewayClassName:", "class:", "spec.class" + unknown},
		{"Envoy Gateway", gateway, "type: JSONPatch", "type: Merge", "Unsupported value"},
	} {
		text, err := os.ReadFile(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), tt.old) {
			t.Errorf("%s: there is no %s", tt.name, tt.old)
			continue
		}
		broken := write(t, "broken.yaml", strings.Replace(string(text), tt.old, tt.by, 1))
		if _, wrong := check(t, "validate", "-crds", lab.File(".tools/chart"), broken); !strings.Contains(wrong, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, wrong, tt.want)
			continue
		}
		found["mistake "+tt.name]++
	}
	record("mistakes that the schemas have found, in", found)
}
