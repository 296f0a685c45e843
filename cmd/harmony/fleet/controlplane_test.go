package fleet

import (
	"bytes"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
)

func TestValidate(t *testing.T) {
	right := clitest.WriteFile(t, "right.yaml", "models:\n  - name: a\n    servers: [vllm=http://h:1, vllm=http://h:2]\n")
	for _, tt := range []struct{ name, text, want string }{
		{"unknown.yaml", "models:\n  - name: a\n    server: [vllm=http://h:1]\n",
			"unknown.yaml:3:5: models[0].server: server is not a setting; did you mean servers?"},
		{"word.yaml", "mode: half\nmodels:\n  - name: a\n    servers: [vllm=http://h:1]\n", "word.yaml:1:7: mode: "},
		{"none.yaml", "mode: full\n", "none.yaml: models: no model"},
		{"size.yaml", "body_limit: 3 cats\n", "size.yaml:1:13: body_limit: "},
		{"server.yaml", "models:\n  - name: a\n    servers:\n      - vllm=http://h:1\n      - http://h:2\n",
			"server.yaml:5:9: models[0].servers[1]: "},
	} {
		var out, failed bytes.Buffer
		wrong := clitest.WriteFile(t, tt.name, tt.text)
		code := run(t.Context(), []string{"controlplane", "validate", right, wrong}, &out, &failed)
		if code != cli.ExitUsage {
			t.Errorf("%s: status %d", tt.name, code)
		}
		if !strings.Contains(failed.String(), tt.want) || strings.Contains(failed.String(), "right.yaml") {
			t.Errorf("%s: %s", tt.name, &failed)
		}
		if out.String() != right+": right; models: 1, pools: 1, servers: 2\n" {
			t.Errorf("%s: %s", tt.name, &out)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "validate"}, &out, &out); code != cli.ExitUsage {
		t.Errorf("without a file: status %d, %s", code, &out)
	}
	if code := run(t.Context(), []string{"controlplane", "validate", "../../../examples/config.yaml"}, &out,
		&out); code != 0 {
		t.Errorf("the example: status %d, %s", code, &out)
	}
}

// TestValidateOnlyUp checks that settings for harmony up alone are reported, and are not errors.
func TestValidateOnlyUp(t *testing.T) {
	models := "models:\n  - name: a\n    servers: [vllm=http://h:1]\n"
	for text, want := range map[string][]string{
		models:                             nil,
		"admin: 127.0.0.1:9901\n" + models: {":1:8: admin: "},
		"admin: 127.0.0.1:9901\n" + models + "envoy: {concurrency: 2}\n": {":1:8: admin: ", ":5:8: envoy: "},
	} {
		file := clitest.WriteFile(t, "c.yaml", text)
		var out, failed bytes.Buffer
		if code := run(t.Context(), []string{"controlplane", "validate", file}, &out, &failed); code != 0 ||
			!strings.HasSuffix(out.String(), "right; models: 1, pools: 1, servers: 1\n") {
			t.Errorf("%q: status %d, %s", text, code, &out)
		}
		var errOutput strings.Builder
		for _, where := range want {
			errOutput.WriteString("note: " + file + where + "is for harmony up only; harmony controlplane does not use it\n")
		}
		if failed.String() != errOutput.String() {
			t.Errorf("%q: it says\n%swant\n%s", text, &failed, &errOutput)
		}
	}
}

func TestPrintSchema(t *testing.T) {
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "schema"}, &out, &failed); code != 0 || !json.Valid(out.Bytes()) {
		t.Errorf("status %d, %s%s", code, &failed, &out)
	}
}

