package xds

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/golden"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

var update = flag.Bool("update", false, "rewrite the golden files and delete those that belong to no input")

var testOptions = Options{ModulePath: "/opt/harmony-filter.wasm", CAFile: "/etc/ssl/certs/ca-certificates.crt",
	Clients: &clients.File{Clients: []clients.Client{{Name: "a", Hashes: []clients.Hash{clients.HashOf("a")},
		Limits: &clients.Limits{TokensPerMinute: 1000, RequestsPerDay: 10, Context: 4096}}}}}

// TestGolden compares the resources of each testdata/NAME.yaml, as Envoys discover them: of minimal with
// minimal.golden, and of the others with NAME.diff, their differences to minimal.golden.
func TestGolden(t *testing.T) {
	whole := filepath.Join("testdata", "minimal.golden")
	golden.Compare(t, *update, whole, nil, asYAML(t, discovered(t, goldenResources(t, "testdata/minimal.yaml"))))
	minimal, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) < 2 {
		t.Fatalf("the inputs are %q: %v", inputs, err)
	}
	wanted := map[string]bool{}
	for _, input := range inputs {
		name := strings.TrimSuffix(input, ".yaml")
		if name+".golden" == whole {
			continue
		}
		wanted[name+".diff"] = true
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := discovered(t, goldenResources(t, input))
			golden.Compare(t, *update, name+".diff", minimal, asYAML(t, got))
		})
	}
	files, err := filepath.Glob("testdata/*.diff")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if wanted[f] {
			continue
		}
		if !*update {
			t.Errorf("%s belongs to no input; run go test -update", f)
		} else if err := os.Remove(f); err != nil {
			t.Error(err)
		}
	}
}

// goldenResources builds the resources of a file, with what a control plane finds while it runs.
func goldenResources(t *testing.T, file string) *Resources {
	t.Helper()
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := build(c, withDiscovery(t, c, testOptions))
	if err != nil {
		t.Fatal(err)
	}
	sameEndpoints(t, c, r)
	sameUndivided(t, r)
	return r
}

// build builds the resources of a configuration that is not resolved yet.
func build(c *config.Config, o Options) (*Resources, error) {
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	return Build(resolved, o)
}

// withDiscovery adds what a control plane finds while it runs: addresses of servers and values of secrets. One server
// of the pool h200 is not ready.
func withDiscovery(t *testing.T, c *config.Config, o Options) Options {
	t.Helper()
	o.Servers, o.Secrets = map[string][]Server{}, map[string]config.SecretValue{}
	for i, s := range c.Secrets {
		o.Secrets[s.Name] = config.SecretValue{Token: fmt.Sprint("token-", i), Certificate: []byte("certificate"),
			Key: []byte("key")}
	}
	resolved, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range resolved.Pools {
		for i, e := range p.Endpoints {
			address := netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})
			if a, err := netip.ParseAddr(e.Host); err == nil {
				address = a
			}
			o.Servers[p.Name] = append(o.Servers[p.Name], Server{
				Endpoint: e, Address: netip.AddrPortFrom(address, e.Port), NotReady: p.Name == "h200" && i == 2,
			})
		}
	}
	return o
}

// sameEndpoints checks that Endpoints returns the same as the part of Discovered that depends on servers.
func sameEndpoints(t *testing.T, c *config.Config, r *Resources) {
	t.Helper()
	all, err := r.Discovered()
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	endpoints, err := Endpoints(resolved, withDiscovery(t, c, testOptions))
	if err != nil {
		t.Fatal(err)
	}
	for kind, resources := range endpoints {
		if len(resources) != len(all[kind]) {
			t.Fatalf("%s: %d of servers alone, %d of all", kind, len(resources), len(all[kind]))
		}
		for i := range resources {
			if !proto.Equal(resources[i], all[kind][i]) {
				t.Errorf("%s: got %v, want %v", kind, resources[i], all[kind][i])
			}
		}
	}
}

// sameUndivided checks that what Envoys discover in parts is what an Envoy without a control plane has in one.
func sameUndivided(t *testing.T, r *Resources) {
	t.Helper()
	var parts map[string][]map[string]any
	decode(t, discovered(t, r), &parts)
	same := func(kind string, i int, whole proto.Message) {
		t.Helper()
		var want map[string]any
		decode(t, marshal(t, whole), &want)
		got := parts[kind][i]
		if undivide(got, parts); !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s in parts:\n%s", kind, got["name"], golden.Diff(string(asYAML(t, encode(t, want))),
				string(asYAML(t, encode(t, got)))))
		}
	}
	for i, l := range r.Listeners {
		same("Listener", i, l)
	}
	for i, c := range r.Clusters {
		same("Cluster", i, c)
	}
}

