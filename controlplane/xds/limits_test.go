package xds

import (
	"testing"

	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// routesOf returns the routes of a configuration, by name.
func routesOf(t *testing.T, text string) map[string]*routev3.Route {
	t.Helper()
	c, err := config.Parse("h.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := build(c, Options{ModulePath: "/f.wasm", Clients: &clients.File{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*routev3.Route{}
	for _, route := range m.GetRouteConfig().VirtualHosts[0].Routes {
		all[route.GetName()] = route
	}
	return all
}

// TestSettingsTogether: no setting of a route takes another one's place.
func TestSettingsTogether(t *testing.T) {
	const limits = "clients: {keys_file: k}\nlimits: {url: 'http://10.0.0.9:9005'}\n"
	for _, tt := range []struct {
		pool   string
		want   []string
		hashed bool
	}{
		{"policy: session, session: {cookie: s}", []string{sessionFilter, LimitsFilterName}, false},
		{"policy: session, session: {header: x-session}", []string{LimitsFilterName}, true},
		{"policy: prefix", []string{LimitsFilterName}, true},
		{"policy: picker, picker: {url: 'http://10.0.0.8:9002', fallback: prefix}",
			[]string{PickerFilterName, LimitsFilterName}, true},
	} {
		r := routesOf(t, limits+"models: [{name: m, pool: p}]\n"+
			"pools: [{name: p, kind: vllm, servers: ['http://10.0.0.1:8000'], "+tt.pool+"}]")["pool m"]
		if len(r.TypedPerFilterConfig) != len(tt.want) || tt.hashed != (len(r.GetRoute().GetHashPolicy()) == 1) {
			t.Errorf("%s: the route has %v, %v", tt.pool, r.TypedPerFilterConfig, r.GetRoute().GetHashPolicy())
		}
		for _, name := range tt.want {
			if r.TypedPerFilterConfig[name] == nil {
				t.Errorf("%s: the route has nothing for %s", tt.pool, name)
			}
		}
	}
}

// TestLocalLimitsCountOnce: a request to the responses service comes back as one to a model, and counts there alone.
func TestLocalLimitsCountOnce(t *testing.T) {
	routes := routesOf(t, "clients: {keys_file: k}\nlimits: {mode: local}\n"+
		"responses_service: {url: 'http://10.0.0.7:9004'}\nmodels: [{name: m, servers: ['vllm=http://10.0.0.1:8000']}]")
	own := &localv3.LocalRateLimit{}
	if err := routes["responses service"].TypedPerFilterConfig[LimitsFilterName].UnmarshalTo(own); err != nil {
		t.Fatal(err)
	}
	if own.FilterEnabled != nil || own.TokenBucket == nil || len(own.Descriptors) != 0 {
		t.Errorf("the route to the service has the limits %v", own)
	}
	if routes["pool m"].TypedPerFilterConfig[LimitsFilterName] != nil {
		t.Error("the route to the model's servers has limits of its own")
	}
}
