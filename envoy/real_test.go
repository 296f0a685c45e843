//go:build e2e

package envoy

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

func realEnvoy(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ENVOY")
	if path == "" {
		t.Fatal("ENVOY names no Envoy: " + HowToGet)
	}
	return path
}

func smallConfig() *config.Config {
	c := config.Default()
	c.Listen = "127.0.0.1:0"
	c.Models = []config.Model{config.DefaultModel("m", "vllm=http://127.0.0.1:1")}
	return c
}

// bootstrap returns a complete configuration without the filter in either of its places, which needs no module.
func bootstrap(t *testing.T, c *config.Config, caFile string) []byte {
	t.Helper()
	plain := *c
	plain.HeadersOnly = true
	resolved, err := plain.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r, err := xds.Build(resolved, xds.Options{ModulePath: "/none", CAFile: caFile, Clients: &clients.File{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Listeners {
		l.FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	}
	data, err := Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0"), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRealEnvoy(t *testing.T) {
	ctx := context.Background()
	p, err := Start(ctx, Options{Path: realEnvoy(t), Bootstrap: bootstrap(t, smallConfig(), ""), Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	address, err := p.Listener(ctx, xds.ListenerName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Listener(ctx, "another"); err == nil {
		t.Error("a listener that is not there has an address")
	}
	// Without the filter, a request for a model gets a 503, whatever headers it has.
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/completions"} {
		request, err := http.NewRequest(http.MethodPost, "http://"+address+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(contract.PoolHeader, "m")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("content-type") != "application/json" {
			t.Errorf("%s: %s %s", path, response.Status, response.Header.Get("content-type"))
		}
	}
	pid, folder := p.PID(), p.folder
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
	if _, err := os.Stat(folder.Path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", folder.Path, err)
	}
	if p.Err() == nil {
		t.Error("an ended process has no end")
	}
}

// TestRealEnvoyAcceptsEveryInput makes Envoy validate the resources of every input of the golden tests.
func TestRealEnvoyAcceptsEveryInput(t *testing.T) {
	t.Setenv("VLLM_API_KEY", "key") // Envoy reads it
	path := realEnvoy(t)
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	folder := t.TempDir()
	caFile := filepath.Join(folder, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(folder, "key.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Discovery{
		{ControlPlane: "127.0.0.1:18000", Node: "a"},
		{ControlPlane: "controlplane.example:18000", Node: "b", CAFile: caFile, CertificateFile: caFile, KeyFile: keyFile},
		{ControlPlane: "127.0.0.1:18000", Node: "c", PushMetrics: true, Collector: "http://collector.example:4317"},
		{ControlPlane: "127.0.0.1:18000", Node: "d", Collector: "https://10.0.0.1:4317/", CollectorCAFile: caFile},
	} {
		d.Admin = netip.MustParseAddrPort("127.0.0.1:0")
		text, err := DiscoveryBootstrap(d)
		if err != nil {
			t.Fatal(err)
		}
		accepts(t, path, filepath.Join(folder, d.Node+".json"), text)
	}
	inputs, err := filepath.Glob("../controlplane/xds/testdata/*.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		c, err := config.Load(input)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Secrets {
			if s := &c.Secrets[i]; s.IsCertificate() {
				s.Certificate, s.Key = caFile, keyFile
			} else if s.File != "" {
				s.File = keyFile // Envoy wants a file that is there
			}
		}
		accepts(t, path, filepath.Join(folder, filepath.Base(input)+".json"), bootstrap(t, c, caFile))
	}
}

// accepts writes a bootstrap to a file and makes Envoy validate it. Errors and warnings of deprecation fail the test.
func accepts(t *testing.T, path, file string, bootstrap []byte) {
	t.Helper()
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "--mode", "validate", "--config-path", file, "--log-level", "warning").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Deprecated field")) {
		t.Errorf("%s: %v\n%s", file, err, out)
	}
}

// TestDiscoveryRefuses checks texts that cannot be a control plane's or a collector's address, and incomplete TLS
// settings.
func TestDiscoveryRefuses(t *testing.T) {
	for _, d := range []Discovery{
		{ControlPlane: "here"}, {ControlPlane: ":18000"}, {ControlPlane: "h:0"}, {ControlPlane: "h:70000"},
		{ControlPlane: "h:1", CertificateFile: "c", KeyFile: "k"}, {ControlPlane: "h:1", CAFile: "ca", KeyFile: "k"},
		{ControlPlane: "h:1", Collector: "h:4317"}, {ControlPlane: "h:1", Collector: "http://h"},
		{ControlPlane: "h:1", Collector: "http://h:4317/v1/metrics"}, {ControlPlane: "h:1", Collector: "https://h:4317"},
		{ControlPlane: "h:1", Collector: "http://h:0"}, {ControlPlane: "h:1", Collector: "http://u:p@h:4317"},
	} {
		d.Node, d.Admin = "n", netip.MustParseAddrPort("127.0.0.1:0")
		if text, err := DiscoveryBootstrap(d); err == nil {
			t.Errorf("%+v makes %s", d, text)
		}
	}
}

func TestRealEnvoyRefusesNonsense(t *testing.T) {
	_, err := Start(context.Background(), Options{Path: realEnvoy(t), Bootstrap: []byte(`{"listeners": 1}`)})
	if err == nil || !strings.Contains(err.Error(), "ended before it served") ||
		!strings.Contains(err.Error(), "unknown fields") {
		t.Errorf("got %v", err)
	}
}
