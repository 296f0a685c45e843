//go:build e2e

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The secrets of the test. They stand nowhere else.
const (
	ofFile        = "goldregen-4711"
	ofEnvironment = "seidelbast-4712"
	ofRequest     = "herbstzeitlose-4713"
	ofHeader      = "tollkirsche-4714"
)

// TestSecrets calls servers with each kind of secret. The servers get theirs. It is not in the store, which is not
// encrypted here, nor in any log, nor in what the model or the client is sent.
func TestSecrets(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		folder := t.TempDir()
		headers, access := filepath.Join(folder, "headers"), filepath.Join(folder, "access.json")
		if err := os.WriteFile(headers, []byte("X-Api-Key: "+ofFile+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		configured, named := counter(t, "a"), counter(t, "b")
		g := start(t, host, configuration{
			servers: []string{at("configured", configured.Streamable(), "headers_file: "+headers),
				"label: stdio, environment: {SECRET: " + ofEnvironment + "}, command: " +
					quoted(t, everythingCommand(t, "stdio"))},
			settings:    []string{"allow: [" + origin(named) + "]"},
			environment: []string{"HARMONY_RESPONSES_TEST=1"}, // no key: the store is in clear
			section:     []string{"access_log: " + access},
			arguments:   []string{"--log-level", "debug"},
			script: []sim.Line{
				asked("Count.", calls("count", `{}`)), told("counts", says("Counted.")),
				asked("Echo a banana.", calls("echo", `{"message":"a banana"}`)),
				told("Echo: a banana", says("It says: a banana.")),
			}})
		byRequest := mcp("named", `"server_url":"`+named.Streamable()+`"`, `"authorization":"`+ofRequest+`"`,
			`"headers":{"X-Other":"`+ofHeader+`"}`)
		var seen strings.Builder
		for _, members := range []string{
			ask("Count.", mcp("configured")), ask("Echo a banana.", mcp("stdio")), ask("Count.", byRequest),
			`"background":true,` + ask("Count.", mcp("configured")),
		} {
			r, events := g.Stream(members)
			if len(r.Of("mcp_call")) != 1 || r.Status != "completed" {
				t.Errorf("%+v", r)
			}
			seen.WriteString(events + g.Do("GET", "responses/"+r.ID, "", 200).Body +
				g.Do("GET", "responses/"+r.ID+"/input_items", "", 200).Body)
		}
		// A failed call tells nothing either.
		broken := strings.Replace(byRequest, "/mcp", "/nothing", 1)
		seen.WriteString(g.Do("POST", "responses", g.Body(ask("Count.", broken)), 424).Body)
		if r := configured.Requests(); len(r) == 0 || r[len(r)-1].Header.Get("X-Api-Key") != ofFile {
			t.Errorf("the configured server got %+v", r)
		}
		if r := named.Requests(); len(r) == 0 || r[0].Header.Get("Authorization") != "Bearer "+ofRequest ||
			r[0].Header.Get("X-Other") != ofHeader {
			t.Errorf("the server of the request got %+v", r)
		}
		if host == "envoy" {
			g.Program.Stop(t, syscall.SIGTERM)
		} else {
			lab.StopWazero(t, g.Program)
		}
		places := map[string]string{"the client's answers": seen.String(), "standard output": g.Program.Stdout.String(),
			"standard error": g.Program.Stderr.String()}
		for _, r := range g.Sim.Requests() {
			places["the model's server"] += string(r.Body) + lab.Vocabulary.DecodeString(r.PromptIDs)
			for name, values := range r.Header {
				places["the model's server"] += name + strings.Join(values, "")
			}
		}
		stored, err := filepath.Glob(g.Database + "*")
		if err != nil || len(stored) == 0 {
			t.Fatalf("no store: %v", err)
		}
		for _, path := range append(stored, access) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			places[filepath.Base(path)] = string(text)
		}
		if !strings.Contains(places[filepath.Base(g.Database)], "Counted.") {
			t.Error("the store is not in clear, so that this test shows nothing of it")
		}
		for place, text := range places {
			for _, secret := range []string{ofFile, ofEnvironment, ofRequest, ofHeader} {
				if at := strings.Index(text, secret); at >= 0 {
					t.Errorf("%s has %s: %q", place, secret, text[max(0, at-200):min(len(text), at+100)])
				}
			}
		}
	})
}

// TestSecretsOfChain: a response in the background would have to keep a secret, and is refused. A chain does not
// remember one.
func TestSecretsOfChain(t *testing.T) {
	named := toolservers.Plain(t, tool("count", answering("b counts 1")))
	g := start(t, "wazero", configuration{settings: []string{"allow: [" + origin(named) + "]"}, script: counting("b", 1)})
	plain := mcp("named", `"server_url":"`+named.Streamable()+`"`)
	secret := mcp("named", `"server_url":"`+named.Streamable()+`"`, `"authorization":"`+ofRequest+`"`)
	g.Refused("POST", "responses", g.Body(`"background":true,`+ask("Count.", secret)), 400, "unsupported_parameter")
	r := g.Create(ask("Count.", secret))
	if r.Text() != "Counted." || strings.Contains(string(r.Tools), ofRequest) {
		t.Errorf("%+v", r)
	}
	before := len(named.Requests())
	g.Create(after(r) + ask("Count.", plain))
	for i, request := range named.Requests() {
		want := "Bearer " + ofRequest
		if i >= before {
			want = ""
		}
		if got := request.Header.Get("Authorization"); got != want {
			t.Errorf("request %d has the authorization %q", i, got)
		}
	}
}
