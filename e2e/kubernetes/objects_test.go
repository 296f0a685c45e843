//go:build e2e && kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

const (
	pickerPort = "9002"

	// meshConfiguration is what harmony mesh istio reads, with the path of an access log.
	meshConfiguration = `
listen: 0.0.0.0:80
access_log: %s
models: [{name: gpt-oss-120b, pool: h200}]
pools:
  - name: h200
    inference_pool: {name: vllm}
`
)

// TestMeshObjects: an API server takes what harmony mesh istio prints, by the schemas and the checks of Istio's own
// kinds, of the Gateway API's and of the Inference Extension's.
func TestMeshObjects(t *testing.T) {
	c := startCluster(t)
	c.kinds()
	c.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	c.create(poolPath, pickedPool("FailClose"))
	c.apply(c.printed("/dev/stdout", "/etc/harmony/filter.wasm"))
	c.kill()
}

// kinds creates the custom resources of Istio, of the Gateway API and of the Inference Extension, from their modules.
func (c *cluster) kinds() {
	c.Helper()
	folders := strings.Fields(lab.Tool(c.T, "HARMONY_ISTIO_MODULES"))
	if len(folders) != 3 {
		c.Fatalf("the modules are %q", folders)
	}
	files := []string{filepath.Join(folders[0], "manifests/charts/base/files/crd-all.gen.yaml"),
		filepath.Join(folders[2], "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml")}
	routes, err := filepath.Glob(filepath.Join(folders[1], "config/crd/standard/gateway.networking.k8s.io_*s.yaml"))
	c.must(err)
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	var names []string
	for _, file := range append(files, routes...) {
		if strings.Contains(file, "_vap_") { // a policy on the kinds themselves
			continue
		}
		text, err := os.ReadFile(file)
		c.must(err)
		for _, one := range documents(string(text)) {
			var created struct{ Metadata struct{ Name string } }
			c.must(json.Unmarshal(c.create(path, one), &created))
			names = append(names, created.Metadata.Name)
		}
	}
	for _, name := range names {
		c.eventually(name+" is served", func() bool {
			_, answer := c.send(http.MethodGet, path+"/"+name, nil)
			return holds(answer, "Established")
		})
	}
}

// documents returns the parts of a YAML file that have an object.
func documents(text string) []string {
	var all []string
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		if strings.Contains(part, "\nkind: ") {
			all = append(all, part)
		}
	}
	return all
}

// holds reports whether all conditions of these types in an object's status are true, and there is one of each.
func holds(object []byte, types ...string) bool {
	type conditions []struct{ Type, Status string }
	var o struct {
		Status struct {
			Conditions conditions
			Parents    []struct{ Conditions conditions }
		}
	}
	if json.Unmarshal(object, &o) != nil {
		return false
	}
	all := o.Status.Conditions
	for _, p := range o.Status.Parents {
		all = append(all, p.Conditions...)
	}
	found := map[string]bool{}
	for _, c := range all {
		for _, name := range types {
			if c.Type == name && c.Status != "True" {
				return false
			}
		}
		found[c.Type] = true
	}
	for _, name := range types {
		if !found[name] {
			return false
		}
	}
	return true
}

// plurals are the names of kinds in paths.
var plurals = map[string]string{"ServiceEntry": "serviceentries", "DestinationRule": "destinationrules",
	"EnvoyFilter": "envoyfilters", "Gateway": "gateways", "HTTPRoute": "httproutes"}

// apply creates objects. The API server refuses a field that it does not know.
func (c *cluster) apply(objects string) {
	c.Helper()
	for _, one := range documents(objects) {
		field := func(name string) string {
			return regexp.MustCompile(`(?m)^` + name + `: (\S+)$`).FindStringSubmatch(one)[1]
		}
		c.create("/apis/"+field("apiVersion")+"/namespaces/"+namespace+"/"+plurals[field("kind")]+"?fieldValidation=Strict", one)
	}
}

// printed returns the objects that harmony mesh istio prints.
func (c *cluster) printed(log, module string) string {
	c.Helper()
	c.write("mesh-config.yaml", fmt.Appendf(nil, meshConfiguration, log))
	p := lab.Run(c.T, exec.Command(lab.Tool(c.T, "HARMONY_BIN"), "mesh", "istio", "--config",
		filepath.Join(c.folder, "mesh-config.yaml"), "-n", namespace, "--module", "file://"+module))
	if !p.Ended(lab.ProgramLimit) || p.ExitCode(c.T) != 0 {
		c.Fatalf("harmony mesh istio: %s", &p.Stderr)
	}
	return p.Stdout.String()
}

func pickedPool(failureMode string) string {
	return `apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: vllm}
spec:
  selector: {matchLabels: {app: vllm}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: picker, port: {number: ` + pickerPort + `}, failureMode: ` + failureMode + `}
`
}
