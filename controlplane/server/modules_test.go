package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/internal/filterfile"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
)

// handsOut makes a control plane hand out the file filter.wasm of its folder.
func handsOut(o *testOptions) {
	o.ModulePath, o.ModuleFile = "", filepath.Join(filepath.Dir(o.ConfigFile), "filter.wasm")
}

// startWithFilter runs a control plane that hands out a filter of version 1, and an Envoy that has it.
func startWithFilter(t *testing.T) (*testServer, *fakeEnvoy) {
	t.Helper()
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL), "filter.wasm", string(stub.Filter("1"))), handsOut)
	e := startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	wantFilter(t, e, "1")
	return p, e
}

func wantFilter(t *testing.T, e *fakeEnvoy, version string) {
	t.Helper()
	eventually(t, "given the filter "+version, func() bool {
		return e.resource(resource.ExtensionConfigType, "harmony") != nil &&
			strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), string(stub.Filter(version)))
	})
}

// TestFilterIsHandedOut checks that Envoys get the content of the filter's file: at once, after a change, and when they
// connect later. The status and the metrics say which filter that is.
func TestFilterIsHandedOut(t *testing.T) {
	p, first := startWithFilter(t)
	p.write("filter.wasm", string(stub.Filter("2")))
	wantFilter(t, first, "2")
	eventually(t, "current", p.current)
	wantFilter(t, startEnvoy(t, p.ads, "two"), "2")

	info, err := filterfile.Read(stub.Filter("2"))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Status().Filter
	if got.File != p.file("filter.wasm") || got.OnEnvoys || got.Version != "2" || got.SHA256 != info.SHA256 ||
		got.Loaded.IsZero() || got.Error != "" {
		t.Errorf("got %+v", got)
	}
	for name, want := range map[string]string{
		"harmony_controlplane_filter_valid":                                                   "1",
		`harmony_controlplane_filter_loads_total{result="ok"}`:                                "2",
		`harmony_controlplane_config_loads_total{result="ok"}`:                                "1",
		`harmony_controlplane_responses_total{result="refused",type="extensions"}`:            "0",
		fmt.Sprintf(`harmony_controlplane_filter_info{sha256="%s",version="2"}`, info.SHA256): "1",
	} {
		if got := p.metric(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestFilterThatStaysTheSame checks that a filter without a file is handed out, and that its status has no path.
func TestFilterThatStaysTheSame(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)), func(o *testOptions) { o.ModulePath, o.Module = "", stub.Filter("1") })
	wantFilter(t, startEnvoy(t, p.ads, "one"), "1")
	eventually(t, "current", p.current)
	if got := p.Status().Filter; got.File != "" || got.OnEnvoys || got.Version != "1" || got.Error != "" {
		t.Errorf("got %+v", got)
	}
}

// TestModulesInForceStay checks that the filter that Envoys get is held, however many newer ones are not sent to them.
func TestModulesInForceStay(t *testing.T) {
	held := &modules{}
	of := func(version string) module {
		info, err := filterfile.Read(stub.Filter(version))
		if err != nil {
			t.Fatal(err)
		}
		return module{Info: info, content: stub.Filter(version)}
	}
	first := of("1")
	held.add(first, nil)
	for _, version := range []string{"2", "3", "4"} {
		held.add(of(version), []string{first.SHA256})
		if held.content(first.SHA256) == nil || held.find(of(version).SHA256).Version != version || len(held.all) != 2 {
			t.Errorf("%s: %d are held", version, len(held.all))
		}
	}
	held.add(of("4"), []string{of("4").SHA256})
	if len(held.all) != 1 {
		t.Errorf("%d are held, want 1", len(held.all))
	}
}

