//go:build e2e

package hardening

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/sim"
)

// commandSpan is a command in a line of text: a program that operators have, with arguments.
var commandSpan = regexp.MustCompile("`((?:harmony|curl) [^`]+)`")

// TestRunbookCommands runs every command of docs/runbook.md in a shell on a machine with a control plane, an Envoy and a
// server that are well. Each must succeed and show something.
func TestRunbookCommands(t *testing.T) {
	text, err := os.ReadFile(lab.File("docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, m := range commandSpan.FindAllStringSubmatch(string(text), -1) {
		commands[strings.ReplaceAll(strings.ReplaceAll(m[1], `\|`, "|"), "\n", " ")] = true
	}
	if len(commands) < 15 {
		t.Fatalf("the page has %d commands: %v", len(commands), commands)
	}
	folder, places := startMachine(t)
	programs := programsFolder(t)
	for command := range commands {
		typed := command
		for old, by := range places {
			typed = strings.ReplaceAll(typed, old, by)
		}
		typed = strings.Replace(typed, "harmony status", "harmony status --address "+places["127.0.0.1:18001"], 1)
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		shell := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", strings.ReplaceAll(typed, "curl ", "curl --fail "))
		shell.Dir = folder
		shell.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
		said, err := shell.Output()
		cancel()
		if err != nil || len(strings.TrimSpace(string(said))) == 0 {
			t.Errorf("%s: %v\n%s", command, err, said)
		}
	}
}

// TestRunbookAlerts checks that the runbook and examples/monitoring/alerts.yaml have the same alerts.
func TestRunbookAlerts(t *testing.T) {
	text, err := os.ReadFile(lab.File("docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile(lab.File("examples/monitoring/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Alerts\n")
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1) {
		there[m[1]] = true
		if !strings.Contains(section, "`"+m[1]+"`") {
			t.Errorf("the runbook does not know the alert %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(Harmony\\w+)`").FindAllStringSubmatch(section, -1) {
		if !there[m[1]] {
			t.Errorf("there is no alert %s", m[1])
		}
	}
}

// startMachine starts a server, a picker, a control plane and an Envoy that has answered once, and returns the folder
// with the configuration and where what the page names is found.
func startMachine(t *testing.T) (folder string, places map[string]string) {
	t.Helper()
	_, server := lab.RunSim(t, sim.Options{})
	folder = t.TempDir()
	config := filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nmodels: [{name: %s, servers: [\"vllm=%s\"]}]\n", lab.Model, server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := lab.RunHarmony(t, nil, "controlplane", "--config", config, "--listen", "127.0.0.1:0", "--status",
		"127.0.0.1:0", "--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM"))
	xds, status := program.Announced(t, `serving Envoys on (\S+)\n`), program.Announced(t, `status: http://(\S+)/status\n`)
	boot := lab.RunHarmony(t, nil, "controlplane", "bootstrap", "--control-plane", xds, "--node", "edge-1", "--admin",
		"127.0.0.1:0")
	if !boot.Ended(lab.ReadyLimit) || boot.ExitCode(t) != 0 {
		t.Fatalf("harmony controlplane bootstrap: %v\n%s", boot.Err, &boot.Stderr)
	}
	edge, err := envoy.Start(t.Context(), envoy.Options{
		Path: lab.Tool(t, "ENVOY"), Bootstrap: []byte(boot.Stdout.String()), Concurrency: 1, ReadyTimeout: lab.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = edge.Stop() })
	gateway, err := edge.Listener(t.Context(), "harmony")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(lab.Patience); ; {
		a := lab.AskChat(lab.HTTP1(t), "http://"+gateway)
		if a.Status == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v", a)
		}
		time.Sleep(lab.Pause)
	}
	return folder, map[string]string{"127.0.0.1:9901": edge.Admin(), "127.0.0.1:18001": status, "127.0.0.1:8080": gateway,
		"http://10.0.0.7:8000": server, "127.0.0.1:18005": startPicker(t, server)}
}

// startPicker starts a picker for a pool of the server, and returns where its status is.
func startPicker(t *testing.T, server string) string {
	t.Helper()
	config := lab.WriteConfig(t, fmt.Sprintf("listen: 127.0.0.1:0\nmodels: [{name: %s, pool: p}]\n"+
		"pools: [{name: p, servers: [%q], policy: picker, picker: {url: 'http://127.0.0.1:9'}, "+
		"capacity: 8, queue: {max_requests: 9}}]\n", lab.Model, server))
	return lab.RunHarmony(t, nil, "picker", "--config", config, "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0").
		Announced(t, `status: http://(\S+)/status\n`)
}
