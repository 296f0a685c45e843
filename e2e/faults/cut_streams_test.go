//go:build e2e

package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestCutStreams: a stream that a client leaves, or a time limit of the proxy's own ends, is counted as such and not as
// the server's fault. Servers' faults are in TestFaultTable.
func TestCutStreams(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	impatient := func(t *testing.T, r *xds.Resources) {
		lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			m.StreamIdleTimeout = durationpb.New(2 * time.Second) // enough for a VM's first token
			for _, route := range m.GetRouteConfig().GetVirtualHosts()[0].GetRoutes() {
				if action := route.GetRoute(); action != nil {
					action.IdleTimeout = m.StreamIdleTimeout
				}
			}
		})
	}
	body := `{"stream":true,` + lab.ChatBody(lab.Model, "Hi")[1:]
	for _, client := range []struct {
		protocol string
		client   *http.Client
	}{{"h1", lab.HTTP1(t)}, {"h2", lab.HTTP2(t)}} {
		for _, host := range []*hosts.Host{lab.RunEnvoy(t, lab.OneModel(url), impatient),
			lab.RunWazero(t, lab.OneModel(url), impatient)} {
			t.Run(host.Name+" "+client.protocol, func(t *testing.T) {
				header := http.Header{"X-Sim-Fault": {"stall:5"}, "Content-Type": {"application/json"}}
				if a := lab.Do(client.client, http.MethodPost, host.URL+lab.ChatPath, header,
					strings.NewReader(body)); !lab.IsReset(
					a.Err, client.protocol) {
					t.Errorf("got %+v", a)
				}
				leaveStream(t, client.client, host.URL, header, body)
				checkCounts(t, host, 2, map[string]int{
					"harmony_cut_streams_total.cause.timeout": 1, "harmony_cut_streams_total.cause.client": 1})
			})
		}
	}
}

// leaveStream begins a stream and leaves it after its first bytes.
func leaveStream(t *testing.T, client *http.Client, url string, header http.Header, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+lab.ChatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := response.Body.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	_ = response.Body.Close()
}