// undivide puts routes, configurations of filters and servers, which Envoys discover by themselves, into what refers to
// them.
func undivide(value any, parts map[string][]map[string]any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			undivide(e, parts)
		}
	case map[string]any:
		if rds, ok := v["rds"].(map[string]any); ok {
			delete(v, "rds")
			v["route_config"] = partOf(parts["RouteConfiguration"], "name", rds["route_config_name"])
		}
		if _, ok := v["config_discovery"]; ok {
			delete(v, "config_discovery")
			v["typed_config"] = partOf(parts["TypedExtensionConfig"], "name", v["name"])["typed_config"]
		}
		if _, ok := v["eds_cluster_config"]; ok {
			delete(v, "eds_cluster_config")
			v["type"] = "STATIC"
			v["load_assignment"] = partOf(parts["ClusterLoadAssignment"], "cluster_name", v["name"])
		}
		for _, e := range v {
			undivide(e, parts)
		}
	}
}

// partOf returns the resource with a name, or nil.
func partOf(all []map[string]any, key string, name any) map[string]any {
	for _, part := range all {
		if part[key] == name {
			return part
		}
	}
	return nil
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// discovered returns the resources that Envoys discover by their kinds, as JSON.
func discovered(t *testing.T, r *Resources) []byte {
	t.Helper()
	all, err := r.Discovered()
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]json.RawMessage{}
	for url, resources := range all {
		kind := url[strings.LastIndexByte(url, '.')+1:]
		byKind[kind] = []json.RawMessage{}
		for _, m := range resources {
			byKind[kind] = append(byKind[kind], marshal(t, m))
		}
	}
	return encode(t, byKind)
}

