package inprocess

import (
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

func build(c *config.Config) (*xds.Resources, error) {
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	return xds.Build(resolved, xds.Options{ModulePath: "/filter.wasm", Clients: &clients.File{}})
}

func resources(t *testing.T) *xds.Resources {
	t.Helper()
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:9000"
	c.Models = []config.Model{
		config.DefaultModel("one", "vllm=http://10.0.0.1:8000", "vllm=http://gpu.example:8000"),
		config.DefaultModel("two", "vllm=http://10.0.0.3:8000"),
	}
	r, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTracingIsRefused checks that tracing is refused here, because only Envoy makes spans.
func TestTracingIsRefused(t *testing.T) {
	c := config.Default()
	c.Tracing.URL = "http://127.0.0.1:4317"
	c.Models = []config.Model{config.DefaultModel("one", "vllm=http://10.0.0.1:8000")}
	r, err := build(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readListener(r); err == nil || !strings.Contains(err.Error(), "tracing") {
		t.Errorf("got %v", err)
	}
}

func TestRoutes(t *testing.T) {
	l, err := readListener(resources(t))
	if err != nil {
		t.Fatal(err)
	}
	if l.module != "/filter.wasm" || l.options.RemoveRequestPrefix != "x-harmony-internal-" ||
		!l.options.Plugin.AllowOnHeadersStopIteration {
		t.Errorf("got %+v", l)
	}
	for _, tt := range []struct {
		method, path, pool string
		cluster            string
		direct             int
	}{
		{"POST", "/v1/completions", "one", "harmony-pool-one", 0},
		{"POST", "/v1/completions", "two", "harmony-pool-two", 0},
		{"POST", "/v1/completions", "three", xds.UnroutedCluster, 0},
		{"POST", "/v1/completions?x=1", "one", "harmony-pool-one", 0},
		{"POST", "/v1/chat/completions", "one", xds.UnroutedCluster, 0},
		{"GET", "/v1/models", "", xds.PassthroughCluster, 0},
		{"GET", "/metrics", "one", "", 404},
	} {
		h := wasmhost.NewHeaders(":method", tt.method, ":path", tt.path)
		if tt.pool != "" {
			h.Set(contract.PoolHeader, tt.pool)
		}
		r := l.options.Route(h)
		switch {
		case r == nil:
			t.Errorf("%+v: no route", tt)
		case r.Cluster != tt.cluster || (r.Direct != nil) != (tt.direct != 0) ||
			r.Direct != nil && r.Direct.Status != tt.direct:
			t.Errorf("%+v: got %+v", tt, r)
		}
	}
}

func TestClusters(t *testing.T) {
	clusters, err := readClusters(resources(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		if c.Name == "harmony-pool-one" {
			if len(c.Endpoints) != 2 || c.Endpoints[1].Address != "gpu.example:8000" ||
				c.Endpoints[1].Hostname != "gpu.example:8000" || c.HTTP2 || c.TLS != nil {
				t.Errorf("got %+v", c)
			}
			return
		}
	}
	t.Error("the pool is missing")
}

// TestUnknown checks that unknown routes, filters and virtual hosts are refused, and not ignored.
func TestUnknown(t *testing.T) {
	for name, spoil := range map[string]func(m *hcmv3.HttpConnectionManager){
		"only one wasm filter is supported here": func(m *hcmv3.HttpConnectionManager) {
			m.HttpFilters = append(m.HttpFilters, &hcmv3.HttpFilter{Name: "envoy.filters.http.lua"})
		},
		"there is no wasm filter": func(m *hcmv3.HttpConnectionManager) {
			m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
		},
		"one virtual host for every domain is expected": func(m *hcmv3.HttpConnectionManager) {
			m.GetRouteConfig().VirtualHosts[0].Domains = []string{"example.com"}
		},
		"only a path or a prefix is supported here": func(m *hcmv3.HttpConnectionManager) {
			m.GetRouteConfig().VirtualHosts[0].Routes[0].Match.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{
				PathSeparatedPrefix: "/x"}
		},
		"only a value or its presence is supported here": func(m *hcmv3.HttpConnectionManager) {
			m.GetRouteConfig().VirtualHosts[0].Routes[0].Match.Headers[0].InvertMatch = true
		},
		"only a cluster or a direct response is supported here": func(m *hcmv3.HttpConnectionManager) {
			m.GetRouteConfig().VirtualHosts[0].Routes[0].Action = &routev3.Route_Redirect{}
		},
	} {
		r := resources(t)
		m, err := r.ConnectionManager()
		if err != nil {
			t.Fatal(err)
		}
		spoil(m)
		packed, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		r.Listeners[0].FilterChains[0].Filters[0].GetTypedConfig().Value = packed.Value
		if _, err := readListener(r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

// TestEnvoysOwn checks that settings for Envoy alone are refused, with a text that says what to do instead.
func TestEnvoysOwn(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"only one listener works without Envoy": func(c *config.Config) {
			c.Listeners = []config.Listener{{Name: "a", Address: "127.0.0.1:0"}, {Name: "b", Address: "127.0.0.1:0"}}
		},
		"TLS for clients needs Envoy": func(c *config.Config) {
			c.Listeners = []config.Listener{{Name: "a", Address: "127.0.0.1:0", TLS: "edge"}}
		},
		"sessions by cookie need Envoy": func(c *config.Config) {
			c.Pools[0].Policy, c.Pools[0].Session = config.PolicySession, config.Session{Cookie: "session"}
		},
		"pickers need Envoy": func(c *config.Config) {
			c.Pools[0].Policy, c.Pools[0].Picker.URL = config.PolicyPicker, "http://h:9002"
		},
		"pickers need Envoy: write": func(c *config.Config) { c.Pools[0].Policy = config.PolicyPicker },
		"authorization needs Envoy": func(c *config.Config) { c.Pools[0].Authorization = "token" },
		"capacity needs Envoy":      func(c *config.Config) { c.Pools[0].Capacity = 8 },
		"limits need Envoy": func(c *config.Config) {
			c.Clients.KeysFile, c.Limits.URL = "keys.yaml", "http://l:1"
		},
		"spares need Envoy": func(c *config.Config) { c.Pools[0].Spares = []string{"q"} },
	} {
		c := config.Default()
		m := config.DefaultModel("m")
		m.Pool = "p"
		c.Models = []config.Model{m}
		c.Pools = []config.Pool{{Name: "p", Servers: []string{"http://h:1"}}, {Name: "q", Servers: []string{"http://i:1"}}}
		c.Secrets = []config.Secret{{Name: "token", File: "t"}, {Name: "edge", Certificate: "c", Key: "k"}}
		change(c)
		r, err := build(c)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if _, err = Start(r, Options{}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--host envoy") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
