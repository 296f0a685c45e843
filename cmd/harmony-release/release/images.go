package release

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The images of a release, by the names that they have in its layout and in a registry.
const (
	filterImage       = "filter"
	programImage      = "harmony"
	controlPlaneImage = "controlplane"
)

const (
	layoutFolder = "oci"
	// refName is the annotation of a layout's index that names an image.
	refName = "org.opencontainers.image.ref.name"
	// filterInImage is where Istio and Envoy Gateway look for the module in an image of one layer.
	filterInImage = "plugin.wasm"
	// imageUser is the user that the program runs as, who owns nothing but the folder of the cache.
	imageUser  = 65532
	imageCache = "/var/cache/harmony"
)

// writeImages writes an OCI layout with all images and the chart, each named by an annotation. Images share layers.
func writeImages(p *Parts, folder string) error {
	at, err := layout.Write(filepath.Join(folder, layoutFolder), empty.Index)
	if err != nil {
		return err
	}
	filter, err := p.FilterImage()
	if err != nil {
		return err
	}
	if err := at.AppendImage(filter, p.named(filterImage)); err != nil {
		return err
	}
	chart, err := p.chartArtifact()
	if err != nil {
		return err
	}
	if err := at.AppendImage(chart, p.named(chartImage)); err != nil {
		return err
	}
	base, err := p.baseLayer()
	if err != nil {
		return err
	}
	programs := map[Platform]v1.Layer{}
	for _, program := range p.Programs {
		if program.Platform.OS == "linux" {
			programs[program.Platform], err = p.layer([]file{{name: "harmony", mode: 0o755, content: program.Content}})
			if err != nil {
				return err
			}
		}
	}
	for _, image := range []struct {
		name       string
		entrypoint []string
	}{
		{programImage, []string{"/harmony"}}, {controlPlaneImage, []string{"/harmony", "controlplane"}},
	} {
		index, err := p.programIndex(image.name, image.entrypoint, base, programs)
		if err != nil {
			return err
		}
		if err := at.AppendIndex(index, p.named(image.name)); err != nil {
			return err
		}
	}
	return nil
}

// named annotates an image in the layout with its name and its version, under which it is pushed.
func (p *Parts) named(name string) layout.Option {
	return layout.WithAnnotations(map[string]string{refName: name, versionLabel: p.Build.Version})
}

// labels are the labels and annotations of an image.
func (p *Parts) labels(name string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    productName + " " + name,
		versionLabel:                        p.Build.Version,
		"org.opencontainers.image.revision": p.Build.Commit,
		"org.opencontainers.image.created":  p.Time.UTC().Format(time.RFC3339),
		"org.opencontainers.image.source":   "https://" + modulePath,
		"org.opencontainers.image.licenses": license,
	}
}

func (p *Parts) layer(files []file) (v1.Layer, error) {
	content, err := makeTar(files, p.Time)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}

// image returns an image of layers, with the labels of name.
func (p *Parts) image(name string, platform Platform, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config.Labels = p.labels(name)
	created := v1.Time{Time: p.Time.UTC()}
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{Architecture: platform.Arch, OS: platform.OS, Created: created,
		Config: config, RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}}})
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: created, CreatedBy: "harmony-release"}
	for _, l := range layers {
		if image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: history}); err != nil {
			return nil, err
		}
	}
	annotated, ok := mutate.Annotations(image, p.labels(name)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the image %s takes no annotations", name)
	}
	return annotated, nil
}

// FilterImage returns the filter as Istio and Envoy Gateway fetch it: an image of one layer with one file.
func (p *Parts) FilterImage() (v1.Image, error) {
	l, err := p.layer([]file{{name: filterInImage, mode: 0o644, content: p.Filter}})
	if err != nil {
		return nil, err
	}
	return p.image(filterImage, Platform{"wasi", "wasm"}, v1.Config{}, l)
}

// programIndex returns an image of the program for each Linux that there is one for.
func (p *Parts) programIndex(name string, entrypoint []string, base v1.Layer, programs map[Platform]v1.Layer) (
	v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range Platforms() {
		program, ok := programs[platform]
		if !ok {
			continue
		}
		image, err := p.image(name, platform, v1.Config{Entrypoint: entrypoint, WorkingDir: "/",
			User: fmt.Sprintf("%d:%d", imageUser, imageUser), Env: []string{"PATH=/", "XDG_CACHE_HOME=" + imageCache}},
			base, program)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: platform.OS, Architecture: platform.Arch}}})
	}
	annotated, ok := mutate.Annotations(index, p.labels(name)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("the index %s takes no annotations", name)
	}
	return annotated, nil
}

// baseLayer returns what the program needs of a system: certificates, and folders that it may write to.
func (p *Parts) baseLayer() (v1.Layer, error) {
	files := []file{
		{name: "etc/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates()},
		{name: "tmp/", mode: 0o1777},
		{name: "var/", mode: 0o755}, {name: "var/cache/", mode: 0o755},
		{name: imageCache[1:] + "/", mode: 0o700, owner: imageUser},
	}
	for _, l := range licenses {
		text, err := p.read(l)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: l, mode: 0o644, content: text})
	}
	return p.layer(files)
}

// certificates returns the certificates that Mozilla's browsers trust, as PEM. It leaves out those that they trust
// under a condition, because PEM cannot say it.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
