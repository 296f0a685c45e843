package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWrite checks the content, the mode, and that nothing else is left in the folder, also after an error.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	for _, content := range []string{"old", "new"} {
		if err := Write(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v", info, err)
	}
	taken := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "by a folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Write(filepath.Join(folder, "none", "file"), nil, 0o600); err == nil {
		t.Error("a folder was made")
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
}