// TestFilterInForceIsShown checks that a saved filter stays in force, in the status too, while a wrong configuration
// keeps newer ones from Envoys.
func TestFilterInForceIsShown(t *testing.T) {
	p, _ := startWithFilter(t)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	good := readFile(t, p.file("config.yaml"))
	p.write("config.yaml", "models: 7\n")
	again := start(t, p.folder, handsOut)
	again.ready()
	for _, version := range []string{"2", "3"} {
		again.write("filter.wasm", string(stub.Filter(version)))
		eventually(t, "read", func() bool { return strings.Contains(again.log.String(), "version="+version) })
		wantFilter(t, startEnvoy(t, again.ads, "before "+version), "1")
		if got := again.Status().Filter.Version; got != "1" {
			t.Errorf("the status says %s", got)
		}
	}
	again.write("config.yaml", good)
	wantFilter(t, startEnvoy(t, again.ads, "after"), "3")
}

// TestWrongFilterReachesNoEnvoy replaces the filter's file by damaged ones. The control plane reports each, keeps the last
// good filter in force, and goes on to send other changes.
func TestWrongFilterReachesNoEnvoy(t *testing.T) {
	p, e := startWithFilter(t)
	versions := p.Status().Snapshot.Versions["extensions"]
	whole := stub.Filter("2")
	for _, tt := range []struct{ file, want string }{
		{"not a module", "filter.wasm is not a WebAssembly module"},
		{string(whole[:len(whole)/2]), "filter.wasm "},
		{"", "filter.wasm is empty"},
	} {
		p.write("filter.wasm", tt.file)
		eventually(t, "reported: "+tt.want, func() bool { return strings.Contains(p.Status().Filter.Error, tt.want) })
		if p.metric("harmony_controlplane_filter_valid") != "0" || !strings.Contains(p.log.String(), tt.want) {
			t.Errorf("%s: neither logged nor counted\n%s", tt.want, p.log)
		}
	}
	if got := p.Status().Filter; got.Version != "1" || p.Status().Snapshot.Versions["extensions"] != versions {
		t.Errorf("in force: %+v", got)
	}
	late := startEnvoy(t, p.ads, "two")
	wantFilter(t, late, "1")
	p.write("config.yaml", "cors_origins: ['*']\n"+readFile(t, p.file("config.yaml")))
	eventually(t, "configured anew", func() bool { return strings.Contains(p.log.String(), "cors_origins") })
	if err := os.Remove(p.file("filter.wasm")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "missed", func() bool { return strings.Contains(p.Status().Filter.Error, "cannot be read") })
	p.write("filter.wasm", string(whole))
	wantFilter(t, e, "2")
	wantFilter(t, late, "2")
	if got := p.Status().Filter; got.Error != "" || p.metric("harmony_controlplane_filter_valid") != "1" {
		t.Errorf("got %+v", got)
	}
}

// TestLastGoodFilterIsServed checks that a control plane whose filter's file is damaged while it is away serves the
// last good one, and that nothing older is kept.
func TestLastGoodFilterIsServed(t *testing.T) {
	p, first := startWithFilter(t)
	p.write("filter.wasm", string(stub.Filter("2")))
	wantFilter(t, first, "2")
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	saved, _ := filepath.Glob(filepath.Join(p.file("state"), "filter-*.wasm"))
	if len(saved) != 1 || readFile(t, saved[0]) != string(stub.Filter("2")) {
		t.Fatalf("saved are %v", saved)
	}
	p.write("filter.wasm", "half")
	again := start(t, p.folder, handsOut)
	again.ready()
	wantFilter(t, startEnvoy(t, again.ads, "one"), "2")
	// The saved snapshot is in force until the first configuration is read.
	eventually(t, "configured", func() bool { return !again.Status().Snapshot.Saved })
	eventually(t, "current", again.current)
	if got := again.Status(); got.Filter.Version != "2" || got.Filter.Error == "" {
		t.Errorf("got %+v", got)
	}
	if err := again.stop(); err != nil {
		t.Fatal(err)
	}
	// A saved filter that is not the snapshot's is worth nothing.
	if err := os.WriteFile(saved[0], stub.Filter("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := start(t, p.folder, handsOut)
	err := third.failure()
	var wrong *ModuleError
	if !errors.As(err, &wrong) || !strings.Contains(third.log.String(), "is another filter than the snapshot's") {
		t.Errorf("%v\n%s", err, third.log)
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
