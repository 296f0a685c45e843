package fleet

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
)

// TestRolloutUsage: command lines that cannot be meant, and a control plane that takes no commands.
func TestRolloutUsage(t *testing.T) {
	filter := filepath.Join(t.TempDir(), "new.wasm")
	if err := os.WriteFile(filter, stub.Filter("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	status := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}"))
	}))
	defer status.Close()
	for _, tt := range []struct {
		line []string
		code int
		want string
	}{
		{[]string{"--on", "--back"}, cli.ExitUsage, "write one of them"},
		{[]string{"--share", "10%"}, cli.ExitUsage, "--share is for a new rollout"},
		{[]string{"--filter", filter, "--share", "0%"}, cli.ExitUsage, "chooses no Envoy"},
		{[]string{"--filter", filter, "--share", "many"}, cli.ExitUsage, "is not a share"},
		{[]string{"--filter", filter, "--rules", "luck=1%"}, cli.ExitUsage, "is no rule"},
		{[]string{"--filter", filter, "--for", "1ms"}, cli.ExitUsage, "write a time"},
		{[]string{"--filter", filter + ".not"}, cli.ExitUsage, "no such file"},
		{[]string{"--filter", os.Args[0]}, cli.ExitUsage, "--filter: "},
		{[]string{"--filter", filter}, cli.ExitFailed, "takes no commands"},
		{[]string{"--filter", filter, "--socket", filter}, cli.ExitFailed, "as the same user"},
		{nil, 0, ""},
	} {
		var out, failed bytes.Buffer
		line := append([]string{"rollout", "--address", strings.TrimPrefix(status.URL, "http://")}, tt.line...)
		if code := run(t.Context(), line, &out, &failed); code != tt.code || !strings.Contains(failed.String(), tt.want) {
			t.Errorf("%q: %d\n%s%s", tt.line, code, &out, &failed)
		}
	}
}

// TestControlSocket: only its owner can open it. A socket that a killed process has left is replaced. A socket in use,
// and a file of another kind, are not.
func TestControlSocket(t *testing.T) {
	folder, err := os.MkdirTemp("", "control") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "control.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	l, err := listenForCommands(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || l.Addr().String() != path {
		t.Errorf("%v, %v, %s", info, err, l.Addr())
	}
	if _, err := listenForCommands(path); err == nil || !strings.Contains(err.Error(), "another control plane") {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := listenForCommands(path); err == nil {
		l.Close()
		t.Error("a file is replaced")
	}
	if _, err := listenForCommands(filepath.Join(folder, strings.Repeat("x", 200))); err == nil {
		t.Error("a long path is taken")
	}
}
