package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/clients"
)

// TestKeys: what keys new prints is a whole entry of a file, of the key that it shows once.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	content := "clients:\n"
	var keys []string
	for _, args := range [][]string{{"a"}, {"yes"}, {"responses-service", "--deputy"}} {
		code, entry, shown := command(t, t.Context(), append([]string{"keys", "new"}, args...)...)
		key := regexp.MustCompile(`sk-harmony-[A-Za-z0-9_-]{43}`).FindString(shown)
		if code != 0 || key == "" || strings.Contains(entry, key) {
			t.Fatalf("%v: %d, %q, %q", args, code, entry, shown)
		}
		content, keys = content+entry, append(keys, key)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := clients.Load(file)
	if err != nil || len(f.Clients) != 3 || f.Client("a").Hashes[0] != clients.HashOf(keys[0]) ||
		!f.Client("responses-service").Deputy {
		t.Fatalf("%+v, %v", f, err)
	}
	if code, out, problems := command(t, t.Context(), "keys", "check", file); code != 0 || problems != "" ||
		out != file+": 3 clients, 3 hashes\n" {
		t.Errorf("%d %q %q", code, out, problems)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"keys", "new"}, "one NAME"},
		{[]string{"keys", "new", "a b"}, "is not a client's name"},
		{[]string{"keys", "new", "anonymous"}, "is not a client's name"},
		{[]string{"keys", "new", "responses-service"}, "add --deputy"},
		{[]string{"keys", "check", file + ".none"}, "cannot be read"},
	} {
		if code, out, problems := command(t, t.Context(), tt.args...); code != 2 || out != "" || !strings.Contains(problems, tt.want) {
			t.Errorf("%v: %d %q %q", tt.args, code, out, problems)
		}
	}
}
