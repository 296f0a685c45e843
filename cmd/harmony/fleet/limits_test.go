package fleet

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
)

// TestLimitsUsage has command lines and keys files that are wrong. No error has a key or a password.
func TestLimitsUsage(t *testing.T) {
	good := clitest.WriteFile(t, "keys.yaml", "clients: [{name: acme}]\n")
	leaking := clitest.WriteFile(t, "leaking.yaml", "clients: [{name: acme, hashes: [sk-hunter2]}]\n")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"no keys file is given", nil},
		{"cannot be read", []string{"--keys", filepath.Join(t.TempDir(), "absent.yaml")}},
		{"is not a hash", []string{"--keys", leaking}},
		{"--redis: that is not the URL of a Redis", []string{"--keys", good, "--redis", "redis//:hunter2@h"}},
		{"--redis: that is not the URL of a Redis", []string{"--keys", good, "--redis", "redis://:hunter2@h:x"}},
		{"--slot-lifetime is out of range", []string{"--keys", good, "--slot-lifetime", "25h"}},
		{"--listen", []string{"--keys", good, "--listen", "nowhere"}},
		{"--certificate needs --key", []string{"--keys", good, "--listen", "127.0.0.1:0", "--client-ca", "x"}},
	} {
		var out, failed bytes.Buffer
		if code := run(t.Context(), append([]string{"limits"}, tt.args...), &out, &failed); code != cli.ExitUsage ||
			!strings.Contains(failed.String(), tt.want) || strings.Contains(failed.String(), "hunter2") {
			t.Errorf("%q: status %d, %s, want %s", tt.args, code, &failed, tt.want)
		}
	}
}
