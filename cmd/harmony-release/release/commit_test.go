package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommitRefuses checks what a release's commit needs, before anything is built.
func TestCommitRefuses(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	refused := func(want string) {
		t.Helper()
		b := &Builder{Root: root, Work: t.TempDir(), Output: os.Stderr, Log: quiet}
		if tag, err := b.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, %v, want %q", tag, err, want)
		}
	}
	refused("not the root of a git clone")
	for name, text := range map[string]string{"internal/version/VERSION": "0.2.0\n", "CHANGELOG.md": "\n## 0.1.0\n"} {
		if err := write(root, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "--message", "first")
	refused("CHANGELOG.md has no section ## 0.2.0")
	if err := os.WriteFile(filepath.Join(root, "CHANGELOG.md"), []byte("\n## 0.2.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused("changes that are not committed")
	git("commit", "--quiet", "--all", "--message", "second")
	git("tag", "v0.2.0")
	refused("there is a tag v0.2.0 already")
}
