//go:build e2e

package prefill

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestReadersChange: the readers of SGLang, which the filter chooses itself, come and go by the control plane, and no
// stream is cut for it.
func TestReadersChange(t *testing.T) {
	p := runPools(t, contract.SGLang, 2, 1, sim.Options{HoldAfter: 2}, sim.Options{})
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("readers.yaml", "[]")
	write("config.yaml", fmt.Sprintf(`
models: [{name: %s, pool: writers}]
pools:
- {name: readers, kind: sglang, servers_file: readers.yaml}
- {name: writers, kind: sglang, servers: ['%s'], prefill: {pool: readers, bootstrap_port: %d}}
`, lab.Model, p.writerURLs[0], p.bootstrapPort))
	up, url := lab.StartUp(t, "--config", filepath.Join(folder, "config.yaml"))
	ask := func() lab.Answer {
		return lab.Ask(lab.HTTP1(t), url+lab.ChatPath, `{"max_tokens":1,`+lab.ChatBody(lab.Model, "Hi")[1:])
	}
	lab.WantRefused(t, ask(), http.StatusServiceUnavailable, contract.CodeServerUnavailable)
	// readBy waits until a reader has a request.
	readBy := func(i int) {
		t.Helper()
		before := len(completions(p.readers[i : i+1]))
		for end := time.Now().Add(lab.Patience); len(completions(p.readers[i:i+1])) == before; {
			if a := ask(); time.Now().After(end) {
				t.Fatalf("reader %d gets no request: %+v", i, a)
			}
			time.Sleep(lab.Pause)
		}
	}
	write("readers.yaml", "- "+p.readerURLs[0])
	readBy(0)
	stream := make(chan lab.Answer, 1)
	go func() {
		stream <- lab.Ask(lab.HTTP1(t), url+lab.ChatPath, `{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:])
	}()
	await(t, p.writers[0], func(all []sim.Request) bool { n := len(all); return n > 0 && all[n-1].TokensSent == 2 })
	write("readers.yaml", "- "+p.readerURLs[1])
	readBy(1)
	before := len(completions(p.readers[:1]))
	for range 10 {
		if a := ask(); a.Status != http.StatusOK {
			t.Errorf("got %+v", a)
		}
	}
	if n := len(completions(p.readers[:1])); n != before {
		t.Errorf("the reader that was removed gets %d requests", n-before)
	}
	p.writers[0].Release()
	if a := <-stream; a.Err != nil || !strings.Contains(a.Body, "six") || !strings.Contains(a.Body, "[DONE]") {
		t.Errorf("the stream is %+v", a)
	}
	up.Stop(t, syscall.SIGTERM)
}
