package bundled

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var module = bytes.Repeat([]byte("\x00asm and more "), 1000)

func TestRead(t *testing.T) {
	if _, err := read(fstest.MapFS{"filter/README.md": {}}); !errors.Is(err, ErrNone) {
		t.Errorf("a program without it: %v", err)
	}
	data, err := Pack(module)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Pack(module)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("packed twice, the bytes differ: %v", err)
	}
	if got, err := read(fstest.MapFS{packed: {Data: data}}); err != nil || !bytes.Equal(got, module) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, broken := range [][]byte{nil, data[:len(data)-1], []byte("text")} {
		if _, err := read(fstest.MapFS{packed: {Data: broken}}); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%d bytes of it: %v", len(broken), err)
		}
	}
}

// TestUnpack checks that a good file is kept, a damaged one is written again, and no other file is left.
func TestUnpack(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	path, err := unpack(module, folder)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := unpack(module, folder); err != nil || again != path {
		t.Errorf("%s, %v, first %s", again, err, path)
	}
	if second, err := os.Stat(path); err != nil || !os.SameFile(first, second) {
		t.Errorf("a good file was written again: %v", err)
	}
	if err := os.WriteFile(path, module[1:], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(module, folder); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, module) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	other, err := unpack(module[1:], folder)
	if err != nil || other == path {
		t.Errorf("another module: %s, %v", other, err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestUnpackIn checks where the file lies if there is no cache folder, or none that can be written.
func TestUnpackIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cache, temp, none := t.TempDir(), t.TempDir(), errors.New("no home")
	for _, tt := range []struct {
		name, cache string
		err         error
		want        string
	}{{"a cache folder", cache, nil, cache}, {"none", "", none, temp}, {"one that cannot be written", file, nil, temp}} {
		path, err := unpackIn(module, tt.cache, tt.err, temp)
		if err != nil || !strings.HasPrefix(path, tt.want+string(filepath.Separator)) {
			t.Errorf("%s: %s, %v", tt.name, path, err)
		}
	}
	private, err := filepath.Glob(filepath.Join(temp, "harmony-edge-*"))
	if err != nil || len(private) != 1 {
		t.Fatalf("%q, %v", private, err)
	}
	if err := os.Chmod(private[0], 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := unpackIn(module, "", none, temp); err == nil || !errors.Is(err, none) ||
		!strings.Contains(err.Error(), "is not a folder of this user alone") {
		t.Errorf("in a folder that others may enter: %s, %v", path, err)
	}
	if path, err := unpackIn(module, "", none, file); err == nil {
		t.Errorf("nowhere: %s", path)
	}
}
