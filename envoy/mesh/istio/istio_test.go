package istio

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/meshtest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// hash is the SHA-256 of nothing.
const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func options() Options {
	return Options{
		Name: "harmony", Namespace: "ingress", Selector: map[string]string{"istio": "ingressgateway"}, Hosts: []string{"*"},
		Module: mesh.Module{URL: "oci://registry.example.com/harmony/filter:1", SHA256: hash}, API: WasmPlugin,
	}
}

// TestGolden compares the objects of each testdata/NAME.yaml.
func TestGolden(t *testing.T) {
	edits := map[string]func(*Options){
		"everything": func(*Options) {},
		"chat":       func(*Options) {},
		"inline": func(o *Options) {
			o.Inline, o.Module = true, mesh.Module{URL: "file:///opt/harmony-filter.wasm"}
			o.Port, o.TargetPort, o.Bind = 80, 8080, "127.0.0.1"
		},
		"reduced":   func(o *Options) { o.PullSecret = "registry" },
		"extension": func(o *Options) { o.API = TrafficExtension },
		"inferencepool": func(o *Options) {
			o.Inline, o.Module = true, mesh.Module{URL: "file:///opt/harmony-filter.wasm"}
			o.Port, o.Hosts = 80, []string{"models.example.com"}
		},
	}
	meshtest.Golden(t, len(edits), "inline", func(name string, c *config.Resolved) (string, []mesh.Object, error) {
		o := options()
		edits[name](&o)
		objects, err := Objects(c, o)
		return Comment(c.Config, o), objects, err
	})
}

// TestFullModeHoldsHeaders finds the setting without which full mode does not work, and its absence in reduced mode.
func TestFullModeHoldsHeaders(t *testing.T) {
	for mode, want := range map[string]int{contract.ModeFull: 1, contract.ModeReduced: 0} {
		c := meshtest.Resolve(t, "testdata/inline.yaml").Config
		c.Mode = mode
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		objects, err := Objects(r, options())
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(objects)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "allow_on_headers_stop_iteration: true"); got != want {
			t.Errorf("%s: the setting is there %d times, want %d", mode, got, want)
		}
	}
}

// TestRefusals has what cannot be written, with a word of each error.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		edit     func(*Options)
		want     string
	}{
		"authorization": {"models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://a:1'], authorization: k}]\n" +
			"secrets: [{name: k, env: K}]\n", func(*Options) {}, "authorization"},
		"several names": {"models: [{name: m, pool: p}]\npools: [{name: p, servers: ['https://a', 'https://b']}]\n",
			func(*Options) {}, "a pool of each"},
		"port 0":      {"listen: 127.0.0.1:0\n" + oneModel, func(*Options) {}, "port 0"},
		"inline oci":  {oneModel, func(o *Options) { o.Inline = true }, "fetches no module"},
		"inline mode": {"mode: reduced\n" + oneModel, func(o *Options) { o.Inline = true }, "full mode"},
		"api":         {"mode: reduced\n" + oneModel, func(o *Options) { o.API = "EnvoyFilter" }, "WasmPlugin or"},
		"secret":      {oneModel, func(o *Options) { o.PullSecret = "s" }, "service account"},
		"selector":    {oneModel, func(o *Options) { o.Selector = nil }, "labels"},
		"target":      {oneModel, func(o *Options) { o.TargetPort = 1 }, "write both"},
		"ports": {"listeners: [{address: '0.0.0.0:1'}, {name: b, address: '0.0.0.0:2'}]\n" + oneModel,
			func(o *Options) { o.Port = 1 }, "several listeners"},
		"inference bind":      {onePool, func(o *Options) { o.Bind = "127.0.0.1" }, "leave the bind address"},
		"inference mode":      {"mode: reduced\n" + onePool, func(*Options) {}, "mode full"},
		"inference namespace": {onePool, func(o *Options) { o.Namespace = "elsewhere" }, "--namespace ingress"},
		"module":              {oneModel, func(o *Options) { o.Module.URL = "filter.wasm" }, "not the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			r, o := meshtest.Parse(t, c.settings), options()
			c.edit(&o)
			if _, err := Objects(r, o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

const onePool = "models: [{name: m, pool: p}]\npools: [{name: p, inference_pool: {name: i, namespace: ingress}}]\n"

const oneModel = "models: [{name: m, servers: ['vllm=http://a:1']}]\n"
