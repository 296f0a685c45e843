package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

// Names that users see.
const (
	modulePath  = "github.com/harmonyedge/harmonyedge"
	productName = "harmony-edge"
	summary     = "OpenAI Chat Completions and Responses for gpt-oss models, at the edge: an Envoy filter and its control plane"
	license     = "Apache-2.0"
)

// Parts are what a release is packed from. [Builder.Build] makes them.
type Parts struct {
	Build version.Build
	// Time is when the commit was made. It stands in archives and images in place of the time of the build.
	Time time.Time
	// Source is the folder of the sources, with the packed filter in its place.
	Source string
	// Files are the sources' files, from Source, with slashes, sorted.
	Files []string
	// Archive is the source archive: a tar file as git makes it, not compressed.
	Archive  []byte
	Filter   []byte
	Programs []Program
	// Manual are the manual pages of the program, by their names.
	Manual []ManPage
	// ProgramModules and FilterModules are the Go modules that each consists of.
	ProgramModules, FilterModules []*debug.Module
	// Tools are the compilers and their like by name, with their versions.
	Tools []Tool
}

// Program is the program for one platform.
type Program struct {
	Platform Platform
	Content  []byte
}

// ManPage is a manual page of the program.
type ManPage struct {
	Name string
	Text []byte
}

// Tool is something that the release was built with.
type Tool struct{ Name, Version string }

// Platform is an operating system and an architecture, as Go names them.
type Platform struct{ OS, Arch string }

// String returns the platform as in linux-amd64. It implements [fmt.Stringer].
func (p Platform) String() string { return p.OS + "-" + p.Arch }

// Platforms are those that a release has programs for.
func Platforms() []Platform {
	return []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

// ParsePlatforms reads a list such as linux/amd64,darwin/arm64, in the order of [Platforms]. An empty text is all of them.
// One of Linux is needed, for the images.
func ParsePlatforms(text string) ([]Platform, error) {
	if text == "" {
		return Platforms(), nil
	}
	named := map[Platform]bool{}
	linux := false
	for one := range strings.SplitSeq(text, ",") {
		system, arch, _ := strings.Cut(strings.TrimSpace(one), "/")
		p := Platform{system, arch}
		if !slices.Contains(Platforms(), p) {
			return nil, fmt.Errorf("%q is not a platform of a release; write such as linux/amd64,darwin/arm64", one)
		}
		named[p] = true
		linux = linux || system == "linux"
	}
	if !linux {
		return nil, errors.New("the images need linux/amd64 or linux/arm64")
	}
	return slices.DeleteFunc(Platforms(), func(p Platform) bool { return !named[p] }), nil
}

// writers write the parts of a release into its folder. A later writer in the list may read what came before.
var writers = []struct {
	what  string
	write func(p *Parts, folder string) error
}{
	{"the programs", writePrograms},
	{"the wheels", writeWheels},
	{"the filter", writeFilter},
	{"the Helm chart", writeChart},
	{"the OCI images", writeImages},
	{"the Go module", writeModule},
	{"the source archive", writeSource},
	{"the JSON Schemas", writeSchemas},
	{"the bill of materials", writeBOM},
	{"the checksums", writeSums},
}

// Write packs the parts into a folder, which must be empty or not exist. The same parts give the same bytes.
func Write(p *Parts, folder string, log Log) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, w := range writers {
		if err := log.step(w.what, func() error { return w.write(p, folder) }); err != nil {
			return fmt.Errorf("%s: %w", w.what, err)
		}
	}
	return nil
}

// Log prints a line for each step: what begins, and how long it took.
type Log func(format string, args ...any)

func (l Log) step(what string, do func() error) error {
	l("==> %s", what)
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	l("    done in %s", time.Since(began).Round(100*time.Millisecond))
	return nil
}

// name returns the name of a file of the release: what, version and ending.
func (p *Parts) name(what, ending string) string { return what + "-" + p.Build.Version + ending }

// read returns a file of the sources.
func (p *Parts) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.Source, filepath.FromSlash(name)))
}

func write(folder, name string, content []byte) error {
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
