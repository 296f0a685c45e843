package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/clients"
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
		out != file+": right; clients: 3, hashes: 3\n" {
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

// TestSmallLimits: a limit that a request without max_tokens can never meet is a warning.
func TestSmallLimits(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const models = "clients: {keys_file: keys.yaml}\nmodels:\n- {name: m, servers: ['vllm=http://h:1'], " +
		"context_length: 9000}\n- {name: n, servers: ['vllm=http://h:2'], context_length: 8000}\n"
	service := write("service.yaml", models+"limits: {url: 'http://l:1'}\n")
	small := write("small.yaml", models+"limits: {url: 'http://l:1', expected_answer: 500}\n")
	local := write("local.yaml", models+"limits: {mode: local}\n")
	of := func(limits, model string) string {
		text := "clients:\n- name: a\n  hashes: [\"" + clients.HashOf("k").String() + "\"]\n  limits: {" + limits + "}\n"
		if model != "" {
			text += "  models: [{name: n, " + model + "}]\n"
		}
		return text
	}
	for _, tt := range []struct {
		keys, config string
		want         []string // what begins each warning
	}{
		{of("tokens_per_minute: 4096, tokens_per_day: 4096", ""), "", nil},
		{of("tokens_per_minute: 4095, tokens_per_day: 100", ""), "", []string{
			"clients[0].limits.tokens_per_minute is 4095, and a request without max_tokens reserves up to 4096 tokens",
			"clients[0].limits.tokens_per_day is 100, "}},
		{of("tokens_per_minute: 1000", ""), service, []string{"clients[0].limits.tokens_per_minute is 1000, "}},
		{of("tokens_per_minute: 1000", ""), small, nil},
		{of("tokens_per_minute: 1000, context: 1000", ""), service, nil},
		{of("context: 1000", "tokens_per_minute: 1000"), service, nil},
		{of("context: 1000", "tokens_per_minute: 999"), service, []string{"clients[0].models[0].tokens_per_minute is 999, "}},
		{of("tokens_per_minute: 8999", "tokens_per_minute: 8000"), local, []string{
			"clients[0].limits.tokens_per_minute is 8999, and a request without max_tokens reserves up to 9000 tokens"}},
		{"defaults: {tokens_per_day: 7}\nclients: []\n", service, []string{"defaults.tokens_per_day is 7, "}},
		{of("requests_per_minute: 1", ""), service, nil},
	} {
		args := []string{"keys", "check", write("keys.yaml", tt.keys)}
		if tt.config != "" {
			args = append(args, "--config", tt.config)
		}
		code, _, problems := command(t, t.Context(), args...)
		lines := strings.Split(strings.TrimSuffix(problems, "\n"), "\n")
		if problems == "" {
			lines = nil
		}
		ok := code == 0 && len(lines) == len(tt.want)
		for i := range tt.want {
			ok = ok && strings.HasPrefix(lines[i], "warning: "+tt.want[i])
		}
		if !ok {
			t.Errorf("%s with %s: %d, %q, want %q", tt.keys, tt.config, code, problems, tt.want)
		}
	}
}
