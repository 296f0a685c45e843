package pools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	w, _ := watcher(t, &zone{})
	must(t, w.Set([]Pool{
		{Name: "p", Servers: endpoints(t, "http://10.0.0.2:80", "http://10.0.0.1:81", "http://10.0.0.1:80", "http://10.0.0.2",
			"http://[::1]:80", "http://[::ffff:10.0.0.1]:80")},
		{Name: "none"},
	}))
	// Addresses are there without a lookup. Each is there once, and they are sorted.
	if got, want := addresses(w), "10.0.0.1:80 10.0.0.1:81 10.0.0.2:80 [::1]:80"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	all := w.Servers()
	if s := all["p"].Servers[0]; s.State != Unknown || s.Reason != "" || time.Since(s.Since) > time.Minute ||
		s.Endpoint.String() != "http://10.0.0.1:80" {
		t.Errorf("got %+v", s)
	}
	if len(all) != 2 || len(all["none"].Servers) != 0 || all["none"].Problem != "" {
		t.Errorf("got %+v", all)
	}
	select {
	case <-w.Changed():
	default:
		t.Error("nobody is told of the first servers")
	}
	must(t, w.Set(nil))
	if <-w.Changed(); len(w.Servers()) != 0 {
		t.Errorf("got %+v", w.Servers())
	}
}

func TestSetRefuses(t *testing.T) {
	w, _ := watcher(t, &zone{})
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://10.0.0.1:80")}}))
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("- gpu\n"), 0o600))
	for want, pool := range map[string]Pool{
		`two pools have the name "a"`:                               {Name: "a"},
		`pool "b": its authorization is not a valid header value`:   {Name: "b", Authorization: "Bearer secret\n"},
		file + `:1: "gpu" is not a URL; write http://host:port`:     {Name: "b", File: file},
		file + ".no: cannot be read: no such file or directory":     {Name: "b", File: file + ".no"},
		filepath.Dir(file) + ": cannot be read: not a regular file": {Name: "b", File: filepath.Dir(file)},
		file + ": has no PEM certificate":                           {Name: "b", CAFile: file},
		filepath.Dir(file) + "/ca: cannot be read: no such file or directory": {
			Name: "b", CAFile: filepath.Dir(file) + "/ca"},
	} {
		err := w.Set([]Pool{{Name: "a"}, pool})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got := addresses(w); got != "10.0.0.1:80" || len(w.Servers()) != 1 {
		t.Errorf("a refused set has changed the pools: %v", w.Servers())
	}
}

func TestNames(t *testing.T) {
	z := &zone{names: map[string][]string{
		"many":      {"10.0.0.3", "10.0.0.1", "10.0.0.2", "10.0.0.1"},
		"both":      {"fd00::1", "10.0.1.1"},
		"localhost": {"::1", "127.0.0.1"},
		"six":       {"fd00::2", "fd00::1"},
		"mapped":    {"::ffff:10.0.2.1"},
		"same":      {"10.0.0.1", "10.0.3.1"},
	}}
	w, _ := watcher(t, z)
	must(
		t,
		w.Set([]Pool{{Name: "p", Servers: endpoints(
			t, "https://many:8000", "http://both:1", "http://localhost:1", "http://six:1", "http://mapped:1", "http://same:8000",
			"http://10.0.9.9:1")}}))
	if got := addresses(w); got != "10.0.9.9:1" && w.Servers()["p"].Unresolved == nil {
		t.Errorf("addresses wait for names: %s", got)
	}
	must(t, w.Resolved(t.Context()))
	if got, want := addresses(w), "10.0.0.1:8000 10.0.0.2:8000 10.0.0.3:8000 10.0.1.1:1 10.0.2.1:1 10.0.3.1:8000 "+
		"10.0.9.9:1 127.0.0.1:1 [fd00::1]:1 [fd00::2]:1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := w.Servers()["p"]
	if e := p.Servers[0].Endpoint.String(); e != "https://many:8000" {
		t.Errorf("the first that has an address is not the one that counts: %s", e)
	}
	if p.Problem != "" || p.Unresolved != nil {
		t.Errorf("got %q, %v", p.Problem, p.Unresolved)
	}
	z.change(t, func() { z.names["many"] = []string{"10.0.0.9", "10.0.0.2"} })
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.2:8000 10.0.0.9:8000 10.0.1.1:1 10.0.2.1:1 10.0.3.1:8000 10.0.9.9:1 "+
		"127.0.0.1:1 [fd00::1]:1 [fd00::2]:1")
}

