package envoy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestDiscoverySecrets checks that the bootstrap names the files that there are, and that these name the certificates
// and the folders that are watched.
func TestDiscoverySecrets(t *testing.T) {
	d := Discovery{ControlPlane: "cp.example.com:18000", Node: "n", CAFile: "/ca/ca.crt", CertificateFile: "/own/tls.crt",
		KeyFile: "/own/tls.key", SecretsFolder: "/etc/harmony"}
	bootstrap, err := DiscoveryBootstrap(d)
	if err != nil {
		t.Fatal(err)
	}
	files, err := DiscoverySecrets(d)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(files))
	if len(names) != 2 || strings.Contains(string(bootstrap), "tls.key") ||
		!strings.Contains(string(bootstrap), `"exact": "cp.`) {
		t.Errorf("%q, and the bootstrap\n%s", names, bootstrap)
	}
	for _, name := range names {
		if !strings.Contains(string(bootstrap), `"path": "/etc/harmony/`+name+`"`) {
			t.Errorf("no %s in\n%s", name, bootstrap)
		}
	}
	all := string(slices.Concat(slices.Collect(maps.Values(files))...))
	for _, want := range []string{"/ca/ca.crt", "/own/tls.crt", "/own/tls.key", `"path": "/ca"`, `"path": "/own"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	if files, err := DiscoverySecrets(Discovery{}); err != nil || len(files) != 0 {
		t.Errorf("without certificates: %d files, %v", len(files), err)
	}
}
