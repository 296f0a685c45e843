package ads

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

func TestSaveAndLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "snapshot.json")
	r := testResources(t, 1, "a", "b")
	for range 2 { // the second file replaces the first one
		r[resource.SecretType] = append(r[resource.SecretType], secret("key", "sesame"))
		if err := Save(file, r); err != nil {
			t.Fatal(err)
		}
		delete(r, resource.SecretType)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "sesame") || !strings.Contains(string(text), `"cluster_name": "a"`) {
		t.Errorf("saved:\n%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	loaded, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{})
	set(t, s, r)
	if changed, err := s.Set(loaded); err != nil || changed {
		t.Errorf("what was loaded is not what was saved: changed %v, %v", changed, err)
	}
}

func TestLoadRefusesDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "snapshot.json")
	if _, err := Load(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := Save(file, testResources(t, 1, "a")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for name, text := range map[string]string{
		"empty": "", "half": whole[:len(whole)/2], "another file": "listen: 127.0.0.1:0\n",
		"another field": strings.Replace(whole, "cluster_name", "cluster_nome", 1),
		"inconsistent":  strings.Replace(whole, `"cluster_name": "a"`, `"cluster_name": "x"`, 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "delete it") ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSaveFailsLoudly(t *testing.T) {
	if err := Save(filepath.Join(t.TempDir(), "none", "snapshot.json"), testResources(t, 1, "a")); err == nil {
		t.Error("saved into a folder that is not there")
	}
	file := filepath.Join(t.TempDir(), "snapshot.json")
	if err := Save(file, Resources{resource.ClusterType: {cluster("a", 0)}}); err == nil {
		t.Error("saved what does not fit together")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is there: %v", err)
	}
}
