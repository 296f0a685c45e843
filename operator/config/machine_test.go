package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissingHere shows what is noted of a file that is right, on a machine that lacks what it names.
func TestMissingHere(t *testing.T) {
	folder := t.TempDir()
	for name, file := range map[string]struct {
		text string
		mode fs.FileMode
	}{
		"private": {"token", 0o600}, "open": {"token", 0o644}, "empty": {" \n", 0o600}, "fixed.json": {"", 0o600},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	m := thisMachine
	m.find = func(program string) error {
		if program == "uvx" {
			return nil
		}
		return errors.New("not found")
	}
	m.writable = func(path string) bool { return filepath.Base(path) != "fixed.json" }
	m.variable = func(name string) string { return map[string]string{"SET": "token", "BLANK": " "}[name] }
	secret := func(value string) string {
		return "secrets: [{ name: k, " + value + " }]\npools: [{ name: p, servers: ['http://h:1'], authorization: k }]\n" +
			"models: [{ name: m, pool: p }]\n"
	}
	service := func(settings string) string {
		return "models: [{ name: m, servers: ['vllm=http://h:1'] }]\nresponses_service: { store: " + folder + "/r.db" +
			settings + " }\n"
	}
	for _, tt := range []struct{ file, want string }{
		{secret("env: SET"), ""},
		{secret("env: NONE"), "secrets[0].env: NONE is not set here, or is empty; set it in the environment of the control " +
			"plane"},
		{secret("env: BLANK"), "secrets[0].env: BLANK is not set here, or is empty; set it in the environment of the " +
			"control plane"},
		{secret("file: private"), ""},
		{secret("file: none"), "secrets[0].file: DIR/none cannot be read here: no such file or directory; put it where the " +
			"control plane runs"},
		{secret("file: empty"), "secrets[0].file: DIR/empty is empty; write the token into it"},
		{secret("file: open"), "secrets[0].file: other users may read DIR/open (mode 0644); run chmod 600 DIR/open"},
		{"secrets: [{ name: k, file: none }]\nmodels: [{ name: m, servers: ['vllm=http://h:1'] }]", ""}, // unused
		{"secrets: [{ name: c, certificate: none, key: open }]\nlisteners: [{ address: '127.0.0.1:0', tls: c }]\n" +
			"models: [{ name: m, servers: ['vllm=http://h:1'] }]", "secrets[0].certificate: DIR/none cannot be read here: no " +
			"such file or directory; put it where the control plane runs\nsecrets[0].key: other users may read DIR/open " +
			"(mode 0644); run chmod 600 DIR/open"},
		{service(""), ""},
		{service(", access_log: " + folder + "/logs/r.json"), "responses_service.access_log: there is no folder DIR/logs " +
			"here; make it where the responses service runs: mkdir -p DIR/logs"},
		{service(", access_log: " + folder + "/open/r.json"), "responses_service.access_log: DIR/open is not a folder; " +
			"write another path"},
		{service(", access_log: " + folder + "/fixed.json"), "responses_service.access_log: this user cannot write " +
			"DIR/fixed.json; let the user write it under whom the responses service runs"},
		{strings.Replace(service(""), folder, folder+"/gone", 1), "responses_service.store: there is no folder DIR/gone " +
			"here; make it where the responses service runs: mkdir -p DIR/gone"},
		{strings.Replace(service(""), folder+"/r.db", "postgres://h/d", 1), ""},
		{"access_log: " + folder + "/envoy/a.json\n" + service(""), "access_log: there is no folder DIR/envoy here; make " +
			"it where Envoys run: mkdir -p DIR/envoy"},
		{"ca_file: none\n" + service(""), "ca_file: DIR/none cannot be read here: no such file or directory; put it where " +
			"Envoys run"},
		{service(", tools: { servers: [{ label: a, command: [uvx] }, { label: b, command: [npx] }] }"), "responses_service." +
			"tools.servers[1].command[0]: npx is no program on this machine, or not in PATH; install it where the responses " +
			"service runs, or write its path"},
		{service(", tools: { servers: [{ label: a, url: 'http://t', headers_file: open }] }"), "responses_service.tools." +
			"servers[0].headers_file: other users may read DIR/open (mode 0644); run chmod 600 DIR/open"},
	} {
		c := parse(t, tt.file)
		if err := c.Validate(); err != nil {
			t.Fatalf("%s: %v", tt.file, err)
		}
		c.resolvePaths(folder)
		var got []string
		for _, e := range c.missingOn(&m) {
			got = append(got, e.Error())
		}
		if text := strings.Join(got, "\n"); text != strings.ReplaceAll(tt.want, "DIR", folder) {
			t.Errorf("%s\ngot  %s\nwant %s", tt.file, text, tt.want)
		}
	}
}
