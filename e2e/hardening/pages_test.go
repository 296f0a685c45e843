//go:build e2e

package hardening

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// runSession types a session of a page into a shell, in a folder of its own with the examples.
func runSession(t *testing.T, page, heading string, files map[string]string, replace ...string) {
	t.Helper()
	session := lab.ReadSession(t, page, heading)
	runTyped(t, &session, files, replace...)
}

// runTyped is runSession for a session that has been read.
func runTyped(t *testing.T, session *lab.Session, files map[string]string, replace ...string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.Symlink(lab.File("examples"), filepath.Join(folder, "examples")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ; len(replace) > 1; replace = replace[2:] {
		session.Replace(replace[0], replace[1])
	}
	programs := programsFolder(t)
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	session.Run(ctx, t, func(shell *exec.Cmd) {
		shell.Dir = folder
		shell.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "ENVOY="+lab.Tool(t, "ENVOY"))
	})
}

// programsFolder returns a folder with harmony and envoy by these names.
func programsFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, variable := range map[string]string{"harmony": "HARMONY_BIN", "envoy": "ENVOY"} {
		if err := os.Symlink(lab.Tool(t, variable), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// port returns the port of an address on which nothing listens.
func port(t *testing.T) string {
	t.Helper()
	return lab.FreeAddress(t)[len("127.0.0.1:"):]
}

// TestHardeningFront types the session about authentication in front.
func TestHardeningFront(t *testing.T) {
	server, gateway, front := port(t), port(t), port(t)
	wasm := lab.Tool(t, "HARMONY_WASM")
	runSession(t, "docs/hardening.md", "## Authentication in front", nil,
		"harmony sim ", "harmony sim --listen 127.0.0.1:"+server+" ",
		"harmony up ", "harmony up --listen 127.0.0.1:"+gateway+" --wasm "+wasm+" ",
		"127.0.0.1:8000", "127.0.0.1:"+server,
		`-e "s#/etc/harmony#$PWD#"`, `-e "s#/etc/harmony#$PWD#" -e "s#8443#`+front+`#; s#8080#`+gateway+`#"`,
		"localhost:8443", "localhost:"+front)
}

// TestHardeningTLS types the session about TLS between the parts.
func TestHardeningTLS(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	xds, status := port(t), port(t)
	wasm := lab.Tool(t, "HARMONY_WASM")
	config := fmt.Sprintf("listen: 127.0.0.1:0\nmodels: [{name: %s, servers: [\"vllm=%s\"]}]\n", lab.Model, url)
	runSession(t, "docs/hardening.md", "## TLS between the parts", map[string]string{"config.yaml": config},
		"harmony controlplane --config", "harmony controlplane --wasm "+wasm+" --listen 127.0.0.1:"+xds+
			" --status 127.0.0.1:"+status+" --config",
		"bootstrap --node", "bootstrap --control-plane 127.0.0.1:"+xds+" --admin 127.0.0.1:0 --node",
		"harmony status", "harmony status --address 127.0.0.1:"+status,
		"localhost:18000", "localhost:"+xds)
}

// TestThreatModel checks that every test that the threat model names exists.
func TestThreatModel(t *testing.T) {
	page, err := os.ReadFile(lab.File("docs/threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(lab.File("."), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".tools" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !there[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
}
