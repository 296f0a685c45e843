//go:build e2e && release

package release

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// scratch is a folder for all tests of this package. TestMain removes it.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "harmony-release-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// made is a release of the last commit, out of a clone in which the commit has the tag of the next version.
type made struct {
	clone, folder, version string
	took                   time.Duration
}

// file returns the path of the release's file that matches a pattern.
func (m *made) file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files %s (%v)", len(found), pattern, err)
	}
	return found[0]
}

// head is the commit that is released. It is asked for once: the branch may move while the first release is made.
var head string

// releases are the clones that a release was made of, by their folders below scratch.
var releases = map[string]*made{}

// makeRelease returns the release that was made in a clone below scratch. It makes it when it is asked for first.
func makeRelease(t *testing.T, folder string) *made {
	t.Helper()
	if m := releases[folder]; m != nil {
		return m
	}
	m := clone(t, folder)
	run(t, m.clone, nil, "git", "tag", "--force", "v"+m.version)
	// Compilers keep what they have compiled. Each clone has such caches of its own, so everything is compiled twice.
	cache := filepath.Join(m.clone, "build", "cache")
	began := time.Now()
	run(t, m.clone, []string{"XDG_CACHE_HOME=" + cache, "GOCACHE=" + filepath.Join(cache, "go")}, "go", "run",
		"./cmd/harmony-release", "make")
	m.took = time.Since(began)
	releases[folder] = m
	return m
}

// clone clones the last commit into a folder below scratch.
func clone(t *testing.T, folder string) *made {
	t.Helper()
	m := &made{clone: filepath.Join(scratch, folder)}
	m.folder = filepath.Join(m.clone, "dist", "release")
	if head == "" {
		head = strings.TrimSpace(run(t, lab.Root(), nil, "git", "rev-parse", "HEAD"))
	}
	run(t, lab.Root(), nil, "git", "clone", "--quiet", "--no-hardlinks", "--no-checkout", "--no-tags", lab.Root(), m.clone)
	run(t, m.clone, nil, "git", "-c", "advice.detachedHead=false", "checkout", "--quiet", head)
	next, err := os.ReadFile(filepath.Join(m.clone, "internal", "version", "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	m.version = strings.TrimSpace(string(next))
	if err := os.Symlink(lab.File(".tools"), filepath.Join(m.clone, ".tools")); err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs a command in a folder and returns what it prints. The test fails if the command does.
func run(t *testing.T, folder string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = folder, append(os.Environ(), env...), &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// TestSameBytes makes the release of one commit in two clones, and compares every file.
func TestSameBytes(t *testing.T) {
	first, second := makeRelease(t, "a"), makeRelease(t, "second/much/deeper")
	run(t, first.clone, nil, "go", "run", "./cmd/harmony-release", "verify")
	run(t, first.folder, nil, "sha256sum", "--check", "--quiet", "SHA256SUMS")
	names := map[string]int64{}
	for _, m := range []*made{first, second} {
		err := fs.WalkDir(os.DirFS(m.folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				var info fs.FileInfo
				if info, err = entry.Info(); err == nil {
					names[name] = info.Size()
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d files", len(names))
	}
	var size int64
	for name, bytes := range names {
		size += bytes
		if err := exec.Command("cmp", filepath.Join(first.folder, name), filepath.Join(second.folder,
			name)).Run(); err != nil {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
	t.Logf("%s twice, in %s and %s: %d files of %d MiB, compared by cmp", first.version, first.took.Round(time.Second),
		second.took.Round(time.Second), len(names), size>>20)
}

// TestSourceArchive checks that the source archive, which has no history, knows its version.
func TestSourceArchive(t *testing.T) {
	m := makeRelease(t, "a")
	folder := t.TempDir()
	run(t, folder, nil, "tar", "-xzf", m.file(t, "*-source.tar.gz"), "--strip-components=1")
	if v := strings.TrimSpace(run(t, folder, nil, "go", "run", "./tools/version")); v != m.version {
		t.Errorf("the source archive is %s, the release %s", v, m.version)
	}
}

// TestReleaseCommit checks that the commit that gets the tag has the filter of the release in it, and nothing else changed.
func TestReleaseCommit(t *testing.T) {
	m, c := makeRelease(t, "a"), clone(t, "commit")
	run(t, c.clone, nil, "git", "config", "user.name", "a")
	run(t, c.clone, nil, "git", "config", "user.email", "a@example.com")
	tag := strings.TrimSpace(run(t, c.clone, nil, "go", "run", "./cmd/harmony-release", "commit"))
	if tag != "v"+m.version {
		t.Errorf("the tag is %s", tag)
	}
	const file = "internal/bundled/filter/harmony-filter.wasm.gz"
	if changed := strings.TrimSpace(run(t, c.clone, nil, "git", "diff", "--name-status", "HEAD",
		tag)); changed != "A\t"+file {
		t.Errorf("changed: %s", changed)
	}
	unpacked, err := gzip.NewReader(strings.NewReader(run(t, c.clone, nil, "git", "show", tag+":"+file)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(unpacked)
	if want, wantErr := os.ReadFile(m.file(t,
		"harmony-filter-*.wasm")); err != nil || wantErr != nil || !bytes.Equal(got, want) {
		t.Errorf("the commit has another filter than the release (%v, %v)", err, wantErr)
	}
}
