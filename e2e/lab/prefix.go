//go:build e2e

package lab

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/envoy"
)

// NeedsPrefix skips the rest of the test with an Envoy that has no policy prefix, because it has no
// envoy.hashable_string.
func NeedsPrefix(t *testing.T) {
	t.Helper()
	v, err := envoy.CheckVersion(t.Context(), Tool(t, "ENVOY"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Major == 1 && v.Minor < 38 {
		t.Skipf("the policy prefix needs Envoy 1.38, and this one is %s: docs/routing.md", v)
	}
}
