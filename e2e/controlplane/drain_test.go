//go:build e2e

package controlplane

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	drainStreams = 50
	drainWords   = 60 // which is 123 tokens
	drainRate    = 25 // tokens a second: about 5 seconds for a stream
)

// drained is harmony up with streams under way, half of them over HTTP/1.1 and half over HTTP/2.
type drained struct {
	*lab.Program
	url     string
	streams *longStreams
	clients []streamClient
}

func startDrained(t *testing.T, host string, rate float64, args ...string) *drained {
	t.Helper()
	_, server := lab.RunSim(t, sim.Options{TokensPerSecond: rate, Script: longScript(drainStreams, drainWords)})
	args = append([]string{"--host", host, "--model", lab.Model, "--backend", "vllm=" + server, "--concurrency", "2"},
		args...)
	if host == "envoy" {
		args = append(args, "--admin", "127.0.0.1:0")
	}
	up, url := lab.StartUp(t, args...)
	d := &drained{Program: up, url: url}
	for i := range drainStreams {
		d.clients = append(d.clients, streamClient{[]func(*testing.T) *http.Client{lab.HTTP1, lab.HTTP2}[i%2](t), url})
	}
	d.streams = openStreams(t, drainWords, d.clients)
	return d
}

func (d *drained) signal(t *testing.T) {
	t.Helper()
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// says waits until the program has said something.
func (d *drained) says(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(lab.StopLimit); !strings.Contains(d.Stderr.String(), text); {
		if time.Now().After(deadline) || d.Ended(10*time.Millisecond) {
			t.Fatalf("it does not say %q: %s", text, &d.Stderr)
		}
	}
}

var bothHosts = []string{"envoy", "wazero"}

// TestDrain shows that after the signal no new client is served, and that the clients that were being served get their
// whole answers. An open connection that has a stream may still be used for another request.
func TestDrain(t *testing.T) {
	for _, host := range bothHosts {
		t.Run(host, func(t *testing.T) {
			d := startDrained(t, host, drainRate, "--drain-time", "5m")
			d.signal(t)
			d.says(t, fmt.Sprintf("draining: %d streams left, at most 300 s; send the signal again to end at once\n",
				drainStreams))
			if c, err := net.DialTimeout("tcp", strings.TrimPrefix(d.url, "http://"), time.Second); err == nil {
				_ = c.Close()
				t.Error("a new client is served")
			}
			if host == "envoy" {
				d.unready(t)
			}
			d.streams.running(t)
			d.streams.finish(t)
			if !d.Ended(lab.StopLimit) || d.ExitCode(t) != 0 {
				t.Errorf("it has not ended well behind its last stream: %v", d.Err)
			}
			if said := d.Stderr.String(); strings.Contains(said, "cut") {
				t.Errorf("it says that something was cut: %s", said)
			}
			d.NothingLeft(t, host == "envoy")
		})
	}
}

// TestDrainScript: the script for those who run Envoy themselves does the same, and returns when the last stream has
// ended.
func TestDrainScript(t *testing.T) {
	d := startDrained(t, "envoy", drainRate)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(d.admin(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	script := exec.Command(lab.File("examples/drain-envoy.sh"), port, "300", "0")
	if said, err := script.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v: %s", err, said)
	}
	if left := drainStreams - d.streams.ended.Load(); left > drainStreams/2 {
		t.Errorf("the script has returned before %d streams had ended", left) // some clients may still be reading
	}
	d.streams.finish(t)
	d.unready(t)
	d.Stop(t, syscall.SIGTERM)
}

// admin is the URL of Envoy's admin interface.
func (d *drained) admin(t *testing.T) string {
	t.Helper()
	_, admin, ok := strings.Cut(d.Stdout.String(), "admin interface: ")
	if !ok {
		t.Fatal("the admin interface is not said")
	}
	admin, _, _ = strings.Cut(admin, "\n")
	return admin
}

// unready checks what those see who ask Envoy itself whether to send it clients.
func (d *drained) unready(t *testing.T) {
	t.Helper()
	a := lab.Do(lab.HTTP1(t), http.MethodGet, d.admin(t)+"/ready", nil, nil)
	if a.Err != nil || a.Status != http.StatusServiceUnavailable {
		t.Errorf("/ready: got %+v", a)
	}
}

// TestDrainSlowReader: an answer that Envoy has whole, and of which its client has read little, is not cut. No request
// runs then by Envoy's count, and the rest lies in its buffers.
func TestDrainSlowReader(t *testing.T) {
	const size = 8 << 20 // more than the kernel takes of it, and less than kernel and Envoy take together
	sent := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(sent)
		_, _ = w.Write(make([]byte, size))
	}))
	t.Cleanup(other.Close)
	_, server := lab.RunSim(t, sim.Options{})
	up, url := lab.StartUp(t, "--host", "envoy", "--admin", "127.0.0.1:0", "--model", lab.Model, "--backend",
		"vllm="+server,
		"--passthrough", other.URL, "--drain-time", "5m")
	d := &drained{Program: up, url: url}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := errors.Join(conn.(*net.TCPConn).SetReadBuffer(128<<10),
		conn.SetDeadline(time.Now().Add(lab.ReadyLimit))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /v1/files HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	select {
	case <-sent:
	case <-time.After(lab.StopLimit):
		t.Fatal("the server has not got rid of its answer")
	}
	d.signal(t)
	d.says(t, "draining: 1 stream left")
	if d.Ended(time.Second) {
		t.Error("it has ended before the client has read its answer")
	}
	if n, err := io.Copy(io.Discard, response.Body); n != size || err != nil {
		t.Errorf("%d of %d bytes have come, %v", n, size, err)
	}
	if !d.Ended(lab.StopLimit) {
		t.Error("it does not end, though the answer has been read")
	}
}

