package version

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone makes a repository of one commit with the version 0.1.0 and returns its folder, and a function that runs git.
func clone(t *testing.T) (folder string, git func(args ...string) string) {
	t.Helper()
	folder = t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
	git = func(args ...string) string {
		t.Helper()
		options := []string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.com"}
		out, err := exec.Command("git", append(options, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for name, text := range map[string]string{
		"internal/version/VERSION": "0.1.0\n", "internal/version/archive.txt": archived,
		".gitattributes": "internal/version/archive.txt export-subst\n",
	} {
		write(t, filepath.Join(folder, name), text)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	return folder, git
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestClone checks that a clone and an archive of the same commit have the same version.
func TestClone(t *testing.T) {
	folder, git := clone(t)
	head := git("rev-parse", "HEAD")
	agree := func(want string) {
		t.Helper()
		b, when, err := Clone(t.Context(), folder)
		if err != nil || b != (Build{want, head}) || when.Unix() != 1767323045 {
			t.Errorf("clone: %+v, %s, %v, want %s", b, when, err, want)
		}
		git("archive", "-o", "a.tar", "HEAD", "internal/version/archive.txt")
		line, err := exec.Command("tar", "-xOf", filepath.Join(folder, "a.tar")).Output()
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := parseArchive(string(line), "0.1.0\n"); !ok || a != b {
			t.Errorf("archive: %+v out of %q, want %+v", a, line, b)
		}
	}
	agree("0.1.0-dev.20260102030405.g" + head[:12])
	git("tag", "v0.0.9")
	agree("0.1.0-dev.20260102030405.g" + head[:12])
	git("tag", "-d", "v0.0.9")
	git("tag", "v0.1.0")
	agree("0.1.0")
	write(t, filepath.Join(folder, "internal/version/VERSION"), "0.1.0\n\n")
	if b, _, err := Clone(t.Context(), folder); err != nil || b.Version != "0.1.0+dirty" {
		t.Errorf("with changes: %+v, %v", b, err)
	}
}

// TestNoClone checks that an archive that was unpacked in another clone does not get its version.
func TestNoClone(t *testing.T) {
	folder, _ := clone(t)
	for _, f := range []string{t.TempDir(), filepath.Join(folder, "internal")} {
		if b, _, err := Clone(t.Context(), f); !errors.Is(err, ErrNoClone) {
			t.Errorf("%s: %+v, %v", f, b, err)
		}
	}
}
