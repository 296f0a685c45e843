//go:build e2e

package lifecycle

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
)

// gateway is a program that follows a file, and where clients ask it.
type gateway struct {
	*service.Gateway
	file, listen, xds, status, state string
}

// prepare writes a file. It has the address at which the gateway listens.
func prepare(t *testing.T, text string) *gateway {
	t.Helper()
	g := &gateway{Gateway: &service.Gateway{T: t, Client: lab.HTTP1(t),
		Schemas: grammar.LoadSchemas(t)}, listen: lab.FreeAddress(t),
		xds: lab.FreeAddress(t), status: lab.FreeAddress(t), state: t.TempDir()}
	g.file = lab.WriteConfig(t, g.text(text))
	return g
}

func (g *gateway) text(text string) string { return "listen: " + g.listen + "\n" + text }

// up runs harmony up.
func up(t *testing.T, text string) *gateway {
	t.Helper()
	g := prepare(t, text)
	g.Program, _ = lab.StartUp(t, "--host", "envoy", "--listen", g.listen, "--config", g.file, "--admin", g.status)
	g.URL = "http://" + g.listen
	return g
}

// plane runs a control plane with an Envoy.
func plane(t *testing.T, text string) *gateway {
	t.Helper()
	g := prepare(t, text)
	g.startPlane()
	g.startEnvoy()
	return g
}

func (g *gateway) startPlane() {
	g.T.Helper()
	g.Program = lab.RunHarmony(g.T, nil, "controlplane", "--config", g.file, "--listen", g.xds, "--status", g.status,
		"--state", g.state, "--wasm", lab.Tool(g.T, "HARMONY_WASM"), "--drain-time", "1s")
	g.Program.Announced(g.T, `serving Envoys on (\S+)`)
}

func (g *gateway) startEnvoy() {
	g.T.Helper()
	_, address := lab.StartEdge(g.T, lab.EdgeBootstrap(g.T, g.xds, "edge"))
	g.URL = "http://" + address
}

// planeAfterABadFile runs a control plane that has begun with a file that it could not read, and with the last good
// snapshot of a run before. Then the file is good.
func planeAfterABadFile(t *testing.T, text string) *gateway {
	t.Helper()
	g := plane(t, text)
	g.end()
	g.replace("models: [")
	g.startPlane()
	g.await("the bad file is told", func(s *server.Status) bool { return s.Configuration.Error != "" })
	g.replace(text)
	g.await("the good file is in force", func(s *server.Status) bool { return s.Configuration.Error == "" })
	return g
}

// end ends the program by a signal.
func (g *gateway) end() {
	g.T.Helper()
	if err := g.Program.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.T.Fatal(err)
	}
	if !g.Program.Ended(lab.StopLimit) || g.Program.ExitCode(g.T) != 0 {
		g.T.Fatalf("it has not ended well: %v\n%s", g.Program.Err, &g.Program.Stderr)
	}
}

// replace writes the file as careful programs do.
func (g *gateway) replace(text string) {
	g.T.Helper()
	g.T.Logf("%s: another file", time.Now().Format("15:04:05.000"))
	if err := os.WriteFile(g.file+".new", []byte(g.text(text)), 0o600); err != nil {
		g.T.Fatal(err)
	}
	if err := os.Rename(g.file+".new", g.file); err != nil {
		g.T.Fatal(err)
	}
}

// ask returns the program's status, or nil.
func (g *gateway) ask() *server.Status {
	response, err := http.Get("http://" + g.status + "/status")
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var s server.Status
	if json.NewDecoder(response.Body).Decode(&s) != nil {
		return nil
	}
	return &s
}

// await waits for a status, and returns how long that took.
func (g *gateway) await(what string, ok func(*server.Status) bool) time.Duration {
	g.T.Helper()
	return g.until(what, func() bool {
		s := g.ask()
		return s != nil && ok(s)
	})
}

// until waits for something, and returns how long that took.
func (g *gateway) until(what string, ok func() bool) time.Duration {
	g.T.Helper()
	began := time.Now()
	for end := began.Add(lab.Patience / 4); ; time.Sleep(2 * time.Millisecond) {
		if ok() {
			return time.Since(began)
		}
		if time.Now().After(end) {
			g.T.Fatalf("not so far: %s\n%s", what, &g.Program.Stderr)
		}
	}
}

// load are clients that ask without an end.
type load struct {
	asked, failed atomic.Int64
	first         atomic.Pointer[string] // the first failure, and when it was
	stop          func()
}

// begin lets clients ask by a request until [load.end]. Each of their answers must have status 200.
func begin(g *gateway, path, body string) *load {
	l := &load{}
	ended := make(chan struct{})
	var running sync.WaitGroup
	for range 4 {
		client := lab.HTTP1(g.T)
		running.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				a := lab.Do(client, "POST", g.URL+path, nil, strings.NewReader(body))
				l.asked.Add(1)
				if a.Err != nil || a.Status != 200 {
					l.failed.Add(1)
					text := a.Body
					if a.Err != nil {
						text = a.Err.Error()
					}
					text = time.Now().Format("15:04:05.000 ") + text
					l.first.CompareAndSwap(nil, &text)
				}
			}
		})
	}
	l.stop = sync.OnceFunc(func() {
		close(ended)
		running.Wait()
	})
	g.T.Cleanup(l.stop)
	return l
}

// end ends the load. No request may have failed.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	if n := l.failed.Load(); n > 0 || l.asked.Load() == 0 {
		t.Errorf("%d of %d requests have failed, the first with %v", n, l.asked.Load(), *l.first.Load())
	}
	t.Logf("%d requests beside it", l.asked.Load())
}
