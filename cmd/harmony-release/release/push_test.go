package release

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// pull pushes a release to a registry and returns a function that pulls an image back.
func pull(t *testing.T, p *Parts) func(what string, options ...remote.Option) v1.Image {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no credentials of this machine's user
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://") + "/some/place"
	pushed, err := (&Push{Registry: at + "/", Log: quiet}).Run(t.Context(), release(t, p))
	if err != nil || len(pushed) != 4 || !strings.HasPrefix(pushed[0], at+"/filter:"+p.Build.Version+"@sha256:") {
		t.Fatalf("pushed %q, %v", pushed, err)
	}
	return func(what string, options ...remote.Option) v1.Image {
		t.Helper()
		ref, err := name.ParseReference(at + "/" + what + ":" + p.Build.Version)
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(ref, append(options, remote.WithContext(t.Context()))...)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
}

// unpack returns the files of an image, with their modes and owners in place of folders' contents.
func unpack(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	files := map[string]string{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = fmt.Sprintf("%o %d %s", h.Mode, h.Uid, text)
	}
}

// TestFilterImage checks the form in which Istio's agent and Envoy Gateway take a module: one layer, one file.
func TestFilterImage(t *testing.T) {
	p := parts(t)
	image := pull(t, p)("filter")
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON ||
		len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != types.OCILayer ||
		manifest.Annotations["org.opencontainers.image.revision"] != commit {
		t.Errorf("the manifest: %+v", manifest)
	}
	files := unpack(t, image)
	if len(files) != 1 || files["plugin.wasm"] != "644 0 "+string(testModule) {
		t.Errorf("the files: %q", files)
	}
}

func TestProgramImages(t *testing.T) {
	p := parts(t)
	get := pull(t, p)
	for what, entrypoint := range map[string][]string{"harmony": {"/harmony"}, "controlplane": {"/harmony", "controlplane"}} {
		for _, arch := range []string{"amd64", "arm64"} {
			image := get(what, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if config.Architecture != arch || !slices.Equal(config.Config.Entrypoint, entrypoint) ||
				config.Config.User != "65532:65532" || !slices.Contains(config.Config.Env, "XDG_CACHE_HOME=/var/cache/harmony") {
				t.Errorf("%s for %s: %+v", what, arch, config)
			}
			files := unpack(t, image)
			for name, want := range map[string]string{
				"harmony": "755 0 program for linux-" + arch, "LICENSE": "644 0 the license", "tmp": "1777 0 ",
				"var/cache/harmony": "700 65532 ",
			} {
				if files[name] != want {
					t.Errorf("%s for %s: %s is %q", what, arch, name, files[name])
				}
			}
		}
	}
}

// TestCertificates checks that programs in the images can check whom they speak to.
func TestCertificates(t *testing.T) {
	rest, n := certificates(), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
			t.Errorf("certificate %d: %v", n, err)
		}
		n++
	}
	if n < 100 || len(bytes.TrimSpace(rest)) != 0 {
		t.Errorf("%d certificates, and %d bytes more", n, len(rest))
	}
}

// TestPushDamaged checks that nothing of a damaged release is pushed.
func TestPushDamaged(t *testing.T) {
	folder := release(t, parts(t))
	if err := os.WriteFile(filepath.Join(folder, layoutFolder, "index.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	pushed, err := (&Push{Registry: "127.0.0.1:1/x", Log: quiet}).Run(t.Context(), folder)
	if err == nil || !strings.Contains(err.Error(), "oci/index.json has another checksum") || len(pushed) != 0 {
		t.Errorf("%q, %v", pushed, err)
	}
}
