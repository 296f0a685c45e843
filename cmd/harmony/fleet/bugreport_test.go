package fleet

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// readArchive returns the files of an archive by their names.
func readArchive(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(h.Name, "harmony-bug-report/")] = string(text)
	}
}

// TestBugReport plants secrets and prompts wherever they may come from, and looks for them in the whole archive.
func TestBugReport(t *testing.T) {
	const planted = "PLANTED"
	t.Setenv("GPU_KEY", planted+"-env-secret")
	t.Setenv("HARMONY_SEAL_KEYS", planted+"-seal-1,"+planted+"-seal-2")
	token := clitest.WriteFile(t, "token", planted+"-file-secret\n")
	file := clitest.WriteFile(t, "h.yaml", `# `+planted+` in a comment
listen: 127.0.0.1:1
models:
- name: m
  pool: p
  system: { identity: "`+planted+` prompt" }
  extra_body: { temperature: 1 }
pools:
- { name: p, servers: [http://gpu-1:8000], authorization: k, kind: vllm }
- { name: q, servers: [http://gpu-2:8000], authorization: l, kind: vllm }
responses_service:
  store: /var/lib/h.db
  tools:
    servers:
    - { label: files, command: [mcp, --token, `+planted+`], environment: { TOKEN: `+planted+`-in-environment } }
secrets:
- { name: k, env: GPU_KEY }
- { name: l, file: `+token+` }
`)
	log := clitest.WriteFile(t, "controlplane.log", strings.Repeat("x", maxLog)+"\n"+
		`time=2026-11-30T05:00:00Z level=WARN msg="a server refuses" error="Bearer `+planted+`-bearer"`+"\n"+
		`{"time":"2026-11-30T05:00:00Z","level":"WARN","msg":"shown too","authorization":"`+planted+`"}`+"\n"+
		"analysis: "+planted+" is what the model writes\n"+
		"[2026-11-30 05:00:00.000][12][debug][http] x-prompt: "+planted+"\n"+
		"[2026-11-30 05:00:00.000][12][warning][main] an Envoy warns of sk-harmony-"+planted+"\n"+
		"error: a secret of a file: "+planted+"-file-secret\n"+
		"warning: postgres://user:"+planted+"@db/x\n")
	one := goodStatus()
	one.Configuration.File = file
	one.Pools[0].Servers[0].Reason = "answers with " + planted + "-env-secret and " + planted + "-seal-2"
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cli.StatusPath {
			server.WriteStatus(w, one)
			return
		}
		_, _ = io.WriteString(w, "harmony_controlplane_envoys 2\n")
	}))
	defer from.Close()
	archive := filepath.Join(t.TempDir(), "report.tar.gz")
	var out, failed bytes.Buffer
	args := []string{"bug-report", "--address", from.Listener.Addr().String(), "-o", archive, "--log", log}
	if code := run(t.Context(), args, &out, &failed); code != 0 {
		t.Fatalf("%d, %s", code, &failed)
	}
	all := readArchive(t, archive)
	for name, want := range map[string][]string{
		"versions.txt": {"harmony ", "go go1."}, "metrics.txt": {"harmony_controlplane_envoys 2"},
		"status.json": {`"http://gpu:1"`, "answers with " + redacted},
		"configuration.txt": {"listen: 127.0.0.1:1\n", "pools[0].servers: [http://gpu-1:8000]\n", "models[0].name: m\n",
			"models[0].system.identity: (text, 14 characters)\n", "secrets[0].env: GPU_KEY\n",
			"environment: (1 entries)\n", "command: (3 entries)\n"},
		"logs/controlplane.log": {"a server refuses", "shown too", "an Envoy warns of sk-" + redacted, "error: a secret"},
	} {
		for _, text := range want {
			if !strings.Contains(all[name], text) {
				t.Errorf("%s lacks %q:\n%s", name, text, all[name])
			}
		}
	}
	for name, text := range all {
		if strings.Contains(text, planted) {
			t.Errorf("%s has a secret or a prompt:\n%s", name, text)
		}
	}
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if code := run(t.Context(), args, &out, &failed); code != cli.ExitUsage || !strings.Contains(failed.String(), "exists") {
		t.Errorf("again: %d, %s", code, &failed)
	}
}

// TestBugReportOfAWrongFile checks that the text of a wrong file is not in an archive, nor is a state where nothing runs.
func TestBugReportOfAWrongFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := clitest.WriteFile(t, "h.yaml", "listen: PLANTED\nPLANTED: 1\n")
	archive := filepath.Join(t.TempDir(), "report.tar.gz")
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"bug-report", "--config", file, "-o", archive, "--address", "127.0.0.1:1"}, &out,
		&failed); code != 0 {
		t.Fatalf("%d, %s", code, &failed)
	}
	all := readArchive(t, archive)
	if text := all["configuration.txt"]; !strings.Contains(text, "wrong at line 1: listen\n") ||
		strings.Contains(text, "PLANTED") {
		t.Errorf("it has %s", text)
	}
	if !strings.HasPrefix(all["status.json"], "none: ") {
		t.Errorf("it has %s", all["status.json"])
	}
	if !strings.Contains(failed.String(),
		"note: the archive has no state and no metrics: no control plane answers at 127.0.0.1:1") {
		t.Errorf("it prints %s", &failed)
	}
	first, second := startPage(t), startPage(t)
	failed.Reset()
	if code := run(t.Context(), []string{"bug-report", "-o", archive + "3"}, &out, &failed); code != 0 ||
		!strings.Contains(failed.String(), first) || !strings.Contains(failed.String(), second) {
		t.Errorf("two run: %d, %s", code, &failed)
	}
	if code := run(t.Context(), []string{"bug-report", "--log", "/no/such", "-o", archive + "2"}, &out, &failed); code !=
		cli.ExitUsage {
		t.Errorf("no log: %d", code)
	}
}