// asYAML returns JSON as YAML, whose lines have neither commas nor closing brackets.
func asYAML(t *testing.T, text []byte) []byte {
	t.Helper()
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// marshal returns the JSON of a message.
func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSameBytesTwice(t *testing.T) {
	build := func() []byte {
		r, err := build(example(), testOptions)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Listeners[0])
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if first := build(); !bytes.Equal(first, build()) {
		t.Error("two builds of one configuration differ")
	}
}

func TestBuildRefuses(t *testing.T) {
	https := example()
	https.Models[0].Servers = []string{"vllm=https://h"}
	tests := []struct {
		name string
		c    *config.Config
		o    Options
		want string
	}{
		{"invalid", config.Default(), testOptions, "models: no model"},
		{"no module", example(), Options{}, "no path of the filter's module"},
		{"no certificates", https, Options{ModulePath: "/m"}, "ca_file"},
	}
	for _, tt := range tests {
		if _, err := build(tt.c, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestBufferLimit(t *testing.T) {
	c := example()
	c.BodyLimit, c.Models[0].ContextLength = 1<<20, 200_000
	if got := (&builder{config: c}).bufferLimit(); got != 1<<20+1_400_000+64<<10 {
		t.Errorf("got %d", got)
	}
	c.Models[0].ContextLength = 1000
	if got := (&builder{config: c}).bufferLimit(); got != 1<<20+131_072*7+64<<10 {
		t.Errorf("got %d: a model more changes the listener", got)
	}
	c.Models[0].ContextLength = 1 << 30
	if got := (&builder{config: c}).bufferLimit(); got != maxWindow {
		t.Errorf("got %d, want HTTP/2's largest window", got)
	}
}

// TestRouteBufferLimit: a model of a chat server needs more room, and leaves the listeners as they are.
func TestRouteBufferLimit(t *testing.T) {
	limits := func(models string) (route uint64, listener uint32) {
		c, err := config.Parse("h.yaml", []byte("models: ["+models+"]"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := build(c, testOptions)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.ConnectionManager()
		if err != nil {
			t.Fatal(err)
		}
		return m.GetRouteConfig().VirtualHosts[0].GetRequestBodyBufferLimit().GetValue(),
			r.Listeners[0].GetPerConnectionBufferLimitBytes().GetValue()
	}
	const ids, chat = `{name: a, servers: ["vllm=http://h:1"]}`, `{name: b, servers: ["chat=http://h:1"]}`
	route, listener := limits(ids)
	if route != uint64(listener) {
		t.Errorf("without a chat server: %d and %d", route, listener)
	}
	if more, same := limits(ids + "," + chat); more != 2*config.DefaultBodyLimit+256<<10 || same != listener {
		t.Errorf("with one: %d and %d, before it %d", more, same, listener)
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Resources)
		want  string
	}{
		{"cluster gone", func(r *Resources) { r.Clusters = r.Clusters[:1] }, "which does not exist"},
		{"cluster twice", func(r *Resources) { r.Clusters = append(r.Clusters, r.Clusters[1]) },
			"two clusters have the name"},
		{"cluster unused", func(r *Resources) { r.Clusters = append(r.Clusters, &clusterv3.Cluster{Name: "x"}) },
			"no route leads to cluster x"},
		{"invalid cluster", func(r *Resources) { r.Clusters[0].Name = "" }, "Name"},
		{"no listener filter", func(r *Resources) { r.Listeners[0].FilterChains = nil }, "no connection manager"},
		{"unguarded service", func(r *Resources) { dropPoolHeader(t, r, "responses service") },
			"reaches harmony-responses without the header"},
		{"unguarded pool", func(r *Resources) { dropPoolHeader(t, r, "pool m") }, "without the header"},
		{"recorder for clients", func(r *Resources) {
			changeRoute(t, r, "responses service", func(one *routev3.Route) {
				one.GetRoute().ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: contract.TapCluster}
			})
		}, "leads to cluster harmony-tap, which is not for clients"},
	}
	for _, tt := range tests {
		c := example()
		c.ResponsesService.URL, c.Tap.URL = "http://127.0.0.1:9000", "http://127.0.0.1:9903"
		r, err := build(c, testOptions)
		if err != nil {
			t.Fatal(err)
		}
		tt.spoil(r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// dropPoolHeader removes the header matchers of a route.
func dropPoolHeader(t *testing.T, r *Resources, route string) {
	changeRoute(t, r, route, func(one *routev3.Route) { one.Match.Headers = nil })
}

func changeRoute(t *testing.T, r *Resources, route string, change func(*routev3.Route)) {
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range m.GetRouteConfig().VirtualHosts[0].Routes {
		if one.Name == route {
			change(one)
		}
	}
	if err := r.Listeners[0].FilterChains[0].Filters[0].GetTypedConfig().MarshalFrom(m); err != nil {
		t.Fatal(err)
	}
}

// TestLocalRepliesAreJSON checks the text that clients get, in which Envoy has replaced %% by %.
func TestLocalRepliesAreJSON(t *testing.T) {
	for _, r := range append(localReplies(example()), misconfigured) {
		if r.keepsBody {
			continue
		}
		text := strings.ReplaceAll(r.format().GetTextFormatSource().GetInlineString(), "%%", "%")
		var body struct {
			Error map[string]*string `json:"error"`
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if e := body.Error; len(e) != 4 || e["message"] == nil || e["type"] == nil || e["code"] == nil || e["param"] != nil {
			t.Errorf("%s: not OpenAI's shape", text)
		}
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(notFoundBody), &body); err != nil {
		t.Error(err)
	}
}

// TestStatsAreShown checks that the docs and the example for an Envoy of one's own have the same block of statistics.
func TestStatsAreShown(t *testing.T) {
	for _, file := range []string{"../../docs/metrics.md", "../../examples/envoy.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, block, ok := strings.Cut(string(data), "\nstats_config:\n")
		if !ok {
			t.Errorf("%s has none", file)
			continue
		}
		block, _, _ = strings.Cut(block, "\n```")
		block, _, _ = strings.Cut(block, "\n\n")
		raw, err := yaml.YAMLToJSON([]byte(block))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := &metricsv3.StatsConfig{}
		if err := protojson.Unmarshal(raw, got); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !proto.Equal(got, Stats()) {
			t.Errorf("%s differs from what is shipped:\n%s", file, raw)
		}
	}
}

// TestAccessLogIsShown checks that a line has every field that the filter sets for it, and that the docs have those
// fields and no others.
func TestAccessLogIsShown(t *testing.T) {
	data, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	c := example()
	c.AccessLog = "/dev/stdout"
	r, err := build(c, testOptions)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	log := &filelogv3.FileAccessLog{}
	if err := m.GetAccessLog()[0].GetTypedConfig().UnmarshalTo(log); err != nil {
		t.Fatal(err)
	}
	line := log.GetLogFormat().GetJsonFormat().GetFields()
	for _, field := range contract.LogFields() {
		if !strings.Contains(string(data), "| `"+harmonyState(field)+"` |") {
			t.Errorf("docs/metrics.md has no %s", harmonyState(field))
		}
		want := harmonyState(field)
		if slices.Contains(contract.LogNumbers(), field) {
			want = harmonyNumber(field)
		}
		if got := line[field].GetStringValue(); got != want {
			t.Errorf("in a line, %s is %q", field, got)
		}
	}
	if n := strings.Count(string(data), "| `%FILTER_STATE("); n != len(contract.LogFields()) {
		t.Errorf("docs/metrics.md has %d fields, and the filter sets %d", n, len(contract.LogFields()))
	}
	for _, f := range accessLogFields {
		if !strings.Contains(string(data), "`"+f.name+"`") || !strings.Contains(string(data), "`"+f.format+"`") {
			t.Errorf("docs/metrics.md has no %s or no %s", f.name, f.format)
		}
	}
}

// TestReplyMatches checks which rule matches each kind of reply, in the order of the rules, and which replies stay as
// they are.
func TestReplyMatches(t *testing.T) {
	for _, tt := range []struct {
		status        int
		details, code string
	}{
		{413, "request_payload_too_large", "request_too_large"},
		{503, "upstream_reset_before_response_started{overflow}", "server_overloaded"},
		{503, "overload", "gateway_overloaded"},
		{503, "no_healthy_upstream", "server_unavailable"},
		{503, "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
			"server_unavailable"},
		{503, "wasm_fail_stream", "server_error"},
		{502, "upstream_reset_after_response_started{protocol_error}", "server_error"},
		{504, "stream_idle_timeout", "server_timeout"},
		{408, "request_header_timeout", "server_timeout"},
		{500, "response_payload_too_large", "server_error"},
		{431, "http1.headers_too_large", "invalid_request"},
		{404, "direct_response", ""},
		{400, "", ""},
	} {
		code := ""
		for _, r := range localReplies(example()) {
			if !r.Matches(tt.status, tt.details, poolPrefix+"p") {
				continue
			}
			code = r.code
			// Clients wait before they ask a full gateway again, and only if they are told how long.
			busy := strings.HasSuffix(code, "_overloaded")
			told := slices.ContainsFunc(r.Headers, func(h [2]string) bool { return h[0] == "retry-after" })
			if busy != (r.Status(tt.status) == 429) || busy != told {
				t.Errorf("%s: %d, with retry-after: %t", tt.details, r.Status(tt.status), told)
			}
			break
		}
		if code != tt.code {
			t.Errorf("%d %s: %q, want %q", tt.status, tt.details, code, tt.code)
		}
	}
}

// TestReplyNamesService checks that a reply for the responses service names it, and not the inference servers, and that
// one for the rate limit service does.
func TestReplyNamesService(t *testing.T) {
	said := func(details, cluster string) string {
		for _, r := range localReplies(example()) {
			if r.Matches(503, details, cluster) {
				return r.message
			}
		}
		return ""
	}
	for _, details := range []string{"no_healthy_upstream", "upstream_reset_before_response_started{connection_timeout}",
		"upstream_reset_before_response_started{remote_connection_failure|refused}",
		"upstream_reset_after_response_started{connection_termination}",
		"upstream_reset_before_response_started{connection_termination}"} {
		if got := said(details, ResponsesCluster); !strings.HasPrefix(got, "The responses service ") {
			t.Errorf("%s: %q", details, got)
		}
		if got := said(details, poolPrefix+"p"); strings.Contains(got, "service") {
			t.Errorf("%s of a pool: %q", details, got)
		}
	}
	if got := said("rate_limiter_error", poolPrefix+"p"); !strings.HasPrefix(got, "The rate limit service ") {
		t.Errorf("got %q", got)
	}
	rules := localReplies(example())
	const want = `xds.cluster_name == "harmony-responses" && (`
	if n := strings.Count(rules[2].expression()+rules[3].expression(), want); n != 2 {
		t.Errorf("the conditions are %s and %s", rules[2].expression(), rules[3].expression())
	}
}

func example() *config.Config {
	c := config.Default()
	c.Models = []config.Model{config.DefaultModel("m", "vllm=http://127.0.0.1:8000")}
	return c
}
