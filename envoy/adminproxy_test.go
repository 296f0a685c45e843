//go:build e2e

package envoy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
)

// TestAdminSocket starts an Envoy whose admin interface is at a socket: it is ready, others reach its pages through the
// handler, and its statistics have their own address without a port for the admin interface.
func TestAdminSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	d := Discovery{AdminSocket: socket, Stats: netip.MustParseAddrPort("127.0.0.1:0")}
	admin, err := d.admin()
	if err != nil {
		t.Fatal(err)
	}
	b := newBootstrap("n", admin)
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{}
	addStats(b.StaticResources, d.Stats, admin)
	text, err := marshalBootstrap(b)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), Options{Path: realEnvoy(t), Bootstrap: text})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if want := UnixPrefix + socket; p.Admin() != want {
		t.Errorf("the admin interface is at %s, want %s", p.Admin(), want)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	stats, err := p.Listener(t.Context(), StatsListener)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, http.MethodGet, "http://"+stats+StatsPath); status != http.StatusOK ||
		!strings.Contains(body, "envoy_server_live") {
		t.Errorf("statistics: %d, %.200s", status, body)
	}
	proxy := httptest.NewServer(AdminInterface(p.Admin()).Handler())
	defer proxy.Close()
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodGet, "/ready", http.StatusOK, "LIVE"},
		{http.MethodGet, "/stats?format=json&filter=server.live", http.StatusOK, `"server.live"`},
		{http.MethodGet, "/quitquitquit", http.StatusMethodNotAllowed, ""},
		{http.MethodGet, "/none", http.StatusNotFound, ""},
		{http.MethodPost, "/healthcheck/fail", http.StatusOK, "OK"},
		{http.MethodGet, "/ready", http.StatusServiceUnavailable, "DRAINING"},
	} {
		if status, body := ask(t, tt.method, proxy.URL+tt.path); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d, %.200s", tt.method, tt.path, status, body)
		}
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, http.MethodGet, proxy.URL+"/ready"); status != http.StatusBadGateway ||
		!strings.Contains(body, "Envoy's admin interface does not answer") {
		t.Errorf("after its end: %d, %s", status, body)
	}
}

func ask(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
