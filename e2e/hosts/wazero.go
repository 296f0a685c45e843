package hosts

import (
	"os"
	"path/filepath"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
)

// Wazero runs the filter that ships, named by $HARMONY_WASM, in this process, from the resources that Envoy gets.
func Wazero(s Setup) (*Host, error) {
	r, err := Resources(s)
	if err != nil {
		return nil, err
	}
	o := inprocess.Options{Workers: s.Config.Envoy.Concurrency}
	if s.Cut > 0 || len(s.CutAt) > 0 {
		o.Cut = &proxy.Cut{Every: s.Cut, At: s.CutAt}
	}
	return WazeroWith(r, o)
}

// WazeroWith serves these resources in this process.
func WazeroWith(r *xds.Resources, o inprocess.Options) (*Host, error) {
	if o.CacheDir == "" {
		// Tests start many hosts with the same module.
		o.CacheDir = filepath.Join(os.TempDir(), "harmony-edge-tests-wazero")
	}
	server, err := inprocess.Start(r, o)
	if err != nil {
		return nil, err
	}
	return &Host{Name: "wazero", URL: "http://" + server.Address(), Server: server, stop: server.Stop}, nil
}
