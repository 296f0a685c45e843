package meshtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/mesh"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Resolve reads a configuration's file.
func Resolve(t *testing.T, file string) *config.Resolved {
	t.Helper()
	c, err := config.Load(file)
	return resolved(t, c, err)
}

// Parse reads a configuration in YAML.
func Parse(t *testing.T, text string) *config.Resolved {
	t.Helper()
	c, err := config.Parse("test", []byte(text))
	return resolved(t, c, err)
}

func resolved(t *testing.T, c *config.Config, err error) *config.Resolved {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Golden compares what a mesh's package makes of each testdata/NAME.yaml with NAME.golden. There must be as many inputs
// as want says.
func Golden(t *testing.T, want int, objects func(name string, c *config.Resolved) (string, []mesh.Object, error)) {
	t.Helper()
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) != want {
		t.Fatalf("%d inputs, want %d: %v", len(inputs), want, err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".yaml")
		t.Run(name, func(t *testing.T) {
			comment, all, err := objects(name, Resolve(t, input))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := mesh.Write(&got, comment, all); err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join("testdata", name+".golden"), got.Bytes())
		})
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the objects are not those in %s; run go test -update and look at the difference", golden)
	}
}
