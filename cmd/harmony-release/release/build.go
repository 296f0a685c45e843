package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

// Builder compiles the parts of a release.
type Builder struct {
	Root   string // of the clone, whose commit is released; its .tools is used
	Work   string // a folder that exists; the sources are cloned into it
	Output io.Writer
	Log    Log
	// Platforms are those that the release has programs for.
	Platforms []Platform

	network []string // go's settings that say where modules come from
}

// Build compiles the commit that the clone has checked out, in a clone of its own. Changes that are not committed are
// not in the release.
func (b *Builder) Build(ctx context.Context) (*Parts, error) {
	head, _, err := version.Clone(ctx, b.Root)
	if errors.Is(err, version.ErrNoClone) {
		return nil, fmt.Errorf("%s: %w; a release is made from a commit, and make build needs none", b.Root, err)
	}
	if err != nil {
		return nil, err
	}
	if head.Dirty() {
		b.Log("note: this releases the commit, without the changes of the working tree")
	}
	if b.network, err = b.networkSettings(ctx); err != nil {
		return nil, err
	}
	p := &Parts{Source: filepath.Join(b.Work, "src")}
	if err := b.clone(ctx, p, head.Commit); err != nil {
		return nil, err
	}
	b.Log("Harmony Edge %s, commit %s", p.Build.Version, p.Build.Commit)
	if err := b.filter(ctx, p); err != nil {
		return nil, err
	}
	for _, platform := range b.Platforms {
		err := b.Log.step("the program for "+platform.String(), func() error { return b.program(ctx, p, platform) })
		if err != nil {
			return nil, err
		}
	}
	if err := b.Log.step("the manual pages", func() error { return b.manual(ctx, p) }); err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(p.Programs[0].Content))
	if err != nil {
		return nil, err
	}
	standard := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	p.ProgramModules = append(info.Deps, standard)
	if err := b.tools(ctx, p, info.GoVersion); err != nil {
		return nil, err
	}
	return p, nil
}

// clone makes the sources out of the commit, and lists what they are.
func (b *Builder) clone(ctx context.Context, p *Parts, commit string) error {
	if _, err := b.run(ctx, b.Work, nil, "git", "clone", "--quiet", "--no-checkout", b.Root, p.Source); err != nil {
		return err
	}
	if _, err := b.run(ctx, p.Source, nil, "git", "-c", "advice.detachedHead=false", "checkout", "--quiet", commit); err != nil {
		return err
	}
	var err error
	if p.Build, p.Time, err = version.Clone(ctx, p.Source); err != nil {
		return err
	}
	out, err := b.run(ctx, p.Source, nil, "git", "ls-files", "-z")
	if err != nil {
		return err
	}
	p.Files = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !slices.Contains(p.Files, bundled.File) {
		p.Files = append(p.Files, bundled.File)
		slices.Sort(p.Files)
	}
	prefix := p.name(productName, "") + "/"
	p.Archive, err = b.run(ctx, p.Source, nil, "git", "archive", "--format=tar", "--prefix="+prefix, "HEAD")
	if err != nil {
		return err
	}
	return os.Symlink(filepath.Join(b.Root, ".tools"), filepath.Join(p.Source, ".tools"))
}

// filter compiles the filter and puts it into the sources, from which the programs are then compiled. The commit of a
// release has the filter in it, which must then be the same.
func (b *Builder) filter(ctx context.Context, p *Parts) error {
	c := exec.CommandContext(ctx, filepath.Join(p.Source, "tools", "build-filter.sh"))
	c.Dir, c.Env, c.Stdout, c.Stderr = p.Source, b.goEnv(), b.Output, b.Output
	if err := c.Run(); err != nil {
		return fmt.Errorf("tools/build-filter.sh: %w", err)
	}
	var err error
	if p.Filter, err = p.read("dist/harmony-filter.wasm"); err != nil {
		return err
	}
	packed, err := bundled.Pack(p.Filter)
	if err != nil {
		return err
	}
	if there, err := p.read(bundled.File); err == nil && !bytes.Equal(there, packed) {
		return fmt.Errorf("the commit has another filter in %s than its sources give; make release-commit makes such a commit",
			bundled.File)
	}
	if err := write(p.Source, bundled.File, packed); err != nil {
		return err
	}
	p.FilterModules, err = b.filterModules(ctx, p)
	return err
}

