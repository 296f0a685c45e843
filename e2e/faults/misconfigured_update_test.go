//go:build e2e

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// filterFile hands the filter's configuration to an Envoy as a control plane does, by ECDS, but out of a file.
type filterFile struct {
	t       *testing.T
	path    string
	version int
	filter  *hcmv3.HttpFilter // as it would stand in the listener
	process *envoy.Process
}

// discovered takes the filter's configuration out of the listener.
func discovered(t *testing.T, r *xds.Resources) *filterFile {
	t.Helper()
	f := &filterFile{t: t, path: filepath.Join(t.TempDir(), "filter.json")}
	lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
		f.filter = proto.CloneOf(lab.FilterIn(m))
		lab.FilterIn(m).ConfigType = &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: &corev3.ConfigSource{
				ResourceApiVersion: corev3.ApiVersion_V3,
				ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
					PathConfigSource: &corev3.PathConfigSource{Path: f.path}},
			},
			TypeUrls: []string{f.filter.GetTypedConfig().GetTypeUrl()},
		}}
	})
	return f
}

// write puts a configuration into force, or tries to. As Envoy wants it, the file is moved into its place.
func (f *filterFile) write(text string) {
	f.t.Helper()
	f.version++
	lab.EditFilter(f.t, f.filter, func(c *wasmv3.PluginConfig) {
		c.Configuration = lab.Pack(f.t, wrapperspb.String(text))
	})
	response, err := envoy.MarshalJSON(&discoveryv3.DiscoveryResponse{
		VersionInfo: fmt.Sprint(f.version),
		Resources: []*anypb.Any{lab.Pack(f.t, &corev3.TypedExtensionConfig{
			Name: xds.FilterName, TypedConfig: f.filter.GetTypedConfig(),
		})},
	})
	if err == nil {
		err = os.WriteFile(f.path+".new", response, 0o600)
	}
	if err == nil {
		err = os.Rename(f.path+".new", f.path)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// await waits until Envoy has taken and refused so many.
func (f *filterFile) await(taken, rejected int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	const scope = "extension_config_discovery.http_filter." + xds.FilterName + "."
	for {
		page, err := f.process.Get(ctx, "/stats?format=json&filter="+scope+"update_")
		if err != nil {
			f.t.Fatal(err)
		}
		var stats struct {
			Stats []struct {
				Name  string
				Value int
			}
		}
		_ = json.Unmarshal(page, &stats) // the histogram among them has another form
		values := map[string]int{}
		for _, s := range stats.Stats {
			values[strings.TrimPrefix(s.Name, scope)] = s.Value
		}
		if values["update_success"] == taken && values["update_rejected"] == rejected {
			return
		}
		select {
		case <-ctx.Done():
			f.t.Fatalf("Envoy has taken %d, and refused %d:\n%s", values["update_success"], values["update_rejected"],
				f.process.Log(20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestMisconfiguredUpdates shows that an update with a mistake is refused, and that the old configuration stays in
// force. If the first configuration has a mistake, Envoy refuses it where a control plane sent it, and answers clients
// itself; otherwise the filter answers them. A correct configuration ends both.
func TestMisconfiguredUpdates(t *testing.T) {
	right := func(models ...string) string {
		c := contract.Config{Schema: contract.Schema, Mode: contract.ModeFull, BodyLimit: 1 << 20, MemoryLimit: 64 << 20,
			Seal: contract.Seal{LifetimeS: 1}}
		c.HostedTools = contract.HostedToolsIgnore
		for _, name := range models {
			m := contract.DefaultModel(name)
			m.Pool = lab.Model
			c.Models = append(c.Models, m)
		}
		return string(filterconfig.AppendJSON(nil, &c))
	}
	const wrong, wrongToo = `{"schema":1,"x":1}`, `{"schema":2}`
	for _, tt := range []struct {
		name  string
		whose lab.Change
		taken int // of the first one, which is wrong
	}{
		{"written by hand", handWritten(""), 1},
		{"sent by a control plane", func(*testing.T, *xds.Resources) {}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gpu, url := lab.RunSim(t, sim.Options{Models: []string{lab.Model, "other"}})
			setup := hosts.Setup{Config: lab.OneModel(url)}
			r, err := hosts.Resources(setup)
			if err != nil {
				t.Fatal(err)
			}
			tt.whose(t, r)
			file := discovered(t, r)
			file.write(wrong)
			h, err := hosts.EnvoyWith(setup, r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Stop)
			file.process = h.Process
			file.await(tt.taken, 1-tt.taken)
			misconfigured(t, lab.HTTP1(t), h.URL)
			if n := len(gpu.Requests()); n != 0 {
				t.Errorf("%d requests reached the server", n)
			}
			serves := func(model string, status int) {
				t.Helper()
				if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(model, "Hi")); a.Status != status {
					t.Errorf("%s: %+v\n%s", model, a, h.Process.Log(20))
				}
			}
			file.write(right(lab.Model))
			file.await(tt.taken+1, 1-tt.taken)
			serves(lab.Model, 200)
			file.write(wrongToo)
			file.await(tt.taken+1, 2-tt.taken)
			serves(lab.Model, 200)
			file.write(right(lab.Model, "other"))
			file.await(tt.taken+2, 2-tt.taken)
			serves("other", 200)
			log := h.Process.Log(1000)
			for _, place := range []string{"harmony: filter configuration: x: unknown key",
				"harmony: filter configuration: schema: must be 1"} {
				if n := strings.Count(log, place); n != 1 {
					t.Errorf("the log has %q %d times:\n%s", place, n, log)
				}
			}
			// The counts of a VM that was never in force are lost with it, where there is no other.
			if n := lab.Counters(t, h)["harmony_config_errors_total"]; n != 1+tt.taken {
				t.Errorf("%d wrong configurations are counted, want %d", n, 1+tt.taken)
			}
		})
	}
}
