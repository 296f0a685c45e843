package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/internal/memlog"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// testServer is a running control plane.
type testServer struct {
	*Server
	t      *testing.T
	folder string
	ads    string
	url    string
	log    *memlog.Log
	done   chan error
	stop   func() error
}

// failure waits until the control plane ends by itself, and returns its error.
func (p *testServer) failure() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		p.done <- err // for stop
		return err
	case <-time.After(10 * time.Second):
		p.t.Fatalf("it does not end:\n%s", p.log)
		return nil
	}
}

// testOptions are the options of the control plane, and of what follows its configuration.
type testOptions struct {
	Options
	Follow follow.Options
}

// start runs a control plane with the configuration file in a folder. The folder is also its state folder.
func start(t *testing.T, folder string, change ...func(*testOptions)) *testServer {
	t.Helper()
	p := &testServer{t: t, folder: folder, log: &memlog.Log{}}
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	p.ads, p.url = listeners[0].Addr().String(), "http://"+listeners[1].Addr().String()
	o := testOptions{Options: Options{
		ConfigFile: p.file("config.yaml"), StateDir: p.file("state"), ModulePath: "/filter.wasm", Version: "1.2.3",
		ADS: listeners[0], HTTP: listeners[1], Log: slog.New(slog.NewTextHandler(p.log, nil)),
		Pools: pools.Options{ReadyInterval: 20 * time.Millisecond}, History: history.New(history.Options{}),
	}, Follow: follow.Options{File: p.file("config.yaml"), Needs: follow.Needs{Secret: follow.Every, Clients: true}}}
	for _, change := range change {
		change(&o)
	}
	var err error
	if p.Server, err = New(o.Options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.done = make(chan error, 1)
	program := p.program(o)
	go func() { p.done <- program.Run(ctx) }()
	p.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-p.done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// program returns the program with the control plane as its only part.
func (p *testServer) program(o testOptions) *follow.Program {
	o.Follow.Log = o.Log
	return &follow.Program{Follower: follow.Open(o.Follow), Parts: []follow.Part{p.Server}, Reading: p.Reading,
		Without: p.Restored, Log: o.Log}
}

func (p *testServer) file(name string) string { return filepath.Join(p.folder, name) }

func (p *testServer) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testServer) ready() {
	p.t.Helper()
	select {
	case <-p.Ready():
	case <-time.After(10 * time.Second):
		p.t.Fatalf("not ready:\n%s", p.log)
	}
}

func (p *testServer) get(path string) (int, string) {
	p.t.Helper()
	r, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// metric returns the value of a metric as /metrics shows it, or "" if it is missing.
func (p *testServer) metric(name string) string {
	p.t.Helper()
	_, text := p.get("/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return value
		}
	}
	return ""
}

func (p *testServer) current() bool {
	all := p.Status().Envoys
	for i := range all {
		if !all[i].Current {
			return false
		}
	}
	return len(all) > 0
}

// folderWith returns a folder with a configuration file and more files.
func folderWith(t *testing.T, text string, more ...string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for ; len(more) > 0; more = more[2:] {
		if err := os.WriteFile(filepath.Join(folder, more[0]), []byte(more[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// oneModel returns a configuration with one model on one server.
func oneModel(server string) string {
	return fmt.Sprintf("models:\n- name: m\n  pool: p\npools:\n- name: p\n  servers: [ %s ]\n", server)
}

func TestServesAnEnvoyAndReportsIt(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	p.ready()
	if code, text := p.get("/ready"); code != http.StatusOK || text != "ready\n" {
		t.Errorf("%d %s", code, text)
	}
	startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	eventually(t, "ready to serve the model", func() bool { return p.Status().Pools[0].Servers[0].State == pools.Ready })
	_, text := p.get("/status")
	var got Status
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(engine.URL, "http://")
	pool := got.Pools[0]
	if got.Version != "1.2.3" || got.Started.IsZero() || got.Configuration.File != p.file("config.yaml") ||
		got.Configuration.Loaded.IsZero() ||
		got.Configuration.Error != "" || got.Snapshot.Pushed.IsZero() || got.Snapshot.Saved ||
		got.Snapshot.Versions["endpoints"] == "" ||
		len(got.Envoys) != 1 || got.Envoys[0].ID != "one" || !got.Envoys[0].Current ||
		pool.Name != "p" || pool.Policy != config.PolicyLeastRequest || pool.Problem != "" || len(pool.Models) != 1 ||
		pool.Models[0] != "m" ||
		pool.Servers[0].URL != engine.URL || pool.Servers[0].Address != address || pool.Servers[0].Since.IsZero() {
		t.Errorf("status:\n%s", text)
	}
	for name, want := range map[string]string{
		"harmony_controlplane_envoys": "1", "harmony_controlplane_envoys_current": "1",
		"harmony_controlplane_config_valid":                                      "1",
		`harmony_controlplane_servers{pool="p",state="ready"}`:                   "1",
		`harmony_controlplane_responses_total{result="refused",type="clusters"}`: "0",
		`harmony_controlplane_config_loads_total{result="ok"}`:                   "1",
	} {
		if got := p.metric(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	engine := newEngine(t, `{"id":"m"},{"id":"another-model"}`)
	p, e := startWithEnvoy(t, oneModel(engine.URL))
	eventually(t, "current", p.current)
	if got := p.metric("harmony_controlplane_envoys_expected"); got != "" {
		t.Errorf("%q Envoys are expected, without a number in the file", got)
	}
	before := p.metric("harmony_controlplane_push_to_accept_seconds_count")
	p.write("config.yaml", strings.Replace(
		oneModel(engine.URL), "models:", "envoy: { expect: 2 }\nmodels:\n- name: another-model\n  pool: p", 1))
	eventually(t, "accepted", func() bool {
		return p.current() && strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), "another-model")
	})
	eventually(t, "measured", func() bool {
		return p.metric("harmony_controlplane_push_to_accept_seconds_count") > before
	})
	if got := p.metric("harmony_controlplane_envoys_expected"); got != "2" {
		t.Errorf("%q Envoys are expected, want 2", got)
	}
}

func TestAMistakeKeepsWhatIsInForce(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	p.ready()
	versions := p.Status().Snapshot.Versions
	for _, tt := range []struct{ name, text, want string }{
		{"not YAML", "models: [", "config.yaml:1: "},
		{"a setting", strings.Replace(oneModel(engine.URL), "pool: p", "pool: q", 1), "config.yaml:3: models[0].pool: "},
		{"something missing", "listen: 127.0.0.1:0\n", "config.yaml: models: no model is configured"},
		{"what it refers to", oneModel(engine.URL) + "  servers_file: none.txt\n", "none.txt"},
		{"a secret", oneModel(engine.URL) + "  authorization: key\nsecrets:\n- name: key\n  env: HARMONY_NOBODY_SETS_THIS\n",
			"config.yaml:10: secrets[0].env: "},
	} {
		p.write("config.yaml", tt.text)
		eventually(t, tt.name+" reported", func() bool { return strings.Contains(p.Status().Configuration.Error, tt.want) })
		if p.metric("harmony_controlplane_config_valid") != "0" || !strings.Contains(p.log.String(), tt.want) {
			t.Errorf("%s: valid %s\n%s", tt.name, p.metric("harmony_controlplane_config_valid"), p.log)
		}
	}
	if got := p.Status().Snapshot.Versions; fmt.Sprint(got) != fmt.Sprint(versions) ||
		len(p.Status().Pools[0].Servers) != 1 {
		t.Errorf("versions %v, then %v", versions, got)
	}
	p.write("config.yaml", oneModel(engine.URL))
	eventually(t, "mended", func() bool {
		return p.Status().Configuration.Error == "" && p.metric("harmony_controlplane_config_valid") == "1"
	})
}

// TestCheckFindsAllMistakes checks that a version that cannot come into force is refused before any part of the program
// has it.
func TestCheckFindsAllMistakes(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	p.ready()
	f := follow.Open(follow.Options{File: filepath.Join(folderWith(t, oneModel(engine.URL)+"  servers_file: none.txt\n"),
		"config.yaml")})
	defer f.Close()
	v, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	var wrong *config.Error
	if err := p.Check(t.Context(), v); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "none.txt") {
		t.Errorf("got %v", err)
	}
}

func TestAMissingFileThatAppearsIsRead(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	p.ready()
	p.write("config.yaml", oneModel(engine.URL)+"  servers_file: "+p.file("servers.txt")+"\n")
	eventually(t, "refused", func() bool { return p.Status().Configuration.Error != "" })
	p.write("servers.txt", "- http://127.0.0.9:1\n")
	eventually(t, "in force", func() bool {
		return p.Status().Configuration.Error == "" && len(p.Status().Pools[0].Servers) == 2
	})
}

func TestServersComeAndGoWithoutAReload(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, ""), func(o *testOptions) {
		folder := filepath.Dir(o.ConfigFile)
		text := oneModel(engine.URL) + "  servers_file: " + filepath.Join(folder, "servers.yaml") + "\n"
		for name, text := range map[string]string{"config.yaml": text, "servers.yaml": "[]\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	e := startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	p.write("servers.yaml", "- http://127.0.0.9:1\n")
	eventually(t, "there", func() bool {
		return p.current() && strings.Contains(e.text(t, resource.EndpointType, "harmony-pool-p"), "127.0.0.9")
	})
	if got := p.metric(`harmony_controlplane_config_loads_total{result="ok"}`); got != "1" {
		t.Errorf("%s loads", got)
	}
}

func TestNotReadyBeforeThereIsAnythingToServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := New(Options{ADS: l, ConfigFile: "config.yaml", ModulePath: "/filter.wasm"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/ready": http.StatusServiceUnavailable, "/status": http.StatusOK, "/metrics": http.StatusOK,
		"/": http.StatusOK, "/api/about": http.StatusOK, "/api/history": http.StatusOK, "/nothing": http.StatusNotFound} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestAFirstStartWithAMistakeFails(t *testing.T) {
	p := start(t, folderWith(t, "models: ["))
	if err := p.failure(); err == nil || !strings.Contains(err.Error(), "config.yaml:1: ") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(p.log.String(), "stays in force") {
		t.Errorf("nothing is in force:\n%s", p.log)
	}
}

func TestAStartWithAMistakeServesTheLastGood(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	folder := folderWith(t, oneModel(engine.URL))
	p := start(t, folder)
	p.ready()
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	versions := p.Status().Snapshot.Versions
	p.write("config.yaml", "models: [")

	restarted := start(t, folder)
	restarted.ready()
	startEnvoy(t, restarted.ads, "one")
	eventually(t, "current", restarted.current)
	eventually(t, "reported", func() bool { return restarted.Status().Configuration.Error != "" })
	status := restarted.Status()
	if !status.Snapshot.Saved || fmt.Sprint(status.Snapshot.Versions) != fmt.Sprint(versions) ||
		!status.Configuration.Loaded.IsZero() {
		t.Errorf("%+v", status)
	}
	if valid := restarted.metric("harmony_controlplane_config_valid"); valid != "0" {
		t.Errorf("config_valid: %s", valid)
	}
	eventually(t, "logged", func() bool {
		return strings.Contains(restarted.log.String(), "the last good snapshot is served")
	})
	restarted.write("config.yaml", oneModel(engine.URL))
	eventually(t, "in force", func() bool {
		return !restarted.Status().Snapshot.Saved &&
			restarted.Status().Configuration.Error == ""
	})
}

func TestADamagedSnapshotIsLogged(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	folder := folderWith(t, oneModel(engine.URL))
	if err := os.Mkdir(filepath.Join(folder, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "state", snapshotFile), []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, folder)
	p.ready()
	if !strings.Contains(p.log.String(), "delete it") {
		t.Errorf("log:\n%s", p.log)
	}
}

// TestARestartTakesNoServersAway starts a control plane while the name server is away. The Envoys must keep their
// servers, and a server that was not ready must get no requests before it has been asked.
func TestARestartTakesNoServersAway(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	var silent atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			<-r.Context().Done()
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"something else"}]}`))
	}))
	t.Cleanup(other.Close)
	port := engine.URL[strings.LastIndex(engine.URL, ":"):]
	folder := folderWith(t, oneModel("http://gpu.example"+port+", "+other.URL))
	lookup := func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	p := start(t, folder, func(o *testOptions) { o.Pools.Lookup = lookup })
	eventually(t, "pushed with one that is not ready", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		m := remember(p.latest)
		return len(m.addresses["gpu.example"]) == 1 && len(m.notReady) == 1
	})
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	versions := p.Status().Snapshot.Versions

	away := func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "nobody there", IsTemporary: true}
	}
	silent.Store(true) // the restarted control plane cannot learn the server's state
	restarted := start(t, folder, func(o *testOptions) { o.Pools.Lookup = away })
	eventually(t, "in force", func() bool { return !restarted.Status().Configuration.Loaded.IsZero() })
	status := restarted.Status()
	if fmt.Sprint(status.Snapshot.Versions) != fmt.Sprint(versions) {
		t.Errorf("versions %v, before %v", status.Snapshot.Versions, versions)
	}
	found, kept := false, false
	for _, s := range status.Pools[0].Servers {
		kept = kept || s.URL == other.URL && s.State == pools.NotReady && strings.Contains(s.Reason, "before the restart")
		found = found || s.URL == "http://gpu.example"+port && s.Address == "127.0.0.1"+port &&
			strings.Contains(s.Reason, "no address yet")
	}
	if !found || !kept || status.Pools[0].Problem == "" {
		t.Errorf("%+v", status.Pools)
	}
}

func TestSecretsReachOnlyEnvoys(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	folder := t.TempDir()
	p := start(t, folder, func(o *testOptions) {
		for name, text := range map[string]string{
			"config.yaml": oneModel(engine.URL) + "  authorization: key\nsecrets:\n- name: key\n  file: " +
				filepath.Join(folder, "key") + "\n",
			"key": " sesame-one\n",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	e := startEnvoy(t, p.ads, "one", "key")
	eventually(t, "current", p.current)
	eventually(t, "there", func() bool { return strings.Contains(e.text(t, resource.SecretType, "key"), "sesame-one") })
	p.write("key", "sesame-two\n")
	eventually(t, "rotated", func() bool { return strings.Contains(e.text(t, resource.SecretType, "key"), "sesame-two") })
	p.write("key", "sesame\x01three")
	eventually(t, "refused", func() bool { return strings.Contains(p.Status().Configuration.Error, "secrets[0].file: ") })
	_, status := p.get("/status")
	_, metrics := p.get("/metrics")
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(p.file("state/" + snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"status": status, "metrics": metrics, "log": p.log.String(), "saved": string(saved)} {
		if strings.Contains(text, "sesame") || text == "" {
			t.Errorf("%s:\n%s", what, text)
		}
	}
}

func TestWhatAnEnvoyRefusesIsReported(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p, e := startWithEnvoy(t, oneModel(engine.URL))
	eventually(t, "current", p.current)
	e.refuses(resource.ExtensionConfigType)
	p.write("config.yaml", strings.Replace(oneModel(engine.URL), "name: m", "name: n", 1))
	eventually(t, "refused", func() bool {
		return p.metric(`harmony_controlplane_responses_total{result="refused",type="extensions"}`) == "1"
	})
	_, status := p.get("/status")
	if !strings.Contains(status, `"error": "not here"`) || p.metric("harmony_controlplane_envoys_current") != "0" ||
		!strings.Contains(p.log.String(), `error="not here"`) {
		t.Errorf("status:\n%s\nlog:\n%s", status, p.log)
	}
}

func TestAConfigurationWithoutAFile(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	c, err := config.Parse("flags", []byte(oneModel(engine.URL)))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), func(o *testOptions) {
		o.ConfigFile, o.StateDir, o.Follow.File, o.Follow.Config, o.HTTP = "", "", "", c, nil
	})
	p.ready()
	startEnvoy(t, p.ads, "one")
	eventually(t, "current", p.current)
	if _, err := os.Stat(p.file("state")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state: %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestNewWantsListenerAndFilter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, o := range []Options{{}, {ADS: l}, {ADS: l, ModulePath: "/f", ModuleFile: "/f"}, {ModulePath: "/f"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/control-plane.md")
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(t, `{"id":"m"}`)
	asked := "envoy: { expect: 1 }\n" + oneModel(engine.URL) + "  load: {interval: 1s}\nresponses_service: {url: " +
		newEngine(t, "").URL + "}\n"
	folder := folderWith(t, asked, "filter.wasm", string(stub.Filter("1")), "own.pem", certificateUntil(t, time.Hour))
	p := start(t, folder, handsOut, func(o *testOptions) { o.Certificates = []string{filepath.Join(folder, "own.pem")} })
	p.ready()
	// Ready is closed shortly before the pools are known.
	eventually(t, "a pool", func() bool {
		_, scrape := p.get("/metrics")
		return p.metric(`harmony_controlplane_load_known_servers{pool="p"}`) != "" &&
			strings.Contains(scrape, "harmony_controlplane_service_up{")
	})
	_, scrape := p.get("/metrics")
	shown := regexp.MustCompile(`# TYPE (harmony_\w+)`).FindAllStringSubmatch(scrape, -1)
	if len(shown) < 10 || !strings.Contains(scrape, "go_goroutines") || !strings.Contains(scrape, "process_") {
		t.Fatalf("metrics:\n%s", scrape)
	}
	for _, name := range shown {
		if !strings.Contains(string(text), "`"+name[1]+"`") {
			t.Errorf("%s is not in docs/control-plane.md", name[1])
		}
	}
	for _, name := range regexp.MustCompile("`(harmony_controlplane_\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(scrape, "# TYPE "+name[1]+" ") {
			t.Errorf("docs/control-plane.md tells of %s, which is not there", name[1])
		}
	}
}
