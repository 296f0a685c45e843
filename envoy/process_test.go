package envoy

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// Stand-ins for Envoy: what a program may do wrong, without one.

func TestStartReportsAnEnvoyThatGivesUp(t *testing.T) {
	path := program(t, "envoy", goodVersion+"\necho 'cannot bind 127.0.0.1:80' >&2\nexit 1")
	_, err := Start(context.Background(), Options{Path: path, Bootstrap: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), "ended before it served (exit status 1)") || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUpOnAnEnvoyThatHangs(t *testing.T) {
	// It does not listen to SIGTERM either.
	path := program(t, "envoy", goodVersion+"\ntrap '' TERM\necho stuck >&2\nwhile :; do sleep 0.05; done")
	begin := time.Now()
	_, err := Start(context.Background(), Options{
		Path: path, Bootstrap: []byte("{}"), ReadyTimeout: 200 * time.Millisecond, StopTimeout: 100 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "did not serve within 200ms") || !strings.Contains(err.Error(), "stuck") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	path := program(t, "envoy", goodVersion+"\nwhile :; do sleep 0.05; done")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	ctx, cancelNow := context.WithCancel(ctx)
	time.AfterFunc(150*time.Millisecond, cancelNow)
	if _, err := Start(ctx, Options{Path: path, Bootstrap: []byte("{}"), StopTimeout: time.Second}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLogKeepsTheEnd(t *testing.T) {
	var l logBuffer
	var passed bytes.Buffer
	line := strings.Repeat("x", 1023) + "\n"
	for range 300 {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	l.pass(&passed)
	if _, err := l.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if got := l.last(2); got != "one\ntwo" {
		t.Errorf("last lines %q", got)
	}
	if passed.String() != "one\ntwo\n" {
		t.Errorf("passed on %q", passed.String())
	}
	if len(l.tail) > 2*maxTail {
		t.Errorf("%d bytes kept", len(l.tail))
	}
}

// The real Envoy. Named by ENVOY; with HARMONY_E2E=1 it must be there.

func realEnvoy(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ENVOY")
	if path == "" {
		if os.Getenv("HARMONY_E2E") == "1" {
			t.Fatal("ENVOY does not name an Envoy, and HARMONY_E2E=1 wants one: " + HowToGet)
		}
		t.Skip("ENVOY names no Envoy")
	}
	return path
}

func smallConfig() *config.Config {
	c := config.Default()
	c.Listen = "127.0.0.1:0"
	c.Models = []config.Model{{Name: "m", Servers: []string{"vllm=http://127.0.0.1:1"}}}
	return c
}

// bootstrap is a whole configuration without the filter, so that no module is needed.
func bootstrap(t *testing.T, c *config.Config, caFile string) []byte {
	t.Helper()
	r, err := xds.Build(c, xds.Options{ModulePath: "/none", CAFile: caFile})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	m.HttpFilters = m.HttpFilters[1:]
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	r.Listener.FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	data, err := Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0"))
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
	// Without the filter, a request for a model is 503, whatever it says of itself.
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/completions"} {
		request, err := http.NewRequest(http.MethodPost, "http://"+address+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(xds.PoolHeader, "m")
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
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", folder, err)
	}
	if p.Err() == nil {
		t.Error("an ended process has no end")
	}
}

// TestRealEnvoyAcceptsEveryInput has Envoy read what is made of each of the golden tests' inputs.
func TestRealEnvoyAcceptsEveryInput(t *testing.T) {
	path := realEnvoy(t)
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	folder := t.TempDir()
	caFile := filepath.Join(folder, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, certificate, 0o600); err != nil {
		t.Fatal(err)
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
		file := filepath.Join(folder, "bootstrap.json")
		if err := os.WriteFile(file, bootstrap(t, c, caFile), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(path, "--mode", "validate", "--config-path", file, "--log-level", "warning").CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("Deprecated field")) {
			t.Errorf("%s: %v\n%s", input, err, out)
		}
	}
}

func TestRealEnvoyRefusesNonsense(t *testing.T) {
	_, err := Start(context.Background(), Options{Path: realEnvoy(t), Bootstrap: []byte(`{"listeners": 1}`)})
	if err == nil || !strings.Contains(err.Error(), "ended before it served") || !strings.Contains(err.Error(), "unknown fields") {
		t.Errorf("got %v", err)
	}
}

func TestBootstrapRefusesNonsense(t *testing.T) {
	r := &xds.Resources{Listener: &listenerv3.Listener{}, Clusters: []*clusterv3.Cluster{{}}}
	if _, err := Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0")); err == nil {
		t.Error("a cluster without a name is accepted")
	}
}
