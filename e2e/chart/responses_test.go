//go:build e2e && chart

package chart

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestResponsesRun runs what the rendered container of the responses service runs, with a real PostgreSQL: its probes,
// its metrics, a response that is stored, and one that continues it. The gateway is a harmony up with the rendered
// configuration.
func TestResponsesRun(t *testing.T) {
	_, address := lab.RunSim(t, sim.Options{})
	database := lab.StartPostgres(t).Database("chart")
	values := write(t, "values.yaml", fmt.Sprintf("config:\n  responses_service: {store: '%s'}\n"+
		"  models: [{name: %s, servers: ['vllm=%s']}]\n", database, lab.Model, address))
	objects := read(t, render(t, chartFolder(), "testdata/values/responses.yaml", values))
	c := objects.find(t, "Deployment", "-responses").at("spec", "template", "spec").list("containers")[0]
	m := &machine{T: t}
	status := m.address("0.0.0.0", "18092")
	service := m.address("0.0.0.0", "8090")
	m.places = append(m.places, "edge-harmony-edge-responses.models.svc.cluster.local:8090", service)
	gateway := m.address("0.0.0.0", "8080")
	m.places = append(m.places, "edge-harmony-edge-envoy.models.svc.cluster.local:80", gateway)
	text := fmt.Sprint(objects.find(t, "ConfigMap", "-controlplane").at("data")["config.yaml"])
	file := filepath.Join(m.place("/etc/harmony"), "config.yaml")
	if err := os.WriteFile(file, []byte(m.args([]string{text})[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	lab.RunHarmony(t, nil, append(c.strings("command")[1:], m.args(c.strings("args"))...)...)
	for _, probe := range []string{"readinessProbe", "livenessProbe"} {
		get(t, "http://"+status+fmt.Sprint(c.at(probe, "httpGet")["path"]), http.StatusOK)
	}
	get(t, "http://"+status+"/metrics", http.StatusOK, "harmony_responses_store_up 1\n")
	lab.RunHarmony(t, nil, "up", "--host", "wazero", "--wasm", lab.Tool(t, "HARMONY_WASM"), "--config", file)
	get(t, "http://"+gateway+"/v1/models", http.StatusOK)
	ask := func(members, want string) string {
		t.Helper()
		a := lab.Ask(lab.HTTP1(t), "http://"+gateway+lab.ResponsesPath, `{"model":"`+lab.Model+`",`+members+`}`)
		if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
			t.Fatalf("%s: %d %s (%v)", members, a.Status, a.Body, a.Err)
		}
		_, rest, _ := strings.Cut(a.Body, `"id":"resp_`)
		id, _, _ := strings.Cut(rest, `"`)
		return "resp_" + id
	}
	first := ask(`"input":"I am Ada."`, "has 2 messages")
	ask(`"input":"Who am I?","previous_response_id":"`+first+`"`, "has 4 messages")
}
