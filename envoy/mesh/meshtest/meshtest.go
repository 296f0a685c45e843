package meshtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/internal/golden"
	"github.com/harmonyedge/harmonyedge/operator/config"
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

// Objects returns a mesh's objects for a configuration's file, and the comment before them.
type Objects func(name string, c *config.Resolved) (comment string, objects []mesh.Object, err error)

// Golden compares what a mesh's package makes of each testdata/NAME.yaml: of one of them, first, with first.golden, and
// of the others with NAME.diff, their differences to first.golden. There must be as many inputs as want says.
func Golden(t *testing.T, want int, first string, objects Objects) {
	t.Helper()
	whole := filepath.Join("testdata", first+".golden")
	golden.Compare(t, *update, whole, nil, written(t, first, objects))
	base, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(inputs) != want {
		t.Fatalf("%d inputs, want %d: %v", len(inputs), want, err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".yaml")
		if name == first {
			continue
		}
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, *update, filepath.Join("testdata", name+".diff"), base, written(t, name, objects))
		})
	}
}

// written returns the objects for testdata/NAME.yaml as they are written.
func written(t *testing.T, name string, objects Objects) []byte {
	t.Helper()
	comment, all, err := objects(name, Resolve(t, filepath.Join("testdata", name+".yaml")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := mesh.Write(&out, comment, all); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
