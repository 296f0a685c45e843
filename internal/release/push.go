package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push is where and how a release's images are pushed.
type Push struct {
	// Registry is a registry and a path in it, such as ghcr.io/example: the filter becomes ghcr.io/example/filter.
	Registry string
	// PlainHTTP speaks HTTP to the registry. A registry on loopback is always spoken to so.
	PlainHTTP bool
	Log       Log
}

// versionLabel has an image's version.
const versionLabel = "org.opencontainers.image.version"

// Run pushes all images of the release in a folder, whose checksums must be right, under the release's version. It
// returns the references with their digests. Credentials are those of docker login (~/.docker/config.json).
func (p *Push) Run(ctx context.Context, folder string) ([]string, error) {
	if _, err := Verify(folder); err != nil {
		return nil, err
	}
	at, err := layout.FromPath(filepath.Join(folder, layoutFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s has no images; make release writes them", folder)
	}
	if err != nil {
		return nil, err
	}
	index, err := at.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var pushed []string
	for _, d := range manifest.Manifests {
		what := d.Annotations[refName]
		var ref name.Reference
		err := p.Log.step(p.Registry+"/"+what, func() error {
			var err error
			if ref, err = p.reference(what, d); err != nil {
				return err
			}
			if d.MediaType.IsIndex() {
				platforms, err := index.ImageIndex(d.Digest)
				if err != nil {
					return err
				}
				return remote.WriteIndex(ref, platforms, options...)
			}
			image, err := index.Image(d.Digest)
			if err != nil {
				return err
			}
			return remote.Write(ref, image, options...)
		})
		if err != nil {
			return pushed, fmt.Errorf("%s was not pushed: %w", what, err)
		}
		pushed = append(pushed, ref.Name()+"@"+d.Digest.String())
	}
	return pushed, nil
}

func (p *Push) reference(what string, d v1.Descriptor) (name.Reference, error) {
	tag := d.Annotations[versionLabel]
	if tag == "" {
		return nil, errors.New("the layout does not say its version; make the release again")
	}
	var options []name.Option
	if p.PlainHTTP {
		options = append(options, name.Insecure)
	}
	return name.NewTag(strings.TrimSuffix(p.Registry, "/")+"/"+what+":"+tag, options...)
}
