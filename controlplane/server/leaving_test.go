package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/clients"
)

// TestTheWayToAServiceThatLeaves takes the responses service out of the file: an Envoy takes the routes before the
// filter's configuration, so the routes must lead to the service for a while. Its key is taken for longer.
func TestTheWayToAServiceThatLeaves(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	folder := folderWith(t, "", "keys.yaml", "clients: [{name: acme, hashes: ['"+clients.HashOf("other").String()+"']}]\n")
	without := oneModel(engine.URL) + "clients: {keys_file: " + filepath.Join(folder, "keys.yaml") + "}\n"
	with := without + "responses_service: {store: r.db, listen: '127.0.0.1:8090'}\n"
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, folder, func(o *testOptions) {
		o.HoldRemovals, o.Deputy = time.Hour, clients.HashOf("key")
	})
	// parts are what Envoys have of the service: the routes, the cluster, the filter's choice and the key.
	parts := func() (all [4]bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.latest[resource.RouteType] {
			all[0] = all[0] || strings.Contains(fmt.Sprint(r), "responses service")
		}
		for _, c := range p.latest[resource.ClusterType] {
			all[1] = all[1] || strings.Contains(fmt.Sprint(c), xds.ResponsesCluster)
		}
		for _, f := range p.latest[resource.ExtensionConfigType] {
			text := string(xds.FilterJSON(f.(*corev3.TypedExtensionConfig)))
			all[2] = all[2] || strings.Contains(text, `"responses_service"`)
			all[3] = all[3] || strings.Contains(text, `"deputies"`)
		}
		return all
	}
	becomes := func(what string, want [4]bool) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("%s: %v, want %v\n%s", what, parts(), want, p.log)
			}
		}()
		eventually(t, what, func() bool { return parts() == want })
	}
	becomes("there", [4]bool{true, true, true, true})
	p.write("config.yaml", without)
	becomes("leaves", [4]bool{true, true, false, true})
	p.write("config.yaml", without+"body_limit: 1MiB\n")
	eventually(t, "another version", func() bool { return strings.Contains(p.log.String(), "[body_limit]") })
	becomes("still leaves", [4]bool{true, true, false, true})
	if err := p.run(t.Context(), func(ctx context.Context) error { p.letServiceGo(ctx); return nil }); err != nil {
		t.Fatal(err)
	}
	becomes("has gone", [4]bool{false, false, false, true})
	p.write("config.yaml", with)
	becomes("is back", [4]bool{true, true, true, true})
}
