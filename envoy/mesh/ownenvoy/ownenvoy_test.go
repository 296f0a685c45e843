package ownenvoy

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/meshtest"
)

const models = "models: [{name: m, servers: ['vllm=http://10.0.0.7:8000']}]\n"

func resources(t *testing.T, config string) *xds.Resources {
	t.Helper()
	r, err := xds.Build(meshtest.Parse(t, config), xds.Options{ModulePath: "/f.wasm", CAFile: "/ca.pem"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// file returns the operator's file, with texts replaced.
func file(t *testing.T, replaced ...string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replaced); i += 2 {
		if strings.Count(string(text), replaced[i]) != 1 {
			t.Fatalf("%q is not there once", replaced[i])
		}
	}
	return []byte(strings.NewReplacer(replaced...).Replace(string(text)))
}

// merged returns the whole file and the pieces.
func merged(t *testing.T, r *xds.Resources, text []byte, o Options) (m *Merged, whole *object, pieces string) {
	t.Helper()
	m, err := Merge(r, text, o)
	if err != nil {
		t.Fatal(err)
	}
	var out, parts strings.Builder
	if err := m.WriteFile(&out, "comment\n"); err != nil {
		t.Fatal(err)
	}
	if err := m.WritePieces(&parts, "comment\n"); err != nil {
		t.Fatal(err)
	}
	if whole, err = parse([]byte(out.String())); err != nil {
		t.Fatal(err)
	}
	return m, whole, parts.String()
}

// at returns what a path of YAML finds in an object.
func at(t *testing.T, o *object, path string) string {
	t.Helper()
	p, err := yaml.PathString(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := marshal(toYAML(o))
	if err != nil {
		t.Fatal(err)
	}
	node, err := p.ReadNode(strings.NewReader(string(text)))
	if err != nil {
		return ""
	}
	return node.String()
}

// The places of the file that the tests look at.
const (
	listenerPath = "$.static_resources.listeners[1]"
	managerPath  = listenerPath + ".filter_chains[0].filters[0].typed_config"
	hostsPath    = managerPath + ".route_config.virtual_hosts"
	mutationPath = managerPath + ".early_header_mutation_extensions[0].typed_config.mutations[0]"
	mapperPath   = managerPath + ".local_reply_config.mappers[0].filter.and_filter.filters[0].extension_filter"
)

// TestMerge puts the pieces into a file whose names have both forms that Envoy takes.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		domain string
		want   map[string]string
	}{
		{"models.example.com", map[string]string{
			hostsPath + "[1].routes[0].name":                        "pool m",
			hostsPath + "[1].routes[2].name":                        "api /v1/chat/completions",
			hostsPath + "[2].name":                                  "",
			hostsPath + "[1].typed_per_filter_config":               "",
			hostsPath + "[0].typedPerFilterConfig.harmony.disabled": "true",
			hostsPath + "[0].typedPerFilterConfig.theirs.disabled":  "true",
			mapperPath + ".typed_config.expression":                 `xds.virtual_host_name == "ours"`,
		}},
		{"new.example.com", map[string]string{
			hostsPath + "[2].name":                                     "harmony",
			hostsPath + "[2].domains[0]":                               "new.example.com",
			hostsPath + "[0].typedPerFilterConfig.harmony.disabled":    "true",
			hostsPath + "[1].typed_per_filter_config.harmony.disabled": "true",
		}},
	} {
		m, whole, pieces := merged(t, resources(t, models), file(t), Options{Domain: c.domain})
		c.want["$.static_resources.listeners[0].filter_chains[0].filters[0].name"] = "tcp"
		c.want[listenerPath+".perConnectionBufferLimitBytes"] = "99999999"
		c.want[managerPath+".http_filters[1].name"] = "harmony"
		c.want[managerPath+".http_filters[2].name"] = "envoy.filters.http.router"
		c.want[managerPath+".streamIdleTimeout"] = "330s"
		c.want[managerPath+".path_with_escaped_slashes_action"] = "REJECT_REQUEST"
		c.want[managerPath+".normalize_path"] = "true"
		c.want[mutationPath+".remove_on_match.key_matcher.prefix"] = "x-harmony-internal-"
		c.want["$.static_resources.clusters[0].name"] = "shop"
		c.want["$.static_resources.clusters[2].name"] = "harmony-pool-m"
		c.want["$.stats_config.statsTags[0].tag_name"] = "theirs"
		for path, want := range c.want {
			if got := at(t, whole, path); strings.Trim(got, `"'`) != strings.Trim(want, `"'`) {
				t.Errorf("%s: %s is %s, want %s", c.domain, path, got, want)
			}
		}
		notes := strings.Join(m.Notes, "\n")
		for _, want := range []string{
			".typed_config.stream_idle_timeout: it is 60s", "there are envoy.filters.http.compressor",
			"static_resources.clusters[0] (shop): it has 10.0.0.7:8000", "use_remote_address", "overload_manager",
		} {
			if !strings.Contains(notes, want) || !strings.Contains(pieces, want) {
				t.Errorf("%s: no note has %q:\n%s", c.domain, want, notes)
			}
		}
		const place = "listeners[1] (web).filter_chains[0].filters[0].typed_config.http_filters: add before the last one"
		if !strings.Contains(pieces, place) || strings.Contains(pieces, "REJECT_REQUEST") {
			t.Errorf("%s: the pieces are\n%s", c.domain, pieces)
		}
	}
}

// TestNeeded has filters that only some configurations need.
func TestNeeded(t *testing.T) {
	for settings, want := range map[string]string{
		"": "envoy.filters.http.compressor harmony envoy.filters.http.router",
		"cors_origins: ['https://a.example']\n": "envoy.filters.http.cors envoy.filters.http.compressor harmony " +
			"envoy.filters.http.router",
		"pools: [{name: m, policy: prefix}]\n": "envoy.filters.http.compressor harmony " +
			"harmony-affinity envoy.filters.http.router",
	} {
		config := models + settings
		if strings.HasPrefix(settings, "pools") {
			config = "models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://h:1'], policy: prefix}]\n"
		}
		_, whole, _ := merged(t, resources(t, config), file(t), Options{Domain: "new.example.com"})
		m, err := findManager(whole, "")
		if err != nil {
			t.Fatal(err)
		}
		filters, err := m.object.list("", "http_filters")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range filters {
			names = append(names, f.text("name"))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: the filters are %s, want %s", settings, got, want)
		}
	}
}

// TestRefusals has files that are not understood. Each error has the place.
func TestRefusals(t *testing.T) {
	const routes = "static_resources.listeners[1] (web).filter_chains[0].filters[0].typed_config."
	for _, c := range []struct {
		replaced []string
		options  Options
		want     string
	}{
		{nil, Options{}, routes + "route_config.virtual_hosts: there are 2 (shop.example.com, models.example.com); name"},
		{nil, Options{Listener: "w"},
			"static_resources.listeners: none has the name w and a connection manager; there are tcp, web"},
		{nil, Options{Listener: "tcp"}, "static_resources.listeners: none has the name tcp"},
		{[]string{"static_resources:", "dynamic_resources:"}, Options{}, "static_resources.listeners: they are not there"},
		{[]string{"route_config:", "rds:"}, Options{}, routes + "rds: these routes are not in the file"},
		{[]string{"  clusters:\n", "  clusters:\n    - { name: harmony-pool-m }\n"}, Options{Domain: "new.example.com"},
			"static_resources.clusters[0]: the name harmony-pool-m is taken"},
		{[]string{"name: envoy.filters.http.compressor", "name: harmony"}, Options{}, routes +
			"http_filters[0]: the filter is there already"},
		{[]string{"compressor.v3.Compressor\n", "wasm.v3.Wasm\n                      config: { rootId: harmony }\n"},
			Options{}, routes + "http_filters[0]: the filter is there already"},
		{[]string{"filters.http.router.v3.Router", "filters.http.buffer.v3.Buffer"}, Options{}, routes +
			"http_filters[1]: the last filter must be the router"},
		{[]string{"name: ours", "name: harmony"}, Options{Domain: "new.example.com"}, routes +
			"route_config.virtual_hosts[1]: another virtual host has the name harmony"},
		{[]string{"http_filters:", "http_filters: 1\n                others:"}, Options{},
			routes + "http_filters: it is not a list"},
		{[]string{"domains: [shop.example.com]", "domains: [shop.example.com"}, Options{}, "',' or ']' must be"},
	} {
		_, err := Merge(resources(t, models), file(t, c.replaced...), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %+v: %v, want %q", c.replaced, c.options, err, c.want)
		}
	}
	_, err := Merge(resources(t, models+"cors_origins: ['https://a.example']\n"), file(t),
		Options{Domain: "models.example.com"})
	if err == nil || !strings.Contains(err.Error(), "virtual_hosts[1] (ours): cors_origins") {
		t.Errorf("got %v", err)
	}
}

// TestRuntime adds limits and a secret, to a file with a runtime of its own and to one without.
func TestRuntime(t *testing.T) {
	r := resources(t, "models: [{name: m, pool: p}]\nsecrets: [{name: s, env: KEY}]\n"+
		"pools: [{name: p, servers: ['http://h:1'], capacity: 8, authorization: s}]\n")
	const layers = "$.layered_runtime.layers"
	for theirs, want := range map[string]string{
		"": "admin", "layered_runtime: { layers: [{ name: theirs }] }\n": "theirs",
	} {
		_, whole, pieces := merged(t, r, append([]byte(theirs), file(t)...), Options{Domain: "new.example.com"})
		if first, second, third := at(t, whole, layers+"[0].name"), at(t, whole, layers+"[1].name"),
			at(t, whole, layers+"[2].name"); first != xds.RuntimeName || second != want || third != "" {
			t.Errorf("%q: the layers are %q, %q, %q", theirs, first, second, third)
		}
		if name := at(t, whole, "$.static_resources.secrets[0].name"); name != "s" || !strings.Contains(pieces,
			"circuit_breakers.harmony-pool-p.default.max_requests: 8") {
			t.Errorf("%q: the secret is %q, and the pieces are\n%s", theirs, name, pieces)
		}
	}
}

// TestWriteAgain has values that the merged file must have as they were, or that it refuses.
func TestWriteAgain(t *testing.T) {
	for text, refused := range map[string]bool{
		`'on'`: false, `'010'`: false, `'1.10'`: false, `"a\nb\n"`: false, `'#x'`: false, `{}`: false, `[]`: false,
		`'? a'`: false, `'-.inf'`: false, `'1e3'`: false, `"a\tb"`: false, `"a\r\nb"`: false, `.nan`: true,
	} {
		m, err := Merge(resources(t, models), append([]byte("node: { id: "+text+" }\n"), file(t)...),
			Options{Domain: "new.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = m.WriteFile(&out, "")
		if refused {
			if err == nil || !strings.Contains(err.Error(), "a value that cannot be written again") {
				t.Errorf("%s: got %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, err := parse([]byte("id: " + text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse([]byte(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		if node, err := again.object("", "node"); err != nil || !reflect.DeepEqual(node, want) {
			t.Errorf("%s: it is %v, %v", text, node, err)
		}
	}
}
