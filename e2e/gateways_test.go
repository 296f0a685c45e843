//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/sim"
)

// http1 and http2Client are clients of one protocol each, with connections of their own.
func http1(t *testing.T) *http.Client { return newClient(t, false) }

func http2Client(t *testing.T) *http.Client { return newClient(t, true) }

func newClient(t *testing.T, two bool) *http.Client {
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), MaxIdleConnsPerHost: 100}
	transport.Protocols.SetHTTP1(!two)
	transport.Protocols.SetUnencryptedHTTP2(two)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// answer is what a client has of a response, with the error that ended it, if one did.
type answer struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	err     error
}

// shaped reports the code of an error in OpenAI's shape, or an empty string.
func (a answer) shaped() string {
	m := regexp.MustCompile(`^\{"error":\{"message":"(?:[^"\\]|\\.)+","type":"[a-z_]+",` +
		`"param":(?:null|"(?:[^"\\]|\\.)*"),"code":"([a-z][a-z0-9_]*)"\}\}$`).FindStringSubmatch(strings.TrimSpace(a.body))
	if m == nil || a.header.Get("content-type") != "application/json" {
		return ""
	}
	return m[1]
}

func do(client *http.Client, method, url string, header http.Header, body io.Reader) answer {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return answer{err: err}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if request.Header.Get("content-type") == "" && body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	return readAnswer(response)
}

func readAnswer(response *http.Response) answer {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(data), response.Trailer, err}
}

func ask(client *http.Client, url, body string) answer {
	return do(client, http.MethodPost, url, nil, strings.NewReader(body))
}

// oneModel is the cases' configuration with servers for one model.
func oneModel(server string) *config.Config {
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.BodyLimit, c.StallTimeout = 1<<20, config.Duration(20*time.Second)
	addModel(c, caseModel, server)
	return c
}

func addModel(c *config.Config, name, server string) {
	m := config.DefaultModel(name, "vllm="+server)
	m.System.Date = caseDate
	c.Models = append(c.Models, m)
}

// runSim runs a simulated server.
func runSim(t *testing.T, o sim.Options) (*sim.Server, string) {
	t.Helper()
	if o.Models == nil {
		o.Models = []string{caseModel}
	}
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, url
}

// readScript reads what a simulated server shall say from a file, named by its path from the repository's root.
func readScript(t *testing.T, name string) *sim.Script {
	t.Helper()
	text, err := os.Open(inRepository(name))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	script, err := sim.ReadScript(text, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// change is made to Envoy's resources before it starts.
type change func(*testing.T, *xds.Resources)

// runEnvoy runs Envoy with the shipped filter and, when the test is over, reads what it has said: one line about the
// filter, and the test has failed.
func runEnvoy(t *testing.T, c *config.Config, changes ...change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyWith, c, changes)
}

// runDiscovering is runEnvoy with an Envoy that gets everything over delta ADS.
func runDiscovering(t *testing.T, c *config.Config, changes ...change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyOverADS, c, changes)
}

func startHealthy(t *testing.T, start func(hosts.Setup, *xds.Resources) (*hosts.Host, error), c *config.Config,
	changes []change) *hosts.Host {
	t.Helper()
	setup := hosts.Setup{Config: c}
	r, err := hosts.Resources(setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(t, r)
	}
	h, err := start(setup, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkHealthy(t, h)
		h.Stop()
	})
	return h
}

// runProxy runs the shipped filter in one of its hosts.
type runProxy func(t *testing.T, c *config.Config, changes ...change) *hosts.Host

// onProxies runs a test in each host of the shipped filter.
func onProxies(t *testing.T, test func(t *testing.T, run runProxy)) {
	t.Run("envoy", func(t *testing.T) { test(t, runEnvoy) })
	t.Run("wazero", func(t *testing.T) { test(t, runWazero) })
}

func runNative(t *testing.T, c *config.Config) *hosts.Host {
	t.Helper()
	h, err := hosts.Native(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h
}

var reloads = regexp.MustCompile(`(?m)^wasm\.\S*(?:reload|fail)\S*: (\d+)`)

// checkHealthy: Envoy lives, no VM was lost, and nothing was logged about the filter.
func checkHealthy(t *testing.T, h *hosts.Host) {
	t.Helper()
	if h.Process == nil {
		return
	}
	if err := h.Process.Err(); err != nil {
		t.Errorf("%v:\n%s", err, h.Process.Log(100))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter=wasm")
	if err != nil {
		t.Error(err)
	}
	for _, m := range reloads.FindAllStringSubmatch(string(stats), -1) {
		if m[1] != "0" {
			t.Errorf("Envoy's statistics: %s", m[0])
		}
	}
	for line := range strings.Lines(h.Process.Log(1000)) {
		if strings.Contains(line, "wasm") || strings.Contains(line, "harmony:") || strings.Contains(line, "[critical]") {
			t.Errorf("Envoy's log: %s", line)
		}
	}
}

func editManager(t *testing.T, r *xds.Resources, edit func(*hcmv3.HttpConnectionManager)) {
	t.Helper()
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	r.Listeners[0].FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed(t, m)}
}

// ownFilter is the shipped filter among a listener's.
func ownFilter(m *hcmv3.HttpConnectionManager) *hcmv3.HttpFilter {
	return m.HttpFilters[slices.IndexFunc(m.HttpFilters,
		func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })]
}

// editPlugin changes how the filter is configured.
func editPlugin(t *testing.T, r *xds.Resources, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	editManager(t, r, func(m *hcmv3.HttpConnectionManager) { editFilter(t, ownFilter(m), edit) })
}

func editFilter(t *testing.T, f *hcmv3.HttpFilter, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	filter := &wasmfilterv3.Wasm{}
	if err := f.GetTypedConfig().UnmarshalTo(filter); err != nil {
		t.Fatal(err)
	}
	edit(filter.Config)
	f.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, filter)}
}

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withoutFilter takes the filter out of the chain and leaves all else as it is.
func withoutFilter(t *testing.T, r *xds.Resources) {
	editManager(t, r, func(m *hcmv3.HttpConnectionManager) {
		before := len(m.HttpFilters)
		m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
		if len(m.HttpFilters) != before-1 {
			t.Fatalf("%d filters of %d are left", len(m.HttpFilters), before)
		}
	})
}

// http2To makes Envoy speak HTTP/2 to a cluster's servers.
func http2To(cluster string) change {
	return func(t *testing.T, r *xds.Resources) {
		c := r.Cluster(cluster)
		if c == nil {
			t.Fatalf("no cluster %s", cluster)
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": packed(t, &upstreamhttpv3.HttpProtocolOptions{
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
							Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
						},
					},
				},
			}),
		}
	}
}

// isReset reports whether a client was told loudly that its answer is cut short.
func isReset(err error, protocol string) bool {
	if protocol == "h2" {
		var reset http2.StreamError
		return errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}
