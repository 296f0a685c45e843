//go:build e2e

package controlplane

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// besidePlane is a control plane with the responses service, and an Envoy of it.
type besidePlane struct {
	*lab.Program
	gateway *service.Gateway
}

func startBeside(t *testing.T, rate float64, streams, words int, args ...string) *besidePlane {
	t.Helper()
	_, server := lab.RunSim(t, sim.Options{TokensPerSecond: rate, Script: longScript(streams, words)})
	file := lab.WriteConfig(t, fmt.Sprintf("listen: %s\nresponses_service: { store: %q, listen: %q }\n"+
		"models: [{ name: %s, servers: [%q] }]\n", lab.FreeAddress(t), filepath.Join(t.TempDir(), "responses.db"),
		lab.FreeAddress(t), lab.Model, "vllm="+server))
	xds := lab.FreeAddress(t)
	p := lab.RunHarmony(t, nil, append([]string{"controlplane", "--config", file, "--listen", xds, "--status",
		"127.0.0.1:0", "--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM")}, args...)...)
	_, address := lab.StartEdge(t, lab.EdgeBootstrap(t, xds, "edge"))
	return &besidePlane{p, &service.Gateway{T: t, URL: "http://" + address, Client: lab.HTTP1(t)}}
}

// open begins so many streams whose responses are stored, and returns when the first words of each have come.
func (p *besidePlane) open(streams int) (all []*service.Reading) {
	for i := range streams {
		all = append(all, p.gateway.Open("POST", "responses", p.gateway.Body(`"stream":true,"input":"`+longPrompt(i)+`"`)))
	}
	for _, r := range all {
		r.Until("response.output_text.delta")
	}
	return all
}

// TestServiceDrains: after the signal, a control plane waits for the responses that its service makes.
func TestServiceDrains(t *testing.T) {
	const streams, words = 20, 40 // which is 83 tokens: 3 seconds
	p := startBeside(t, 25, streams, words)
	all := p.open(streams)
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cut := 0
	for i, r := range all {
		text := r.End()
		if !strings.Contains(text, "event: response.completed") || !strings.Contains(text, longAnswer(i, words)) {
			cut++
		}
	}
	if cut > 0 {
		t.Errorf("%d of %d streams were cut", cut, streams)
	}
	if !p.Ended(lab.StopLimit) || p.ExitCode(t) != 0 {
		t.Errorf("it has not ended well: %v\n%s", p.Err, &p.Stderr)
	}
}

// TestServiceIsCut: a second signal does not wait.
func TestServiceIsCut(t *testing.T) {
	p := startBeside(t, 20, 1, 600)
	p.open(1)
	began := time.Now()
	for range 2 {
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(p.Stderr.String(), "draining") && time.Since(began) < lab.StopLimit {
			if p.Ended(10 * time.Millisecond) {
				break
			}
		}
	}
	if !p.Ended(lab.StopLimit) || p.ExitCode(t) != 0 || time.Since(began) > 20*time.Second {
		t.Errorf("it has not ended soon: %v after %s\n%s", p.Err, time.Since(began), &p.Stderr)
	}
}
