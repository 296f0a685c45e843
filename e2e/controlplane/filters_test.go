//go:build e2e

package controlplane

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

// The owners of the model that two builds of the filter report: the shipped one, and newFilter's. They have the
// same length, so that one can replace the other in a module.
const shippedOwner, newOwner = "harmony-edge", "harmony-next"

// copyFilter writes the shipped filter to a file, and returns its version.
func copyFilter(t *testing.T, path string) (version string) {
	t.Helper()
	return writeFilter(t, path, readShipped(t))
}

// newFilter writes another build of the filter to a file, and returns its version. Clients can distinguish it from the
// shipped one, and so can harmony_build_info.
func newFilter(t *testing.T, path string) (version string) {
	t.Helper()
	shipped := readShipped(t)
	info, err := filterfile.Read(shipped)
	if err != nil {
		t.Fatal(err)
	}
	const member = `"owned_by":"`
	other := strings.ReplaceAll(string(shipped), member+shippedOwner, member+newOwner)
	if other == string(shipped) {
		t.Fatal("the filter does not spell a model's owner so")
	}
	version = info.Version[:len(info.Version)-1] + "~"
	other = strings.ReplaceAll(other, info.Version, version)
	stamped, err := filterfile.Stamp([]byte(other), version)
	if err != nil {
		t.Fatal(err)
	}
	return writeFilter(t, path, stamped)
}

func readShipped(t *testing.T) []byte {
	t.Helper()
	shipped, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	return shipped
}

// writeFilter writes a filter as careful programs do, whole and at once, and returns its version.
func writeFilter(t *testing.T, path string, filter []byte) (version string) {
	t.Helper()
	if err := os.WriteFile(path+".new", filter, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	info, err := filterfile.Read(filter)
	if err != nil {
		t.Fatal(err)
	}
	return info.Version
}

// filterOf returns the model's owner, as an Envoy's filter reports it.
func (p *plane) filterOf(envoy int) string {
	p.Helper()
	a := lab.Do(lab.HTTP1(p.T), http.MethodGet, p.urls[envoy]+"/v1/models", nil, nil)
	_, after, _ := strings.Cut(a.Body, `"owned_by":"`)
	owner, _, ok := strings.Cut(after, `"`)
	if !ok {
		p.Fatalf("no owner in %+v", a)
	}
	return owner
}

// awaitFilter waits until a filter handles an Envoy's requests: its workers follow a moment after it has accepted.
func (p *plane) awaitFilter(envoy int, want string) {
	p.Helper()
	for deadline := time.Now().Add(lab.Patience); ; {
		got := p.filterOf(envoy)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("Envoy %d is current, and answers by the filter %q, not %q", envoy+1, got, want)
		}
		time.Sleep(lab.Pause)
	}
}

// buildInfo returns the versions of filters that an Envoy's harmony_build_info has with the value 1.
func (p *plane) buildInfo(envoy int) string {
	p.Helper()
	text, err := p.envoys[envoy].Get(p.Context(), "/stats/prometheus?filter=harmony_build_info")
	if err != nil {
		p.Fatal(err)
	}
	var versions []string
	for line := range strings.Lines(string(text)) {
		_, after, _ := strings.Cut(line, `version="`)
		if version, rest, ok := strings.Cut(after, `"`); ok && strings.HasSuffix(strings.TrimSpace(rest), "} 1") {
			versions = append(versions, version)
		}
	}
	return strings.Join(versions, " ")
}
