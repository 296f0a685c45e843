//go:build e2e

package up

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestWazeroDemo runs the demonstration without Envoy.
func TestWazeroDemo(t *testing.T) {
	lab.Tool(t, "HARMONY_BIN")
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	demo := exec.CommandContext(ctx, lab.File("examples/demo/run.sh"))
	demo.Cancel = func() error { return demo.Process.Signal(syscall.SIGTERM) } // it has children to stop
	demo.WaitDelay = lab.StopLimit
	demo.Env = append(os.Environ(), "DEMO_TOKENS_PER_SECOND=2000", "HOST=wazero", "ENVOY=/nowhere")
	said, err := demo.CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("answer     The tool functions.get_weather answered")) {
		t.Fatalf("%v\n%s", err, said)
	}
}

// readyLimit is how long harmony up --host wazero may take from its second start on.
const readyLimit = time.Second

// TestWazeroStart: the first start compiles the filter, later ones find it compiled. The machine may be busy, so the
// best of three starts counts.
func TestWazeroStart(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	start := func() (took time.Duration, id string) {
		_, server := lab.RunSim(t, sim.Options{})
		began := time.Now()
		up, url := lab.StartUp(t, "--host", "wazero", "--wazero-cache", cache, "--model", lab.Model, "--backend",
			"vllm="+server)
		took = time.Since(began)
		answer := lab.AskChat(lab.HTTP1(t), url)
		lab.StopWazero(t, up)
		id, _, _ = strings.Cut(answer.Body, ",")
		return took, id
	}
	first, firstID := start()
	best := time.Hour
	for range 3 {
		took, id := start()
		best = min(best, took)
		if id == firstID {
			t.Errorf("two processes gave an answer the same id: %s", id)
		}
	}
	t.Logf("first start %s, later ones %s at best", first.Round(time.Millisecond), best.Round(time.Millisecond))
	if best > readyLimit {
		t.Errorf("ready after %s at best, want %s", best, readyLimit)
	}
}

// TestWazeroStreams holds many streams at once: all have begun before the first may end, and every one ends well.
func TestWazeroStreams(t *testing.T) {
	const streams = 500
	long := strings.Repeat(" word", 400)
	server, serverURL := lab.RunSim(t, sim.Options{
		HoldAfter: 20, Keep: 1, Script: sim.NewScript(
			sim.Line{Match: "Hi", Tokens: lab.Tokens("<|channel|>final<|message|>" + long + "<|return|>")}),
	})
	c := lab.OneModel(serverURL)
	c.Envoy.Concurrency = 2
	host := lab.RunWazero(t, c)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}, Timeout: 5 * time.Minute}
	defer client.CloseIdleConnections()
	var begun, all sync.WaitGroup
	begun.Add(streams)
	go func() {
		begun.Wait()
		server.Release()
	}()
	for i := range streams {
		all.Go(func() {
			once := sync.OnceFunc(begun.Done)
			defer once()
			response, err := client.Post(host.URL+lab.ChatPath, "application/json",
				strings.NewReader(`{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:]))
			if err != nil {
				t.Errorf("stream %d: %v", i, err)
				return
			}
			defer response.Body.Close()
			text, last := 0, ""
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if strings.Contains(lines.Text(), `"content":" word"`) {
					text++
					once()
				}
				if lines.Text() != "" {
					last = lines.Text()
				}
			}
			if text != 400 || last != "data: [DONE]" {
				t.Errorf("stream %d: status %d, %d tokens, and the end is %q", i, response.StatusCode, text, last)
			}
		})
	}
	all.Wait()
}

// TestHeadersNotHeld runs the filter in a host that ignores its pauses. The filter must log that once, count it, and
// forward no request.
func TestHeadersNotHeld(t *testing.T) {
	server, serverURL := lab.RunSim(t, sim.Options{})
	// Headers that are not held go where the client's path leads.
	_, otherURL := lab.RunSim(t, sim.Options{Models: []string{"other"}})
	c := lab.OneModel(serverURL)
	c.Passthrough = otherURL
	r, err := hosts.Resources(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	h, err := hosts.WazeroWith(r, inprocess.Options{
		Workers: 1, IgnoresHeldHeaders: true, Log: func(level wasmhost.Level, text string) {
			mu.Lock()
			defer mu.Unlock()
			if level >= wasmhost.Warn {
				said = append(said, text)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	for range 3 {
		lab.WantRefused(t, lab.AskChat(lab.HTTP1(t), h.URL), http.StatusInternalServerError, "gateway_misconfigured")
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.Contains(said[0], "docs/modes.md") {
		t.Errorf("it says %q, want one line that names docs/modes.md", said)
	}
	if n := h.Server.Proxy().Metrics()["harmony_edits_refused_total"]; n != 3 {
		t.Errorf("%d refusals counted, want 3", n)
	}
}
