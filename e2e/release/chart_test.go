//go:build e2e && release

package release

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestChart checks that Helm takes the chart: from the file, and out of a registry with its own client. The rendered
// objects run the image of the same version.
func TestChart(t *testing.T) {
	m := makeRelease(t, "a")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	place := strings.TrimPrefix(server.URL, "http://") + "/harmonyedge"
	run(t, m.clone, []string{"DOCKER_CONFIG=" + t.TempDir()}, "go", "run", "./cmd/harmony-release", "push", place)
	pulled, helm := filepath.Join(t.TempDir(), "chart.tgz"), lab.Tool(t, "HARMONY_CHARTCHECK")
	run(t, m.clone, nil, helm, "pull", place+"/charts/harmony-edge:"+m.version, pulled)
	got, err := os.ReadFile(pulled)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(m.file(t, "harmony-edge-"+m.version+".tgz")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the registry has another chart than the release: %d bytes and %d (%v)", len(got), len(want), err)
	}
	objects := run(t, m.clone, nil, helm, "render", pulled, lab.File("e2e/chart/testdata/values/minimal.yaml"))
	image := `image: "ghcr.io/harmonyedge/harmony-edge/controlplane:` + m.version + `"`
	if strings.Count(objects, image) != 2 || !strings.Contains(objects, "helm.sh/chart: harmony-edge-"+m.version+"\n") {
		t.Errorf("not twice %s in\n%s", image, objects)
	}
}
