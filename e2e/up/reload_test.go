//go:build e2e

package up

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestUpReload shows that a changed file is in force without a restart, that flags still override it, and that a file
// with a mistake changes nothing and is logged.
func TestUpReload(t *testing.T) {
	server, url := lab.RunSim(t, sim.Options{})
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(effort string) {
		text := fmt.Sprintf("models:\n- name: %s\n  servers: [vllm=http://127.0.0.1:9]\n  system: { effort: %s, date: "+
			"omit }\n", lab.Model, effort)
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("low")
	up, gateway := lab.StartUp(t, "--config", file, "--backend", "vllm="+url, "--date", lab.Date)
	prompt := func() string {
		if a := lab.AskChat(lab.HTTP1(t), gateway); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
		sent := lab.Completions(server)
		return lab.Vocabulary.DecodeString(sent[len(sent)-1].PromptIDs)
	}
	says := func(effort string) bool {
		return strings.Contains(prompt(), "Reasoning: "+effort) && strings.Contains(prompt(), "Current date: "+lab.Date)
	}
	if !says("low") {
		t.Errorf("the prompt is %s", prompt())
	}
	write("high")
	for end := time.Now().Add(lab.Patience); !says("high"); {
		if time.Now().After(end) {
			t.Fatalf("the prompt is still %s", prompt())
		}
		time.Sleep(lab.Pause)
	}
	write("enormous")
	for end := time.Now().Add(lab.Patience); !strings.Contains(
		up.Stderr.String(), "config.yaml:4: models[0].system.effort: "); {
		if up.Ended(10*time.Millisecond) || time.Now().After(end) {
			t.Fatalf("the mistake is not told: %s", up.Stderr.String())
		}
	}
	if !says("high") {
		t.Errorf("the prompt is %s", prompt())
	}
	up.Stop(t, syscall.SIGTERM)
}

// TestUpNextStart changes settings that only a start reads. Each is refused with what to do, and the gateway goes on
// where it was.
func TestUpNextStart(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	listen, file := lab.FreeAddress(t), filepath.Join(t.TempDir(), "config.yaml")
	write := func(top string) {
		text := fmt.Sprintf("%s\nmodels: [{ name: %s, servers: ['vllm=%s'] }]\n", top, lab.Model, url)
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("listen: " + listen)
	up := lab.RunHarmony(t, nil, "up", "--config", file, "--wasm", lab.Tool(t, "HARMONY_WASM"), "--drain-time", "100ms")
	up.Announced(t, "listening on (.*)\n")
	for _, tt := range []struct{ top, want string }{
		{"listen: " + lab.FreeAddress(t), "listen: takes effect at the next start: harmony up reads it only when it starts"},
		{"listen: " + listen + "\nadmin: " + lab.FreeAddress(t), "admin: takes effect at the next start: the page reads it"},
		{"listen: " + listen + "\nenvoy: { concurrency: 2 }", "envoy.concurrency: takes effect at the next start: Envoy reads"},
	} {
		write(tt.top)
		for end := time.Now().Add(lab.Patience); !strings.Contains(up.Stderr.String(), tt.want); {
			if up.Ended(10*time.Millisecond) || time.Now().After(end) {
				t.Fatalf("it does not say %s: %s", tt.want, up.Stderr.String())
			}
		}
	}
	if a := lab.AskChat(lab.HTTP1(t), "http://"+listen); a.Status != 200 {
		t.Errorf("got %+v", a)
	}
	up.Stop(t, syscall.SIGTERM)
}
