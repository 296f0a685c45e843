package envoygateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/meshtest"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// hash is the SHA-256 of nothing.
const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func options() Options {
	return Options{Name: "harmony", Namespace: "models", Class: "eg",
		Module: mesh.Module{URL: "oci://registry.example.com/harmony/filter:1", SHA256: hash}}
}

// TestGolden compares the objects of each testdata/NAME.yaml.
func TestGolden(t *testing.T) {
	modules := map[string]mesh.Module{
		"everything": options().Module, "chat": options().Module, "file": {URL: "file:///opt/harmony-filter.wasm"},
		"reduced": {URL: "https://example.com/filter.wasm"}, "inferencepool": {URL: "file:///opt/harmony-filter.wasm"},
	}
	meshtest.Golden(t, len(modules), "file", func(name string, c *config.Resolved) (string, []mesh.Object, error) {
		o := options()
		o.Module = modules[name]
		objects, err := Objects(c, o)
		return Comment(c.Config, o), objects, err
	})
}

// TestRefusals has what cannot be written, with a word of each error.
func TestRefusals(t *testing.T) {
	const one = "models: [{name: m, servers: ['vllm=http://a:1']}]\n"
	const pool = "models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://a:1'], "
	for name, c := range map[string]struct {
		settings string
		edit     func(*Options)
		want     string
	}{
		"authorization": {pool + "authorization: k}]\nsecrets: [{name: k, env: K}]\n", func(*Options) {}, "authorization"},
		"cookie":        {pool + "policy: session, session: {cookie: c}}]\n", func(*Options) {}, "header: NAME"},
		"port 0":        {"listen: 127.0.0.1:0\n" + one, func(*Options) {}, "port 0"},
		"class":         {one, func(o *Options) { o.Class = "" }, "GatewayClass"},
		"file": {"mode: reduced\n" + one, func(o *Options) { o.Module = mesh.Module{URL: "file:///f"} },
			"fetches its module"},
		"namespace": {"models: [{name: m, pool: p}]\npools: [{name: p, inference_pool: {name: i, namespace: other}}]\n",
			func(*Options) {}, "--namespace other"},
		"paths": {"passthrough: http://b\npassthrough_paths: [" + strings.Repeat("/a/,", 20) + "]\n" + one, func(*Options) {},
			"fewer passthrough_paths"},
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

// TestPrecedence asks both tables for every request that differs to them: Envoy's, where the first route wins, and the
// Gateway API's, where the most specific one does.
func TestPrecedence(t *testing.T) {
	loaded, err := config.Load("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := mesh.Split(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{config: c, parts: parts}
	all, err := b.matches()
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, path := range []string{"/", "/health", "/v1/", "/v1/models", "/v1/completions", "/v1/chat/completions", "/v1/responses",
		"/v1/responses/input_tokens", "/tokenize", "/detokenize", "/other"} {
		for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
			for _, pool := range []string{"", "gpt-oss-120b", "openai/gpt-oss-20b", "responses-service", "gone"} {
				r := request{path, method, pool}
				first := slices.IndexFunc(all, func(m []match) bool { return r.fits(m[0]) })
				if best := r.mostSpecific(all); best != first {
					t.Errorf("%+v goes by route %q, want %q", r, parts.Host.GetRoutes()[best].GetName(),
						parts.Host.GetRoutes()[first].GetName())
				}
				requests++
			}
		}
	}
	if requests != 220 {
		t.Errorf("%d requests", requests)
	}
}

type request struct{ path, method, pool string }

func (r request) fits(m match) bool {
	if m.prefix && !strings.HasPrefix(r.path, m.path) || !m.prefix && r.path != m.path {
		return false
	}
	for name, want := range m.headers {
		got := r.pool
		if name == methodHeader {
			got = r.method
		}
		if got == "" || want != "" && got != want {
			return false
		}
	}
	return true
}

// mostSpecific returns the route that Envoy Gateway puts first.
func (r request) mostSpecific(all [][]match) int {
	best, rank := -1, -1
	for i, matches := range all {
		for _, m := range matches {
			if !r.fits(m) {
				continue
			}
			exact := 0
			for _, value := range m.headers {
				if value != "" {
					exact++
				}
			}
			own := len(m.path)*100 + len(m.headers)*10 + exact
			if !m.prefix {
				own += 1_000_000
			}
			if own > rank {
				best, rank = i, own
			}
		}
	}
	return best
}
