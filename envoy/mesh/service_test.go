package mesh

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestSplitTap: the filter knows the recorder by the name of a cluster, and a mesh names clusters itself.
func TestSplitTap(t *testing.T) {
	c, err := config.Parse("test", []byte("models: [{name: m, servers: ['vllm=http://h:1']}]\ntap: {url: 'http://h:2'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Split(r, nil); err == nil || !strings.Contains(err.Error(), "leave tap out") {
		t.Errorf("got %v", err)
	}
}

// TestSplitPolicies: a mesh cannot choose a server by what the filter says.
func TestSplitPolicies(t *testing.T) {
	for _, policy := range []string{config.PolicyPrefix, config.PolicyPicker} {
		c, err := config.Parse("test", []byte("models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://h:1'], policy: "+
			policy+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Split(r, nil); err == nil || !strings.Contains(err.Error(), "the policy "+policy+" of the pool p") {
			t.Errorf("got %v", err)
		}
	}
}

// TestSplitServices has pools with a Service, which the mesh knows by its whole name, and what it cannot be told.
func TestSplitServices(t *testing.T) {
	for settings, want := range map[string]string{
		"service: {name: vllm, namespace: models, port: 8000}": "vllm.models.svc.cluster.local:8000",
		"servers: ['http://10.0.0.1:1'], service: {name: vllm, namespace: models, port: 8000}": "10.0.0.1:1 " +
			"vllm.models.svc.cluster.local:8000",
		"service: {name: vllm, port: 8000}":                    "error: write service.namespace",
		"service: {name: vllm, namespace: models, port: http}": "error: write the number of the Service's port",
		"service: {name: vllm, namespace: models}":             "error: write the number of the Service's port",
	} {
		c, err := config.Parse("test", []byte("models: [{name: m, pool: p}]\npools: [{name: p, "+settings+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		parts, err := Split(r, nil)
		if text, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", settings, err, text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cluster := range parts.Clusters {
			for _, e := range Endpoints(cluster) {
				got = append(got, e.Host+":"+strings.TrimPrefix(e.Authority, e.Host+":"))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %s, want %s", settings, text, want)
		}
	}
}
