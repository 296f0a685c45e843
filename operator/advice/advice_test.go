package advice

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// of returns the advice on a file.
func of(t *testing.T, file string) []Advice {
	t.Helper()
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return Of(r)
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "h.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// follies is a file with 19 things that are allowed and unwise.
const follies = `listen: 0.0.0.0:8080
stall_timeout: 0s
body_limit: 64KiB
cors_origins: ["*"]
access_log_client_key: true
tracing: { url: http://c:4317, share: 0% }
passthrough: http://other:1
passthrough_paths: [/]
responses_service: { store: /tmp/responses.db }
models:
- { name: a, pool: one, context_length: 200000, raw_prompts: allow, forward_authorization: true }
- { name: b, pool: many, context_length: 8000, max_reasoning_tokens: 9000 }
- { name: c, pool: drained }
- { name: d, pool: picked }
pools:
- { name: one, servers: [http://gpu:1] }
- { name: many, servers: [http://gpu:2, http://gpu:3], health: { path: none }, tries: 1 }
- { name: drained, servers: [http://gpu:4], drain: [http://gpu:4], spares: [same], health: { interval: 10m } }
- { name: same, servers: [http://gpu:4] }
- { name: picked, servers: [http://gpu:6, http://gpu:7], policy: picker, picker: { on_failure: refuse, url: http://p:1 } }
- { name: idle, servers: [http://gpu:8] }
secrets:
- { name: spare-key, env: K }
`

// folliesWithKeys are two more, which need a keys file.
const folliesWithKeys = `listen: 0.0.0.0:8080
clients: { keys_file: keys.yaml }
limits: { url: http://l:1, on_failure: refuse }
models: [{ name: a, pool: p }]
pools: [{ name: p, servers: [http://gpu:1, http://gpu:2] }]
`

func TestFollies(t *testing.T) {
	for text, want := range map[string][]string{
		follies: {"listen", "stall_timeout", "cors_origins", "tracing.share", "passthrough_paths", "responses_service.store",
			"access_log_client_key", "models[0].context_length", "body_limit", "models[0].raw_prompts",
			"models[0].forward_authorization", "models[1].max_reasoning_tokens", "pools[0].servers", "pools[1].health.path",
			"pools[1].tries", "pools[2].health.interval", "pools[2].drain", "pools[2].spares", "pools[4].picker.on_failure",
			"pools[5].name", "secrets[0].name"},
		folliesWithKeys: {"listen", "limits.url"},
	} {
		var got []string
		for _, a := range of(t, write(t, text)) {
			got = append(got, a.Setting)
			if a.Text == "" || a.Write == "" || strings.Contains(a.Text+a.Write, "%!") {
				t.Errorf("%+v", a)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

// TestExamples checks that there is no advice on the files of the documentation and of examples/, nor on a file that
// does as it was advised.
func TestExamples(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\n"+string(text), "\nmodels:") {
			return err
		}
		files++
		for _, a := range of(t, path) {
			t.Errorf("%s: %+v", path, a)
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
	good := write(t, `listeners: [{ address: 0.0.0.0:8443, tls: cert }]
clients: { keys_file: keys.yaml }
models: [{ name: a, pool: p, context_length: 131072, raw_prompts: allow }]
pools:
- { name: p, servers: [http://gpu:1], spares: [q] }
- { name: q, servers: [http://gpu:2, http://gpu:3] }
secrets: [{ name: cert, certificate: c.pem, key: k.pem }]
`)
	named := write(t, `models:
- { name: a, pool: long, route: [{ pool: short, max_prompt: 9000 }] }
- { name: b, pool: ids, server_model: Q }
pools:
- { name: long, servers: [http://gpu:1], prefill: { pool: reads } }
- { name: reads, servers: [http://gpu:2] }
- { name: short, servers: [http://gpu:3], spares: [spare] }
- { name: spare, servers: [http://gpu:4] }
- { name: ids, kind: vllm-render, servers: [http://gpu:5], render: renders }
- { name: renders, kind: vllm-render, servers: [http://gpu:6] }
`)
	for _, a := range append(of(t, good), of(t, named)...) {
		t.Errorf("%+v", a)
	}
}
