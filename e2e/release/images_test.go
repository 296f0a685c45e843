//go:build e2e && release

package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// pushed pushes the release to a registry, and returns a function that pulls an image and unpacks it into a folder.
func pushed(t *testing.T, m *made) func(what, folder string) *v1.ConfigFile {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	place := strings.TrimPrefix(server.URL, "http://") + "/harmonyedge"
	said := run(t, m.clone, []string{"DOCKER_CONFIG=" + t.TempDir()}, "go", "run", "./cmd/harmony-release", "push", place)
	t.Logf("harmony-release push:\n%s", said)
	return func(what, folder string) *v1.ConfigFile {
		t.Helper()
		ref, err := name.ParseReference(place + "/" + what + ":" + m.version)
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(ref, remote.WithContext(t.Context()),
			remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, image, folder)
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
}

// unpack writes the files of an image into a folder, with their owners and modes.
func unpack(t *testing.T, image v1.Image, folder string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, text, 0o644)
			}
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err == nil {
			err = os.Chmod(path, h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilterImage pulls the filter back from a registry and runs it on both hosts.
func TestFilterImage(t *testing.T) {
	m, folder := makeRelease(t, "a"), t.TempDir()
	pushed(t, m)("filter", folder)
	module := filepath.Join(folder, "plugin.wasm")
	got, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(m.file(t, "harmony-filter-*.wasm")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the filter of the image is another than that of the release (%v)", err)
	}
	_, server := lab.RunSim(t, sim.Options{})
	for _, host := range []string{"wazero", "envoy"} {
		p := lab.RunHarmony(t, nil, append(up(server, "--wasm", module, "--host", host), adminOf(host)...)...)
		a := lab.AskChat(lab.HTTP1(t), p.Announced(t, `listening on (http://\S+)\n`))
		if a.Err != nil || a.Status != 200 {
			t.Errorf("%s: got %d %s (%v)", host, a.Status, a.Body, a.Err)
		}
		if host == "envoy" {
			wantBuildInfo(t, p, m)
		}
		stop(t, p)
	}
}

// adminOf returns the flag for Envoy's admin interface, for the host that has one.
func adminOf(host string) []string {
	if host == "envoy" {
		return []string{"--admin", "127.0.0.1:0"}
	}
	return nil
}

// TestProgramImages pulls the images back and runs their programs as a container would: in what the image has, as its user.
func TestProgramImages(t *testing.T) {
	m := makeRelease(t, "a")
	get := pushed(t, m)
	_, server := lab.RunSim(t, sim.Options{})
	for what, args := range map[string][]string{
		"harmony":      up(server, "--host", "wazero"),
		"controlplane": {"--config", "/config.yaml", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0"},
	} {
		r := newRoot(t)
		config := get(what, r.folder)
		if err := os.Chmod(r.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "models:\n  - name: " + lab.Model + "\n    servers: [vllm=" + server + "]\n"
		if err := os.WriteFile(r.path("config.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(config.Config.Entrypoint[1:len(config.Config.Entrypoint):len(config.Config.Entrypoint)], args...)
		c := r.command(t, nil, config.Config.Entrypoint[0], args...)
		c.Env, c.Dir = config.Config.Env, config.Config.WorkingDir
		if config.Config.User != "65532:65532" {
			t.Fatalf("it runs as %s", config.Config.User)
		}
		c.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
		if what == "harmony" {
			p, _, took := answers(t, c)
			t.Logf("image harmony, --host wazero: first answer after %s", took)
			stop(t, p)
			continue
		}
		p := lab.Run(t, c)
		status := p.Announced(t, `status: (http://\S+)/status\n`)
		if a := lab.Do(lab.HTTP1(t), "GET", status+"/ready", nil, nil); a.Err != nil || a.Status != 200 {
			t.Errorf("the control plane is not ready: %d %s (%v)", a.Status, a.Body, a.Err)
		}
		stop(t, p)
	}
}
