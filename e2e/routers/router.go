//go:build e2e && routers

package routers

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// router is a program between a gateway and its servers.
type router struct {
	name string
	// command is the program in its virtual environment, with the arguments before the common ones.
	command []string
}

// all are the routers, in the order of the table.
var all = []router{
	{"smg", []string{"smg", "launch"}},
	{"sglang-router", []string{"python", "-m", "sglang_router.launch_router"}},
	{"vllm-router", []string{"vllm-router"}},
}

// environments are the names of their virtual environments (tools/python).
var environments = map[string]string{"smg": "router-smg", "sglang-router": "router-sglang", "vllm-router": "router-vllm"}

// startLimit is how long a router may take until it knows its servers.
const startLimit = 60 * time.Second

// start runs the router before a server, and waits until it sends requests there.
func (r *router) start(t *testing.T, server string) (url string) {
	t.Helper()
	bin := filepath.Join(lab.Tool(t, "HARMONY_VENVS"), environments[r.name], "bin")
	port, metrics := freePort(t), freePort(t)
	args := append([]string{}, r.command[1:]...)
	args = append(args, "--host", "127.0.0.1", "--port", port, "--prometheus-host", "127.0.0.1",
		"--prometheus-port", metrics, "--worker-urls", server)
	command := exec.Command(filepath.Join(bin, r.command[0]), args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(t.TempDir(), "router.log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // the group: some have children
		_ = command.Wait()
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s said:\n%.4000s", r.name, said)
		}
	})
	url = "http://127.0.0.1:" + port
	for end := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		if answers(url + "/v1/chat/completions") {
			return url
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer", r.name)
		}
	}
}

// answers reports whether a conversation is answered.
func answers(url string) bool {
	body := lab.ChatBody(lab.Model, "Hi")
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