// TestValidateServersFile checks that servers files are validated too.
func TestValidateServersFile(t *testing.T) {
	servers := clitest.WriteFile(t, "servers.yaml", "- http://h:1\n- http://h:2\n")
	file := clitest.WriteFile(t, "c.yaml", "models: [{name: m, pool: p}]\npools: [{name: p, servers: ['http://g:1'], "+
		"servers_file: "+servers+"}]\n")
	validate := func() (int, string) {
		var out, failed bytes.Buffer
		code := run(t.Context(), []string{"controlplane", "validate", file}, &out, &failed)
		return code, out.String() + failed.String()
	}
	if code, errOutput := validate(); code != 0 ||
		!strings.HasSuffix(errOutput, "right; models: 1, pools: 1, servers: 3\n") {
		t.Errorf("status %d, %s", code, errOutput)
	}
	for text, want := range map[string]string{
		"- http://h:1\n- h:2\n":         "servers.yaml:2: \"h:2\" is not a URL",
		"- https://h\n":                 "the pool p mixes http and https: https://h:443",
		"- http://h:1\n- http://h:1/\n": "servers.yaml:2: ",
	} {
		if err := os.WriteFile(servers, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, errOutput := validate(); code != cli.ExitUsage || !strings.Contains(errOutput, want) {
			t.Errorf("%q: status %d, %s", text, code, errOutput)
		}
	}
}

// TestValidateService accepts a pool whose servers only an API server knows.
func TestValidateService(t *testing.T) {
	file := clitest.WriteFile(t, "c.yaml", "models: [{name: m, pool: p}]\npools: [{name: p, service: {name: vllm}}]\n")
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "validate", file}, &out, &failed); code != 0 {
		t.Errorf("status %d, %s", code, &failed)
	}
}

// TestControlPlaneRefusals checks that each error at the start says what to write instead.
func TestControlPlaneRefusals(t *testing.T) {
	wrong := clitest.WriteFile(t, "wrong.yaml", "mode: half\nmodels:\n  - name: a\n    servers: [vllm=http://h:1]\n")
	module := clitest.WriteFile(t, "filter.wasm", string(stub.Filter("1")))
	anywhere := []string{"--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--state", "none", "--wasm", module}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.ExitUsage, "no configuration is given; write --config FILE"},
		{append([]string{"--config", wrong}, anywhere...), cli.ExitUsage, "wrong.yaml:1: mode: "},
		{append([]string{"--config", "nowhere.yaml"}, anywhere...), cli.ExitUsage, "nowhere.yaml: cannot be read"},
		{append([]string{"--config", wrong, "--log-format", "xml"}, anywhere...), cli.ExitUsage,
			"--log-format xml is not known"},
		{append([]string{"--config", wrong, "--gateway", "gateway:8080"}, anywhere...), cli.ExitUsage,
			"--gateway: the gateway's URL"},
		{append([]string{"--config", wrong, "--max-envoys", "0"}, anywhere...), cli.ExitUsage,
			"--max-envoys 0 is out of range"},
		{append([]string{"--config", wrong}, append(anywhere, "--wasm", wrong)...), cli.ExitUsage,
			"wrong.yaml is not a WebAssembly module"},
		{append([]string{"--config", wrong, "--wasm-on-envoys", "/f.wasm"}, anywhere...), cli.ExitUsage, "write one of them"},
		{append([]string{"--config", wrong}, append(anywhere, "--wasm", "http://h/f.wasm")...), cli.ExitUsage,
			"write https://"},
		{append([]string{"--config", wrong}, append(anywhere, "--wasm", "https://h/f.wasm")...), cli.ExitUsage,
			"needs --wasm-sha256"},
		{append([]string{"--config", wrong, "--wasm-sha256", "ab"}, anywhere...), cli.ExitUsage, "is for a filter at a URL"},
		{append([]string{"--config", wrong, "--certificate", module}, anywhere...), cli.ExitUsage,
			"--certificate needs --key"},
		{append([]string{"--config", wrong, "--certificate", module, "--key", module}, anywhere...), cli.ExitUsage,
			"--certificate: "},
		{[]string{"--config", wrong, "--state", "none", "--wasm", module, "--listen", "here"}, cli.ExitUsage,
			"--listen: \"here\" is not host:port"},
		{[]string{"bootstrap", "--control-plane", "here"}, cli.ExitUsage,
			"the control plane's address \"here\" is not host:port"},
		{[]string{"bootstrap", "--key", "k"}, cli.ExitUsage, "name the CA file too"},
	} {
		var out, failed bytes.Buffer
		if code := run(t.Context(), append([]string{"controlplane"}, tt.args...), &out, &failed); code != tt.code ||
			!strings.Contains(failed.String(), tt.want) {
			t.Errorf("%q: status %d, %s", tt.args, code, &failed)
		}
	}
}

