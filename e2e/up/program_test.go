//go:build e2e

package up

import (
	"bytes"
	"os"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestUnusedMethods checks that the linker has left out what the program does not use. It keeps every method of every
// type as soon as one reachable function looks for a method by a name that it does not know, as templates do: the
// program was a quarter larger (RATIONALE.md#115). `go build -ldflags=-dumpdep` names such functions <ReflectMethod>.
func TestUnusedMethods(t *testing.T) {
	program, err := os.ReadFile(lab.Tool(t, "HARMONY_BIN"))
	if err != nil {
		t.Fatal(err)
	}
	const used, unused = "go-redis/v9.cmdable.EvalSha", "go-redis/v9.cmdable.GeoAdd"
	if !bytes.Contains(program, []byte(used)) {
		t.Fatalf("%s is not in the program: this test needs another method that is", used)
	}
	if bytes.Contains(program, []byte(unused)) {
		t.Errorf("%s is in the program of %d bytes, which make build has not made or which uses templates", unused,
			len(program))
	}
}
