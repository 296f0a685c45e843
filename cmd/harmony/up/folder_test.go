package up

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/page"
)

// awaited is a writer that calls found when the text that it looks for has been written.
type awaited struct {
	bytes.Buffer
	text  string
	found func()
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.Buffer.Write(p)
	if strings.Contains(a.String(), a.text) {
		a.found()
	}
	return n, err
}

// TestSilentEnvoy starts an Envoy that never serves: a line says what is waited for. The program is interrupted then.
func TestSilentEnvoy(t *testing.T) {
	wasm := clitest.WriteFile(t, "f.wasm", string(stub.Filter("1")))
	silent := clitest.WriteFile(t, "envoy", "#!/bin/sh\ncase \"$*\" in *--version*) "+
		"echo 'envoy  version: abc/1.40.0/Clean/RELEASE/BoringSSL';; *) exec sleep 60;; esac\n")
	ctx, interrupt := context.WithTimeout(t.Context(), 20*time.Second)
	defer interrupt()
	said := &awaited{text: "note: waiting for Envoy to start: " + silent + "\n", found: interrupt}
	code := run(ctx, []string{"up", "--model", "m", "--backend", "vllm=http://127.0.0.1:9", "--listen", "127.0.0.1:0",
		"--wasm", wasm, "--envoy", silent}, io.Discard, said)
	if code != 0 || !strings.Contains(said.String(), said.text) {
		t.Errorf("exit status %d: %s", code, said)
	}
}

// TestServicePort runs the services of several runs at once: each listens on a port of its own.
func TestServicePort(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		c := config.Default()
		c.ResponsesService.Store = "responses.db"
		u := up{config: c, stderr: io.Discard, adjust: func(c *config.Config) error { // as --store does
			c.ResponsesService.Store = "responses.db"
			return nil
		}}
		if err := u.newService(); err != nil {
			t.Fatal(err)
		}
		at := c.ResponsesService.Listen
		read := config.Default() // as after a reload of the file
		if err := u.adjust(read); err != nil || read.ResponsesService.Listen != at {
			t.Errorf("after a reload: %s, %v; want %s", read.ResponsesService.Listen, err, at)
		}
		if seen[at] || at == config.DefaultServiceListen {
			t.Errorf("it listens on %s", at)
		}
		seen[at] = true
		// The same in a file is taken at once, too, before anything else of the program can take it.
		u.service.Close()
		c.ResponsesService.Listen = at
		if err := u.newService(); err != nil {
			t.Fatal(err)
		}
		if l, err := net.Listen("tcp", at); err == nil {
			l.Close()
			t.Errorf("%s is not taken", at)
		}
		u.service.Close()
	}
}

// TestPage serves the page of a run, with its status, under names of this machine only.
func TestPage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder, err := cli.NewRunFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Remove()
	l, err := cli.Listen("127.0.0.1:0", "--admin")
	if err != nil {
		t.Fatal(err)
	}
	s := &upSight{listener: l}
	err = s.serve(folder, "", page.Source{About: func() page.About { return page.About{} },
		Status: func() any { return &server.Status{Host: cli.HostWazero} }, Fallback: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.page.Close()
	address := l.Addr().String()
	if runs := cli.Runs(); !slices.Equal(runs, []cli.Run{{Page: address}}) {
		t.Errorf("runs: %q", runs)
	}
	for host, want := range map[string]int{address: http.StatusOK,
		strings.Replace(address, "127.0.0.1", "localhost", 1): http.StatusOK, "evil.example": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+cli.StatusPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host // a page of another host name may not be read
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var found server.Status
		err = json.NewDecoder(answer.Body).Decode(&found)
		answer.Body.Close()
		if answer.StatusCode != want || want == http.StatusOK && (err != nil || found.Host != cli.HostWazero) {
			t.Errorf("by the name %s: %s, %+v, %v", host, answer.Status, found, err)
		}
	}
}
