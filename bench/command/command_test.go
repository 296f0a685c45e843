package command

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPublish: files are written into a folder that is named, which need not be there, and nowhere else.
func TestPublish(t *testing.T) {
	t.Chdir(t.TempDir())
	page := func() []File { return []File{{"a.md", []byte("# Page\n")}, {"a.svg", []byte("<svg/>")}} }
	if err := Publish("", "", page); err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir("."); err != nil || len(all) > 0 {
		t.Errorf("%v, %v: files without a folder", all, err)
	}
	folder := filepath.Join("a", "folder")
	if err := Publish("", folder, page); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.md": "# Page\n", "a.svg": "<svg/>"} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := Publish("", filepath.Join(folder, "a.md"), page); err == nil {
		t.Error("a file in place of the folder is no error")
	}
}
