package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// chartFolder has the sources of the Helm chart.
	chartFolder = "envoy/chart/"
	chartFile   = "Chart.yaml"
	// chartImage is the chart in a registry. Its last part must be the chart's name.
	chartImage = "charts/" + productName
	// unreleased is the version of the chart in the sources.
	unreleased = "0.0.0"
)

// The types of a chart in a registry (helm.sh/docs/topics/registries).
const (
	chartConfigType  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// writeChart writes the Helm chart as helm package does, with the release's version.
func writeChart(p *Parts, folder string) error {
	_, archive, err := p.chart()
	if err != nil {
		return err
	}
	return write(folder, p.name(productName, ".tgz"), archive)
}

// chart returns the chart's Chart.yaml, and its archive. Files whose names begin with a dot are not in it.
func (p *Parts) chart() (about, archive []byte, err error) {
	if about, err = p.read(chartFolder + chartFile); err != nil {
		return nil, nil, err
	}
	if about, err = stampChart(about, p.Build.Version); err != nil {
		return nil, nil, fmt.Errorf("%s%s: %w", chartFolder, chartFile, err)
	}
	files := []file{{name: productName + "/" + chartFile, mode: 0o644, content: about}}
	inside := map[string]string{"LICENSE": "LICENSE"} // names in the archive, by those in the sources
	for _, name := range p.Files {
		rest, ok := strings.CutPrefix(name, chartFolder)
		if ok && rest != chartFile && !strings.HasPrefix(path.Base(name), ".") {
			inside[name] = rest
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		text, err := p.read(name)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file{name: productName + "/" + inside[name], mode: 0o644, content: text})
	}
	if archive, err = makeTar(files, p.Time); err != nil {
		return nil, nil, err
	}
	archive, err = compress(archive)
	return about, archive, err
}

// stampChart gives Chart.yaml the release's version, in the two lines that have none.
func stampChart(about []byte, version string) ([]byte, error) {
	for _, key := range []string{"\nversion: ", "\nappVersion: "} {
		old := []byte(key + unreleased + "\n")
		if bytes.Count(about, old) != 1 {
			return nil, fmt.Errorf("it does not have the line %q once, which a release replaces", bytes.TrimSpace(old))
		}
		about = bytes.Replace(about, old, []byte(key+version+"\n"), 1)
	}
	return about, nil
}

// chartArtifact returns the chart as Helm fetches it from a registry: its archive as the only layer, and what
// Chart.yaml says in place of an image's configuration.
func (p *Parts) chartArtifact() (v1.Image, error) {
	about, archive, err := p.chart()
	if err != nil {
		return nil, err
	}
	config, err := yaml.YAMLToJSON(about)
	if err != nil {
		return nil, err
	}
	a := artifact{config: bytes.TrimSpace(config), layer: static.NewLayer(archive, chartContentType)}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: p.labels(chartImage)}
	manifest.Config.MediaType = chartConfigType
	if manifest.Config.Digest, manifest.Config.Size, err = v1.SHA256(bytes.NewReader(a.config)); err != nil {
		return nil, err
	}
	layer, err := partial.Descriptor(a.layer)
	if err != nil {
		return nil, err
	}
	manifest.Layers = []v1.Descriptor{*layer}
	if a.manifest, err = json.Marshal(manifest); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&a)
}

// artifact is something in a registry that is no image: a configuration of its own type, and one layer. It implements
// [partial.CompressedImageCore].
type artifact struct {
	config, manifest []byte
	layer            v1.Layer
}

// RawConfigFile implements [partial.CompressedImageCore].
func (a *artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

// MediaType implements [partial.CompressedImageCore].
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawManifest implements [partial.CompressedImageCore].
func (a *artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// LayerByDigest implements [partial.CompressedImageCore].
func (a *artifact) LayerByDigest(want v1.Hash) (partial.CompressedLayer, error) {
	if got, err := a.layer.Digest(); err != nil || got != want {
		return nil, errors.Join(err, fmt.Errorf("there is no layer %s", want))
	}
	return a.layer, nil
}