func (b *Builder) program(ctx context.Context, p *Parts, platform Platform) error {
	out := filepath.Join(b.Work, "harmony-"+platform.String())
	_, err := b.run(ctx, p.Source, b.goEnv("GOOS="+platform.OS, "GOARCH="+platform.Arch), "go", "build", "-trimpath",
		"-buildvcs=false", "-tags", version.Tags, "-ldflags", "-s -w -buildid= "+p.Build.Linker(), "-o", out,
		"./cmd/harmony")
	if err != nil {
		return err
	}
	content, err := os.ReadFile(out)
	p.Programs = append(p.Programs, Program{platform, content})
	return err
}

// manual has the program write its manual pages, compiled for this machine.
func (b *Builder) manual(ctx context.Context, p *Parts) error {
	folder := filepath.Join(b.Work, "man1")
	_, err := b.run(ctx, p.Source, b.goEnv(), "go", "run", "-trimpath", "-buildvcs=false", "-tags", version.Tags, "-ldflags",
		p.Build.Linker(), "./cmd/harmony", "man", folder)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		p.Manual = append(p.Manual, ManPage{e.Name(), text})
	}
	return nil
}

// networkSettings returns go's settings, of the environment or of go env -w, that do not change what it builds.
func (b *Builder) networkSettings(ctx context.Context) ([]string, error) {
	out, err := b.run(ctx, b.Root, nil, "go", "env", "-json", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE",
		"GOMODCACHE", "GOCACHE")
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env []string
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// goEnv returns the environment for go, without settings of this machine that would change what it builds, such as the
// settings of go env -w.
func (b *Builder) goEnv(extra ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GOFLAGS", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOFIPS140", "GOOS", "GOARCH":
			return true
		}
		return strings.HasPrefix(name, "CGO_")
	})
	env = append(append(env, b.network...), "GOENV=off", "CGO_ENABLED=0", "GOWORK=off", "GOTOOLCHAIN=local")
	return append(env, extra...)
}

// filterModules returns the modules that the filter is compiled from. Only TinyGo can list them: Go lacks its packages.
func (b *Builder) filterModules(ctx context.Context, p *Parts) ([]*debug.Module, error) {
	out, err := b.run(ctx, p.Source, b.goEnv(), filepath.Join(b.Root, ".tools", "bin", "tinygo"), "list",
		"-target="+filepath.Join(b.Root, ".tools", "tinygo", "filter.json"), "-deps", "-json", "./filter")
	if err != nil {
		return nil, err
	}
	found := map[debug.Module]bool{}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			Module *struct {
				Path, Version string
				Main          bool
			}
		}
		err := packages.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("tinygo list: %w", err)
		}
		if m := pkg.Module; m != nil && !m.Main {
			found[debug.Module{Path: m.Path, Version: m.Version}] = true
		}
	}
	var modules []*debug.Module
	for m := range found {
		modules = append(modules, &m)
	}
	slices.SortFunc(modules, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// tools asks the compilers for their versions.
func (b *Builder) tools(ctx context.Context, p *Parts, goVersion string) error {
	p.Tools = []Tool{{"go", strings.TrimPrefix(goVersion, "go")}}
	for _, t := range []struct{ name, argument string }{{"tinygo", "version"}, {"wasm-opt", "--version"}} {
		out, err := b.run(ctx, p.Source, nil, filepath.Join(b.Root, ".tools", "bin", t.name), t.argument)
		if err != nil {
			return err
		}
		// "tinygo version 0.41.1 linux/amd64 (…)", "wasm-opt version 132 (version_132)"
		fields := strings.Fields(string(out))
		if len(fields) < 3 {
			return fmt.Errorf("%s %s prints %q", t.name, t.argument, out)
		}
		p.Tools = append(p.Tools, Tool{t.name, fields[2]})
	}
	return nil
}

// run runs a command and returns what it prints. Its error has what the command said.
func (b *Builder) run(ctx context.Context, folder string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	c.Dir, c.Env, c.Stderr = folder, env, &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}
