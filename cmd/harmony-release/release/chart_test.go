package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChart checks the chart's archive, and that the registry has the same bytes as its only layer, in Helm's types.
func TestChart(t *testing.T) {
	p := parts(t)
	archive, err := os.ReadFile(filepath.Join(release(t, p), p.name(productName, ".tgz")))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if v := p.Build.Version; err != nil || h.Name == "harmony-edge/Chart.yaml" &&
			!strings.HasSuffix(string(text), "\nversion: "+v+"\nappVersion: "+v+"\n") {
			t.Errorf("%s: %s, %v", h.Name, text, err)
		}
		names = append(names, h.Name)
	}
	if want := []string{"harmony-edge/Chart.yaml", "harmony-edge/LICENSE", "harmony-edge/templates/a.yaml",
		"harmony-edge/values.yaml"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q", names)
	}

	image := pull(t, p)(chartImage)
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 ||
		manifest.Layers[0].MediaType != chartContentType ||
		manifest.Annotations["org.opencontainers.image.revision"] != commit {
		t.Errorf("the manifest: %+v", manifest)
	}
	config, err := image.RawConfigFile()
	if err != nil || !strings.Contains(string(config), `"version": "`+p.Build.Version+`"`) {
		t.Errorf("the configuration: %s, %v", config, err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, archive) {
		t.Errorf("the registry has %d bytes, the file %d: %v", len(got), len(archive), err)
	}
}

// TestChartWithVersion checks that a chart whose version was written by hand is not released under another one.
func TestChartWithVersion(t *testing.T) {
	p := parts(t)
	if err := write(p.Source, chartFolder+chartFile, []byte("version: 1.0.0\nappVersion: 0.0.0\n")); err != nil {
		t.Fatal(err)
	}
	if err := writeChart(p, t.TempDir()); err == nil || !strings.Contains(err.Error(), `"version: 0.0.0"`) {
		t.Errorf("%v", err)
	}
}