// TestNamesFailStatic checks that a name keeps its last addresses whatever error a lookup has, and that the error is
// logged once.
func TestNamesFailStatic(t *testing.T) {
	z := &zone{names: map[string][]string{"gpu": {"10.0.0.1", "10.0.0.2"}}}
	w, log := watcher(t, z)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://gpu:1")}}))
	const both = "10.0.0.1:1 10.0.0.2:1"
	awaitAddresses(t, w, both)
	for _, c := range []struct {
		problem string
		alter   func()
	}{
		{"gpu: no answer in time; known addresses that stay in use: 2", func() { z.err = context.DeadlineExceeded }},
		{"gpu: it cannot be looked up; known addresses that stay in use: 2",
			func() { z.err = errors.New("read udp 10.0.0.1:53124->10.0.0.53:53: weird") }},
		{"gpu: no such host; known addresses that stay in use: 2", func() { z.err = nil; delete(z.names, "gpu") }},
		{"gpu: it has no address; known addresses that stay in use: 2", func() { z.names["gpu"] = nil }},
	} {
		z.change(t, c.alter)
		if p := w.Servers()["p"]; p.Problem != c.problem || p.Unresolved != nil || addresses(w) != both {
			t.Errorf("got %q, %v, %s; want %q", p.Problem, p.Unresolved, addresses(w), c.problem)
		}
	}
	z.change(t, func() { z.names["gpu"] = []string{"10.0.0.2"} })
	if p := w.Servers()["p"]; p.Problem != "" || addresses(w) != "10.0.0.2:1" {
		t.Errorf("got %q, %s", p.Problem, addresses(w))
	}
	if bad, good := log.count("a name cannot be looked up"),
		log.count("a name can be looked up again"); bad != 1 || good != 1 {
		t.Errorf("told %d and %d times, want once each:\n%s", bad, good, log)
	}
}

func TestUnresolved(t *testing.T) {
	z := &zone{names: map[string][]string{"gpu": {"10.0.0.1"}}}
	w, _ := watcher(t, z)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://gpu:1", "http://nowhere:1")}}))
	must(t, w.Resolved(t.Context()))
	if p := w.Servers()["p"]; !slices.Equal(p.Unresolved, []string{"nowhere"}) || p.Problem != "nowhere: no such host" ||
		addresses(w) != "10.0.0.1:1" {
		t.Errorf("got %+v", p)
	}
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://gpu:1")}}))
	if p := w.Servers()["p"]; p.Unresolved != nil || p.Problem != "" {
		t.Errorf("got %+v", p)
	}
}

// TestResolvedEnds checks that Resolved does not wait for ever for a name service that does not answer.
func TestResolvedEnds(t *testing.T) {
	z := &zone{}
	w, _ := watcher(t, z)
	z.mu.Lock() // no lookup ends while it is locked
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://gpu:1")}}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Resolved(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	resolved := make(chan error)
	go func() { resolved <- w.Resolved(t.Context()) }()
	must(t, w.Set(nil))
	must(t, <-resolved) // the name is no longer needed
	z.mu.Unlock()
}

// TestFile checks that changes of a file reach the pool, however the file is replaced, and that an invalid file changes
// nothing and reports its line.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.yaml")
	replace(t, file, "- http://10.0.0.1:1\n- http://gpu:1 # a name\n")
	w, log := watcher(t, &zone{names: map[string][]string{"gpu": {"10.0.0.7"}}})
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://10.0.0.9:1"), File: file},
		{Name: "other", File: file}}))
	awaitAddresses(t, w, "10.0.0.1:1 10.0.0.7:1 10.0.0.9:1")
	start := time.Now()
	replace(t, file, "- http://10.0.0.2:1\n")
	awaitAddresses(t, w, "10.0.0.2:1 10.0.0.9:1")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a change takes %v", took)
	} else {
		t.Logf("a change takes %v", took)
	}
	if n := len(w.Servers()["other"].Servers); n != 1 {
		t.Errorf("the other pool has %d servers", n)
	}
	for _, c := range []struct {
		problem string
		alter   func()
	}{
		{file + ":2: \"gpu\" is not a URL; write http://host:port",
			func() { replace(t, file, "- http://10.0.0.3:1\n- gpu\n") }},
		{file + ": is empty; write [] for no servers", func() { must(t, os.Truncate(file, 0)) }},
		{file + ": cannot be read: larger than 1048576 bytes", func() { replace(t, file, strings.Repeat("#", maxFile+1)) }},
		{file + ": cannot be read: no such file or directory", func() { must(t, os.Remove(file)) }},
	} {
		c.alter()
		eventually(t, c.problem, func() bool { return w.Servers()["p"].Problem == c.problem })
		if got := addresses(w); got != "10.0.0.2:1 10.0.0.9:1" || log.count("file="+file+" error=") == 0 {
			t.Errorf("%s: got %s, and the log\n%s", c.problem, got, log)
		}
	}
	replace(t, file, "[]")
	awaitAddresses(t, w, "10.0.0.9:1")
	if p := w.Servers()["p"]; p.Problem != "" {
		t.Errorf("got %q", p.Problem)
	}
}

// TestFileInVolume replaces a file as a volume of Kubernetes does, by a symlink to another folder.
func TestFileInVolume(t *testing.T) {
	dir := t.TempDir()
	version := func(n int) {
		folder := fmt.Sprintf("..%d", n)
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, folder, "servers.yaml"), fmt.Appendf(nil, "- http://10.0.0.%d:1\n", n),
			0o600))
		must(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version(1)
	must(t, os.Symlink(filepath.Join("..data", "servers.yaml"), filepath.Join(dir, "servers.yaml")))
	w, _ := watcher(t, nil)
	must(t, w.Set([]Pool{{Name: "p", File: filepath.Join(dir, "servers.yaml")}}))
	for n := 2; n < 6; n++ {
		awaitAddresses(t, w, fmt.Sprintf("10.0.0.%d:1", n-1))
		version(n)
		must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..%d", n-1))))
	}
	awaitAddresses(t, w, "10.0.0.5:1")
}
