package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

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
	wasm := writeFile(t, "f.wasm", string(stub.Filter("1")))
	silent := writeFile(t, "envoy", "#!/bin/sh\ncase \"$*\" in *--version*) "+
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
		u := up{config: c, adjust: func(c *config.Config) error { // as --store does
			c.ResponsesService.Store = "responses.db"
			return nil
		}}
		if err := u.listenForService(); err != nil {
			t.Fatal(err)
		}
		defer u.service.stop()
		at := c.ResponsesService.Listen
		read := config.Default() // as after a reload of the file
		if err := u.adjust(read); err != nil || read.ResponsesService.Listen != at {
			t.Errorf("after a reload: %s, %v; want %s", read.ResponsesService.Listen, err, at)
		}
		if seen[at] || at == config.DefaultServiceListen {
			t.Errorf("it listens on %s", at)
		}
		seen[at] = true
	}
}

// startPage serves the page of a run, as harmony up does. The run's folder is in TMPDIR.
func startPage(t *testing.T) (address string) {
	t.Helper()
	folder, err := newUpFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Remove)
	l, err := listenOn("127.0.0.1:0", "--admin")
	if err != nil {
		t.Fatal(err)
	}
	s := &upSight{listener: l}
	one := goodStatus()
	one.Host, one.Envoys = hostWazero, nil
	err = s.serve(folder, "", page.Source{About: func() page.About { return page.About{} },
		Status: func() any { return one }, Fallback: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.page.Close() })
	return l.Addr().String()
}

// TestStatusOfUp asks for the status of harmony up by its page, and without an address.
func TestStatusOfUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	none := context.Canceled // an error that nothing else returns here
	if _, err := upStatus(t.Context(), none); err == nil || !strings.Contains(err.Error(), none.Error()) ||
		!strings.Contains(err.Error(), "no harmony up of this user runs here") {
		t.Errorf("none runs: %v", err)
	}
	first := startPage(t)
	text, err := upStatus(t.Context(), none)
	var found server.Status
	if err != nil || json.Unmarshal(text, &found) != nil || found.Host != hostWazero {
		t.Fatalf("one runs: %s, %v", text, err)
	}
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"status", "--address", first}, &out, &failed); code != 0 ||
		!strings.HasPrefix(out.String(), "harmony up") || !strings.Contains(out.String(), "without Envoy") ||
		strings.Contains(out.String(), "none has connected yet") {
		t.Errorf("status %d, %s\n%s", code, &failed, &out)
	}
	second := startPage(t)
	if _, err := upStatus(t.Context(), none); err == nil || !strings.Contains(err.Error(), first) ||
		!strings.Contains(err.Error(), second) || !errors.As(err, &usageError{}) {
		t.Errorf("two run: %v", err)
	}
	// A page of another host name may not be read.
	if _, err := fetchStatus(t.Context(), strings.Replace(first, "127.0.0.1", "localhost", 1)); err != nil {
		t.Errorf("by the name localhost: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://"+first+statusPath, nil)
	r.Host, r.RequestURI = "evil.example", ""
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("by the name of another: %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
}

// TestRunsThatWereKilled checks that a start removes the folders of killed runs in TMPDIR.
func TestRunsThatWereKilled(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	folder, err := newUpFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Remove()
	// The lock of a process that has ended is a file without a lock.
	dead := temp + "/" + upFolders + "dead"
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead+"/lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removeDeadRuns()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(folder.Path); err != nil {
		t.Errorf("the folder of this run: %v", err)
	}
}
