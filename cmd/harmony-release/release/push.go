package release

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push is where and how a release's images and its chart are pushed.
type Push struct {
	// Registry is a registry and a path in it, such as ghcr.io/example: the filter becomes ghcr.io/example/filter.
	Registry string
	// PlainHTTP allows HTTP in clear text, with the credentials in it. On loopback it is always allowed.
	PlainHTTP bool
	Log       Log
}

// versionLabel has an image's version.
const versionLabel = "org.opencontainers.image.version"

// Run pushes all images and the chart of the release in a folder, whose checksums must be right, under the release's
// version. It returns the references with their digests. Credentials come from docker login (~/.docker/config.json).
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
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(p)}
	var pushed []string
	for _, d := range manifest.Manifests {
		what := d.Annotations[refName]
		var ref name.Reference
		err := p.Log.step(p.Registry+"/"+what, func() error {
			var err error
			if ref, err = p.reference(what, d); err != nil {
				return err
			}
			if there, err := remote.Head(ref, options...); err == nil && there.Digest != d.Digest {
				return fmt.Errorf("%s is another image there, %s; a version is pushed once", ref, there.Digest)
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

// RoundTrip implements [http.RoundTripper]. The library would speak HTTP to any registry on a private network, and if
// HTTPS fails, so whoever can block that would be sent the credentials.
func (p *Push) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !p.PlainHTTP && !onLoopback(r.URL.Hostname()) {
		return nil, fmt.Errorf("%s would be spoken to in clear text; write --plain-http to allow it", r.URL.Host)
	}
	return remote.DefaultTransport.RoundTrip(r)
}

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
