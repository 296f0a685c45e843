package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/sim"
)

func pickerConfig(servers string) string {
	return "models: [{name: m, pool: p}]\npools: [{name: p, policy: picker, picker: {url: 'http://127.0.0.1:9002'}, servers: [" +
		servers + "]}]\n"
}

// TestPickerUsage has command lines and configurations that are wrong.
func TestPickerUsage(t *testing.T) {
	good := clitest.WriteFile(t, "good.yaml", pickerConfig("'http://127.0.0.1:1'"))
	none := clitest.WriteFile(t, "none.yaml", "models: [{name: m, servers: ['vllm=http://127.0.0.1:1']}]\n")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"no configuration is given", nil},
		{"none.yaml: pools: no pool has policy: picker with a url", []string{"--config", none}},
		{"absent.yaml", []string{"--config", filepath.Join(t.TempDir(), "absent.yaml")}},
		{"--max-load 99 is out of range", []string{"--config", good, "--max-load", "99"}},
		{"--blocks-per-server 0 is out of range", []string{"--config", good, "--blocks-per-server", "0"}},
		{"--max-blocks -1 is out of range", []string{"--config", good, "--max-blocks", "-1"}},
		{"--listen", []string{"--config", good, "--listen", "nowhere"}},
		{"--certificate needs --key", []string{"--config", good, "--client-ca", "x"}},
	} {
		var out, failed bytes.Buffer
		args := append([]string{"picker", "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0"}, tt.args...)
		if code := run(t.Context(), args, &out, &failed); code != cli.ExitUsage ||
			!strings.Contains(failed.String(), tt.want) {
			t.Errorf("%q: status %d, %s, want %s", tt.args, code, &failed, tt.want)
		}
	}
}

// TestPicker runs the program: it finds the servers, asks them for their load, follows the configuration, keeps the last
// good one, and ends.
func TestPicker(t *testing.T) {
	var urls []string
	for range 2 {
		s := sim.New(sim.Options{Models: []string{"m"}})
		url, err := s.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		urls = append(urls, url)
	}
	file := clitest.WriteFile(t, "config.yaml", pickerConfig("'"+urls[0]+"'"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var failed bytes.Buffer
	go func() {
		ended <- run(ctx, []string{"picker", "--config", file, "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0"},
			write, &failed)
		write.Close()
	}()
	head := make([]byte, 4096)
	n, err := read.Read(head)
	if err != nil {
		t.Fatalf("%v: %s", err, &failed)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	base := regexp.MustCompile(`status: (http://[^/]*)/status`).FindStringSubmatch(string(head[:n]))
	if base == nil {
		t.Fatalf("printed is %s", head[:n])
	}
	get := func(path string) string {
		a, err := http.Get(base[1] + path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		body, _ := io.ReadAll(a.Body)
		return fmt.Sprint(a.StatusCode, " ", string(body))
	}
	until := func(path, want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !strings.Contains(get(path), want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s has no %s: %s", path, want, get(path))
			}
		}
	}
	until("/ready", "200 ready")
	until("/metrics", `harmony_picker_servers{pool="p"} 1`)
	until("/status", `"requests": 0`)
	if err := os.WriteFile(file, []byte(pickerConfig("'"+urls[0]+"', '"+urls[1]+"'")), 0o600); err != nil {
		t.Fatal(err)
	}
	until("/metrics", `harmony_picker_servers{pool="p"} 2`)
	if err := os.WriteFile(file, []byte("models: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until("/metrics", `harmony_picker_servers{pool="p"} 2`)
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("status %d: %s", code, &failed)
	}
}
