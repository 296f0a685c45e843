package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// TestSecretsAreRefused checks that a configuration with secrets is refused where strangers may connect, at the start
// and later, and that one without secrets is served.
func TestSecretsAreRefused(t *testing.T) {
	const why = "strangers would be given it"
	engine := newEngine(t, `{"id":"m"}`)
	folder := t.TempDir()
	without := oneModel(engine.URL)
	secret := "secrets:\n- name: key\n  file: " + filepath.Join(folder, "key") + "\n"
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("key", "sesame")
	write("config.yaml", without+secret) // the secret is not used
	p := start(t, folder, func(o *testOptions) { o.Follow.Needs.RefuseSecrets = why })
	e := startEnvoy(t, p.ads, "one", "key")
	eventually(t, "current", p.current)
	p.write("config.yaml", without+"  authorization: key\n"+secret)
	eventually(t, "refused", func() bool { return strings.Contains(p.Status().Configuration.Error, "secrets[0]: "+why) })
	if got := e.resource(resource.SecretType, "key"); got != nil || p.Status().Configuration.Loaded.IsZero() {
		t.Errorf("the Envoy has %v, or the configuration of before is not in force any more: %+v", got,
			p.Status().Configuration)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	restarted := start(t, folder, func(o *testOptions) { o.Follow.Needs.RefuseSecrets, o.StateDir = why, "" })
	if err := restarted.failure(); err == nil || !strings.Contains(err.Error(), "secrets[0]: "+why) {
		t.Errorf("it ended with %v", err)
	}
}
