//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
)

// planeSettings are what a control plane of one model and one pool starts with.
type planeSettings struct {
	servers []string // of the pool
	pool    string   // more of the pool's settings, as YAML
	envoys  int
}

// plane is harmony controlplane, as a process, and the Envoys that it programs.
type plane struct {
	*testing.T
	settings    planeSettings
	folder      string
	xds, status string // addresses, the same after a restart
	wasm        string // the filter's file
	onEnvoys    bool   // Envoys find the file themselves
	process     *lab.Program
	envoys      []*envoy.Process
	urls        []string // of the Envoys
}

// startPlane starts everything, and returns when every Envoy has what it is to have.
func startPlane(t *testing.T, s planeSettings) *plane {
	t.Helper()
	p := preparePlane(t, s)
	p.run()
	return p
}

// preparePlane returns a plane with its files, which [plane.run] starts.
func preparePlane(t *testing.T, s planeSettings) *plane {
	t.Helper()
	p := &plane{T: t, settings: s, folder: t.TempDir(), xds: lab.FreeAddress(t), status: lab.FreeAddress(t),
		wasm: lab.Tool(t, "HARMONY_WASM")}
	p.setServers(s.servers)
	p.setReasoning(0)
	return p
}

// run starts the control plane and its Envoys, and returns when every Envoy has what it is to have.
func (p *plane) run() {
	p.Helper()
	p.start()
	for range p.settings.envoys {
		p.addEnvoy()
	}
	p.await("all Envoys are current", func(server.Status) bool { return true })
}

// addEnvoy starts one more Envoy, with more options of its bootstrap.
func (p *plane) addEnvoy(options ...string) {
	p.Helper()
	one, address := lab.StartEdge(p.T, lab.EdgeBootstrap(p.T, p.xds, fmt.Sprintf("edge-%d", len(p.envoys)+1),
		options...))
	p.envoys, p.urls = append(p.envoys, one), append(p.urls, "http://"+address)
}

// start starts the control plane, the first one or another.
func (p *plane) start() {
	p.Helper()
	wasm := "--wasm"
	if p.onEnvoys {
		wasm = "--wasm-on-envoys"
	}
	p.process = lab.RunHarmony(p.T, nil, "controlplane", "--config", filepath.Join(p.folder, "config.yaml"), "--listen",
		p.xds,
		"--status", p.status, "--state", filepath.Join(p.folder, "state"), wasm, p.wasm)
}

// end ends the control plane by a signal.
func (p *plane) end(signal syscall.Signal) {
	p.Helper()
	if err := p.process.Cmd.Process.Signal(signal); err != nil {
		p.Fatal(err)
	}
	if !p.process.Ended(lab.StopLimit) {
		p.Fatalf("the control plane still runs %s after %s", lab.StopLimit, signal)
	}
}

// setServers writes the file of the pool's servers.
func (p *plane) setServers(urls []string) {
	p.Helper()
	p.settings.servers = urls
	p.replace("servers.yaml", "- "+strings.Join(urls, "\n- ")+"\n")
}

// setReasoning writes the configuration, with a limit on reasoning that only the filter reads.
func (p *plane) setReasoning(tokens int) {
	p.Helper()
	p.replace("config.yaml", fmt.Sprintf(`listen: 127.0.0.1:0
models:
  - name: %s
    pool: gpus
    max_reasoning_tokens: %d
    system:
      date: %s
pools:
  - name: gpus
    servers_file: servers.yaml
%s`, lab.Model, tokens, lab.Date, p.settings.pool))
}

// replace writes a file as careful programs do, whole and at once.
func (p *plane) replace(name, text string) {
	p.Helper()
	path := filepath.Join(p.folder, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		p.Fatal(err)
	}
}

// versions are the versions of the resources that the control plane gives now.
func (p *plane) versions() map[string]string {
	p.Helper()
	s, err := p.ask()
	if err != nil {
		p.Fatal(err)
	}
	return s.Snapshot.Versions
}

func (p *plane) ask() (s server.Status, err error) {
	response, err := http.Get("http://" + p.status + "/status")
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	return s, json.NewDecoder(response.Body).Decode(&s)
}

// await waits for the status to be as wanted, with the pool's servers as they are in the file and every Envoy current,
// and returns how long that took.
func (p *plane) await(what string, ok func(server.Status) bool) time.Duration {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), lab.Patience)
	defer cancel()
	begin, tick := time.Now(), time.NewTicker(lab.Pause)
	defer tick.Stop()
	for {
		s, err := p.ask()
		if err == nil && p.settled(s) && ok(s) {
			return time.Since(begin)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.Fatalf("not so far that %s: %+v, %v", what, s, err)
		}
	}
}

func (p *plane) settled(s server.Status) bool {
	if len(s.Envoys) != len(p.envoys) || s.Snapshot.Saved || s.Configuration.Error != "" || len(s.Pools) != 1 {
		return false
	}
	for i := range s.Envoys {
		if !s.Envoys[i].Current {
			return false
		}
	}
	var got []string
	for _, one := range s.Pools[0].Servers {
		got = append(got, one.URL)
	}
	want := slices.Clone(p.settings.servers)
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

// changed waits until what has been changed since these versions is in force everywhere.
func (p *plane) changed(kind string, before map[string]string) time.Duration {
	p.Helper()
	return p.await("a change is accepted", func(s server.Status) bool { return s.Snapshot.Versions[kind] != before[kind] })
}