// TestSecretsBeyondLoopback checks that secrets need client certificates where other machines can connect.
func TestSecretsBeyondLoopback(t *testing.T) {
	for _, tt := range []struct {
		name    string
		address string
		flags   controlplaneFlags
		refused bool
	}{
		{"loopback", "127.0.0.1:18000", controlplaneFlags{}, false},
		{"loopback, IPv6", "[::1]:18000", controlplaneFlags{}, false},
		{"every address", "0.0.0.0:18000", controlplaneFlags{}, true},
		{"every address, IPv6", "[::]:18000", controlplaneFlags{}, true},
		{"one address", "10.0.0.5:18000", controlplaneFlags{}, true},
		{"with a certificate of ours alone", "10.0.0.5:18000",
			controlplaneFlags{tls: cli.ServerTLS{Certificate: "c", Key: "k"}}, true},
		{"with certificates on both sides", "10.0.0.5:18000",
			controlplaneFlags{tls: cli.ServerTLS{Certificate: "c", Key: "k", ClientCA: "ca"}}, false},
		{"accepted", "10.0.0.5:18000", controlplaneFlags{openSecrets: true}, false},
	} {
		address := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.address))
		if why := tt.flags.refuseSecrets(address); (why != "") != tt.refused ||
			tt.refused && !strings.Contains(why, tt.address) {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
	if why := (&controlplaneFlags{}).refuseSecrets(&net.UnixAddr{Name: "/run/xds.sock", Net: "unix"}); why != "" {
		t.Errorf("a Unix socket: %q", why)
	}
}

func TestDiscoveryBootstrap(t *testing.T) {
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"controlplane", "bootstrap", "--node", "edge-7", "--control-plane",
		"10.0.0.5:18000", "--group", "canary"}, &out, &failed); code != 0 {
		t.Fatalf("status %d, %s", code, &failed)
	}
	for _, want := range []string{`"id": "edge-7"`, `"harmony.group": "canary"`, `"address": "10.0.0.5"`,
		`"api_type": "DELTA_GRPC"`, `"dns_lookup_family": "V4_PREFERRED"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}

// TestDiscoveryBootstrapFiles writes the bootstrap into a file as an init container does, with the program beside it.
func TestDiscoveryBootstrapFiles(t *testing.T) {
	folder := t.TempDir()
	file, program := filepath.Join(folder, "bootstrap.json"), filepath.Join(folder, "harmony")
	var out, files, failed bytes.Buffer
	line := []string{"controlplane", "bootstrap", "--node", "edge-7"}
	if code := run(t.Context(), line, &out, &failed); code != 0 {
		t.Fatalf("status %d, %s", code, &failed)
	}
	if code := run(t.Context(), append(line, "-o", file, "--program", program), &files, &failed); code != 0 {
		t.Fatalf("status %d, %s", code, &failed)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, out.Bytes()) || files.Len() != 0 {
		t.Errorf("the file has %d bytes, standard output %d, and with a file %d: %v", len(got), out.Len(), files.Len(), err)
	}
	if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: %v, %v", info, err)
	}
}

// TestBootstrapFilesAreWhole checks that paths in a bootstrap are absolute, because Envoy may start in another folder.
func TestBootstrapFilesAreWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOutput bytes.Buffer
	line := "controlplane bootstrap --node n --control-plane h:1 --ca ca.pem --certificate tls/c.pem --key /k.pem"
	if code := run(t.Context(), strings.Fields(line), &out, &errOutput); code != 0 || !json.Valid(out.Bytes()) {
		t.Fatalf("exit status %d: %s%s", code, &errOutput, &out)
	}
	for _, want := range []string{filepath.Join(folder, "ca.pem"), filepath.Join(folder, "tls/c.pem"), "/k.pem"} {
		if !strings.Contains(out.String(), `"`+want+`"`) {
			t.Errorf("%s is not there:\n%s", want, &out)
		}
	}
}
