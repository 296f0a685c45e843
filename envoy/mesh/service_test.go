package mesh

import (
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

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

// TestSplitInferencePools has pools that are an InferencePool, which a route leads to, and what a mesh cannot do with
// one.
func TestSplitInferencePools(t *testing.T) {
	for settings, want := range map[string]string{
		"inference_pool: {name: i}":                                                  "",
		"inference_pool: {name: i}, servers: ['http://h:1']":                         "a pool of their own",
		"inference_pool: {name: i}, service: {name: s, namespace: n, port: 1}":       "a pool of their own",
		"inference_pool: {name: i}, spares: [q]":                                     "leave spares out",
		"inference_pool: {name: i}, policy: round_robin":                             "leave policy out",
		"inference_pool: {name: i}, capacity: 8":                                     "leave capacity out",
		"servers: ['http://h:1'], spares: [q]}, {name: q, inference_pool: {name: i}": "as a spare of p",
		"inference_pool: {name: i}, authorization: k}]\nsecrets: [{name: k, env: K":  "leave authorization out",
	} {
		text := "models: [{name: m, pool: p}]\npools: [{name: p, " + settings + "}"
		if strings.Contains(settings, "[q]") && !strings.Contains(settings, "name: q") {
			text += ", {name: q, servers: ['http://h:2']}"
		}
		c, err := config.Parse("test", []byte(text+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		parts, err := Split(r, nil)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", settings, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(parts.Clusters, func(c *clusterv3.Cluster) bool { return InferencePool(r, c.GetName()) == "i" })
		if i < 0 || len(Endpoints(parts.Clusters[i])) != 0 {
			t.Errorf("the InferencePool is the cluster %d, and must be one without servers: %v", i, parts.Clusters)
		}
	}
}
