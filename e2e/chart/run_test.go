//go:build e2e && chart

package chart

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// machine runs rendered containers as processes of this machine: what a container has at a path is in a folder, and
// what it has at an address is at a free port.
type machine struct {
	*testing.T
	places []string // pairs for a strings.Replacer
}

// place gives a path of a container a folder of this machine.
func (m *machine) place(path string) (folder string) {
	folder = m.TempDir()
	m.places = append(m.places, path+"/", folder+"/")
	return folder
}

// address gives an address of a container a free port of this machine, and returns where it is reached.
func (m *machine) address(host, port string) string {
	at := lab.FreeAddress(m.T)
	_, free, err := net.SplitHostPort(at)
	if err != nil {
		m.Fatal(err)
	}
	own := host
	if ip := net.ParseIP(host); ip == nil {
		own = "127.0.0.1" // a name that only a cluster knows
	}
	m.places = append(m.places, host+":"+port, own+":"+free)
	return at
}

// args returns the arguments of a container as they are on this machine.
func (m *machine) args(words []string) []string {
	replacer := strings.NewReplacer(append(m.places, "$(POD_NAME)", "edge-0")...)
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = replacer.Replace(word)
	}
	return all
}

// certificates writes the Secret of one side, as the kubelet does in a volume: the files lead through a link, which is
// replaced when the Secret changes. It returns the certificate's serial number as Envoy shows it.
func certificates(t *testing.T, a *lab.Authority, name, folder string) (serial string) {
	t.Helper()
	a.Issue(name)
	version, err := os.MkdirTemp(folder, "..")
	for to, from := range map[string]string{"ca.crt": "ca.pem", "tls.crt": name + ".pem", "tls.key": name + ".key"} {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(a.Path(from))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(version, to), text, 0o600)
		}
		if err == nil {
			if link := filepath.Join(folder, to); os.Symlink("..data/"+to, link) != nil {
				_, err = os.Lstat(link) // from an earlier version
			}
		}
	}
	next := filepath.Join(folder, "..next")
	if err == nil {
		err = os.Symlink(filepath.Base(version), next)
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(folder, "..data"))
	}
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(a.Path(name+".pem"), a.Path(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%02x", pair.Leaf.SerialNumber)
}

// get asks a page until it answers with a status, and with some text.
func get(t *testing.T, url string, status int, text ...string) {
	t.Helper()
	var last lab.Answer
	for end := time.Now().Add(lab.ReadyLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if last = lab.Do(lab.HTTP1(t), http.MethodGet, url, nil, nil); last.Err == nil && last.Status == status &&
			strings.Contains(last.Body, strings.Join(text, "")) {
			return
		}
	}
	t.Fatalf("%s: got %d %s (%v), want %d %s", url, last.Status, last.Body, last.Err, status, text)
}

// serversKey is the token that the servers ask for.
const serversKey = "a-token-of-the-servers"

// runControlPlane runs the control plane's container, and returns its addresses when its probes succeed.
func runControlPlane(t *testing.T, all objects, authority *lab.Authority) (xds, status string) {
	t.Helper()
	c := all.find(t, "Deployment", "-controlplane").at("spec", "template", "spec").list("containers")[0]
	m := &machine{T: t}
	xds, status = m.address("0.0.0.0", "18000"), m.address("0.0.0.0", "18001")
	m.place("/var/cache/harmony")
	certificates(t, authority, "controlplane", m.place("/etc/harmony-tls"))
	text := fmt.Sprint(all.find(t, "ConfigMap", "-controlplane").at("data")["config.yaml"])
	if err := os.WriteFile(filepath.Join(m.place("/etc/harmony"), "config.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"controlplane"}, m.args(c.strings("args"))...)
	lab.RunHarmony(t, []string{"VLLM_API_KEY=" + serversKey}, args...)
	for _, probe := range []string{"readinessProbe", "livenessProbe"} {
		get(t, "http://"+status+fmt.Sprint(c.at(probe, "httpGet")["path"]), http.StatusOK)
	}
	return xds, status
}

// versions returns the versions of the resources that a control plane gives.
func versions(t *testing.T, status string) string {
	t.Helper()
	var s server.Status
	a := lab.Do(lab.HTTP1(t), http.MethodGet, "http://"+status+"/status", nil, nil)
	if err := json.Unmarshal([]byte(a.Body), &s); err != nil || len(s.Snapshot.Versions) < 5 {
		t.Fatalf("%s, %v", a.Body, err)
	}
	return fmt.Sprint(s.Snapshot.Versions)
}

// TestContainersRun runs what the rendered containers run, with certificates on both sides and a secret: two control
// planes, the bootstrap, Envoy, the probes, the address for metrics, an answer, a renewed certificate, and the preStop
// hook while an answer is written.
func TestContainersRun(t *testing.T) {
	model, address := lab.RunSim(t, sim.Options{APIKey: serversKey, TokensPerSecond: 20})
	_, port, err := net.SplitHostPort(lab.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	objects := read(t, render(t, chartFolder(), "testdata/values/secrets.yaml", write(t, "values.yaml", fmt.Sprintf(
		"config: {listen: '0.0.0.0:%s', pools: [{name: h200, servers: ['%s'], authorization: vllm-key}]}\n", port, address))))
	authority := lab.NewAuthority(t)
	url := "http://127.0.0.1:" + port

	xds, status := runControlPlane(t, objects, authority)
	_, other := runControlPlane(t, objects, authority)
	for end := time.Now().Add(lab.ReadyLimit); versions(t, status) != versions(t, other); {
		if time.Sleep(50 * time.Millisecond); time.Now().After(end) {
			t.Fatalf("two control planes give different versions: %s and %s", versions(t, status), versions(t, other))
		}
	}

	pod := objects.find(t, "Deployment", "-envoy").at("spec", "template", "spec")
	m := &machine{T: t, places: []string{"edge-harmony-edge-controlplane.models.svc.cluster.local:18000", xds}}
	admin := m.address("127.0.0.1", "9901")
	stats := m.address("0.0.0.0", "9902")
	m.place("/etc/harmony")
	secret := m.place("/etc/harmony-tls")
	certificates(t, authority, "envoy", secret)
	args := append([]string{"controlplane"}, m.args(pod.list("initContainers")[0].strings("args"))...)
	boot := lab.RunHarmony(t, nil, args...)
	if !boot.Ended(lab.ReadyLimit) || boot.ExitCode(t) != 0 {
		t.Fatalf("the init container: %s", &boot.Stderr)
	}
	c := pod.list("containers")[0]
	edge := lab.Run(t, exec.CommandContext(t.Context(), lab.Tool(t, "ENVOY"), m.args(c.strings("args"))...))
	health := url + fmt.Sprint(c.at("readinessProbe", "httpGet")["path"])
	get(t, health, http.StatusOK)
	get(t, "http://"+stats+"/stats/prometheus", http.StatusOK)
	if a := lab.AskChat(lab.HTTP1(t), url); a.Err != nil || a.Status != http.StatusOK {
		t.Fatalf("got %d %s (%v)", a.Status, a.Body, a.Err)
	}
	get(t, "http://"+admin+"/certs", http.StatusOK, `"serial_number": "`+certificates(t, authority, "envoy", secret)+`"`)
	drain(t, m, c.at("lifecycle", "preStop", "exec").strings("command"), model, url, health)
	if edge.Ended(0) {
		t.Error("Envoy ended before its SIGTERM")
	}
}

// drain runs the preStop hook while an answer is written, which must come to its end before the hook returns.
func drain(t *testing.T, m *machine, command []string, model *sim.Server, url, health string) {
	t.Helper()
	before, answered := len(lab.Completions(model)), make(chan lab.Answer, 1)
	go func() { answered <- lab.AskChat(lab.HTTP1(t), url) }()
	for len(lab.Completions(model)) == before {
		time.Sleep(5 * time.Millisecond)
	}
	command = m.args(command)
	hook := lab.Run(t, exec.CommandContext(t.Context(), command[0], command[1:]...))
	get(t, health, http.StatusServiceUnavailable)
	if !hook.Ended(lab.ReadyLimit) || hook.ExitCode(t) != 0 {
		t.Errorf("the preStop hook: %s", &hook.Stderr)
	}
	select {
	case a := <-answered:
		if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"finish_reason":"stop"`) {
			t.Errorf("the answer that ran: %d %s (%v)", a.Status, a.Body, a.Err)
		}
	case <-time.After(time.Second):
		t.Error("the hook has returned, and a request still runs")
	}
}