// TestSecondSignal: who does not want to wait sends the signal again. With --drain-time 0s the first one is enough.
func TestSecondSignal(t *testing.T) {
	for _, host := range bothHosts {
		t.Run(host, func(t *testing.T) {
			const soon = 5 * time.Second // far below the streams' two minutes, on a busy machine
			d := startDrained(t, host, 1, "--drain-time", "5m")
			d.signal(t)
			d.says(t, "draining: ")
			d.streams.running(t)
			begin := time.Now()
			d.signal(t)
			if !d.Ended(soon) || d.ExitCode(t) != 0 {
				t.Fatalf("it has not ended well within %s of the second signal: %v", soon, d.Err)
			}
			t.Logf("ended %s after the second signal", time.Since(begin).Round(time.Millisecond))
			d.cutBySignal(t)
			d.streams.all.Wait()
			for i, end := range d.streams.got {
				if end.last {
					t.Errorf("stream %d, which was cut, looks finished", i)
				}
			}
			d.NothingLeft(t, host == "envoy")
		})
	}
}

func (d *drained) cutBySignal(t *testing.T) {
	t.Helper()
	if want := fmt.Sprintf("cut by the second signal: %d streams\n", drainStreams); !strings.Contains(
		d.Stderr.String(), want) {
		t.Errorf("it does not say %q: %s", want, &d.Stderr)
	}
}

// TestUpControlPlaneIsPrivate: what harmony up gives to its Envoy, secrets among it, no other user of the machine can
// ask for.
func TestUpControlPlaneIsPrivate(t *testing.T) {
	_, server := lab.RunSim(t, sim.Options{})
	up, _ := lab.StartUp(t, "--host", "envoy", "--model", lab.Model, "--backend", "vllm="+server, "--admin", "127.0.0.1:0")
	bootstraps, err := filepath.Glob(filepath.Join(up.Temp, "harmony-envoy-*", "bootstrap.json"))
	if err != nil || len(bootstraps) != 1 {
		t.Fatalf("Envoy's configurations: %v, %v", bootstraps, err)
	}
	text, err := os.ReadFile(bootstraps[0])
	if err != nil {
		t.Fatal(err)
	}
	pipe := regexp.MustCompile(`"pipe": \{\s*"path": "([^"]+)"`).FindSubmatch(text)
	if pipe == nil {
		t.Fatalf("Envoy's configuration comes by no socket: %s", text)
	}
	socket := string(pipe[1])
	for path, want := range map[string]os.FileMode{
		socket: os.ModeSocket | 0o600, filepath.Dir(socket): os.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	page := strings.TrimPrefix((&drained{Program: up}).admin(t), "http://127.0.0.1:")
	ports := listening(t, up.Cmd.Process.Pid)
	ports = slices.DeleteFunc(ports, func(p int64) bool { return strconv.FormatInt(p, 10) == page })
	if len(ports) != 1 {
		t.Fatalf("harmony itself listens on the TCP ports %v and on %s; want the page and the recorder", ports, page)
	}
	recorder := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	for path, want := range map[string]int{tap.Path: http.StatusForbidden, "/": http.StatusNotFound,
		"/api/records": http.StatusNotFound} {
		if a := lab.Do(lab.HTTP1(t), http.MethodPost, recorder+path, nil, nil); a.Status != want {
			t.Errorf("the recorder answers %s without its key: %+v", path, a)
		}
	}
	up.Stop(t, syscall.SIGTERM)
}

// listening returns the TCP ports that a process listens on, where the system reports them.
func listening(t *testing.T, pid int) (ports []int64) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("the files of process %d: %v, %v", pid, fds, err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil { // it may be closed by now
			own[target] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			const listens = "0A"
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listens || !own["socket:["+fields[9]+"]"] {
				continue
			}
			_, port, _ := strings.Cut(fields[1], ":")
			number, err := strconv.ParseInt(port, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			ports = append(ports, number)
		}
	}
	return ports
}
