//go:build e2e && mesh

package mesh

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/harmonyedge/harmonyedge/cmd/harmony-release/release"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestEnvoyGatewayProgram applies what the program prints, in both forms, and checks the gateway with the program.
func TestEnvoyGatewayProgram(t *testing.T) {
	for name, fetched := range map[string]bool{"patch": false, "extension and patch": true} {
		t.Run(name, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{})
			c := lab.OneModel(url)
			h := lab.RunEnvoyGateway(t, c, hosts.EnvoyGateway{Fetched: fetched, Edit: func(objects string) string {
				return printedGateway(t, c.Listen, url, objects)
			}})
			chat(t, h.URL)
			table := program(t, 0, "mesh", "check", h.URL)
			if strings.Count(table, "ok  ") != 5 {
				t.Errorf("not all is ok:\n%s", table)
			}
		})
	}
}

// printedGateway returns what harmony mesh envoy-gateway prints for one model at a server. The module is the same as in
// other objects.
func printedGateway(t *testing.T, listen, server, objects string) string {
	t.Helper()
	module := []string{"--module", "file://" + lab.Tool(t, "HARMONY_WASM")}
	if _, after, ok := strings.Cut(objects, "url: "); ok {
		url, rest, _ := strings.Cut(after, "\n")
		hash, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "sha256: "), "\n")
		module = []string{"--module", url, "--module-sha256", strings.Trim(hash, `"`)}
	}
	text := "listen: " + listen + "\nmodels:\n  - name: " + lab.Model + "\n    servers: [vllm=" + server + "]\n"
	file := lab.WriteConfig(t, text)
	return program(t, 0, append([]string{"mesh", "envoy-gateway", "--config", file}, module...)...)
}

// TestEnvoyGatewayLosesAPatch: a patch that does not fit is left out without an error of the others. Where it is the
// one that lets headers be held, requests get an error within seconds, and the program's check says what is missing.
func TestEnvoyGatewayLosesAPatch(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	h := lab.RunEnvoyGateway(t, lab.OneModel(url), hosts.EnvoyGateway{Fetched: true, Edit: func(objects string) string {
		return strings.Replace(objects, "path: allow_on_headers_stop_iteration", "path: field_of_the_future", 1)
	}})
	a := lab.Do(lab.HTTP1(t), "POST", h.URL+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	lab.WantRefused(t, a, http.StatusInternalServerError, "gateway_misconfigured")
	if table := program(t, 1, "mesh", "check", h.URL); !strings.Contains(table, "may have dropped it") {
		t.Errorf("the check does not say what is missing:\n%s", table)
	}
	if n := len(lab.Completions(gpu)); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// TestEnvoyGatewayImage lets Envoy Gateway fetch the filter as the image of a release, from a registry.
func TestEnvoyGatewayImage(t *testing.T) {
	module, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	parts := release.Parts{Filter: module, Build: version.Build{Version: "0.0.0-test"}, Time: time.Unix(1, 0)}
	image, err := parts.FilterImage()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/harmony/filter:" + parts.Build.Version)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, gpu := lab.RunSim(t, sim.Options{})
	h := lab.RunEnvoyGateway(t, lab.OneModel(gpu), hosts.EnvoyGateway{
		Fetched: true, Module: mesh.Module{URL: "oci://" + ref.Name(), SHA256: digest.Hex}})
	chat(t, h.URL)
}

// TestEgctl translates what the program prints by Envoy Gateway's own tool. A patch that does not fit is no error there
// either, so the test looks for the filter in the listener.
func TestEgctl(t *testing.T) {
	folder := t.TempDir()
	config, objects := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "objects.yaml")
	text := "listen: 0.0.0.0:8080\nmodels:\n  - name: " + lab.Model + "\n    servers: [vllm=http://10.0.0.7:8000]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf(hosts.GatewayClass, "1.40.0") + "---\n" +
		program(t, 0, "mesh", "envoy-gateway", "--config", config, "--module", "file:///etc/harmony/filter.wasm")
	translate := func(text string) string {
		if err := os.WriteFile(objects, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_EGCTL"), "x", "translate", "--from", "gateway-api",
			"--to", "xds", "-o", "json", "-f", objects).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	xds := translate(printed)
	for _, want := range []string{`"allowOnHeadersStopIteration":true`, "/etc/harmony/filter.wasm", "FAIL_RELOAD", "10.0.0.7",
		"x-harmony-internal-pool"} {
		if !strings.Contains(xds, want) {
			t.Errorf("%s is not in what Envoy gets:\n%.2000s", want, xds)
		}
	}
	wrong := translate(strings.Replace(printed, "allow_on_headers_stop_iteration: true", "field_of_the_future: true", 1))
	if strings.Contains(wrong, "/etc/harmony/filter.wasm") {
		t.Error("a patch with an unknown field is in what Envoy gets")
	}
}
