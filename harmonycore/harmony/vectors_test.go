package harmony_test

import (
	"math/rand"
	"os"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony/harmonytest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// The vectors are what the reference itself gave (docs/vectors.md). HARMONY_VECTORS names a folder with more of them.

// eachVector runs every vector of an area to its end or its first error, and fails when there are too few.
func eachVector[T any](t *testing.T, pattern string, minimum int, check func(v *T) error) {
	t.Helper()
	folders := []string{"testdata"}
	if more := os.Getenv("HARMONY_VECTORS"); more != "" {
		folders = append(folders, more)
	}
	for _, folder := range folders {
		n := 0
		err := vectors.Each(folder, pattern, minimum, func(at vectors.Place, v *T) error {
			n++
			if err := check(v); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s/%s: %d vectors", folder, pattern, n)
	}
}

func TestRenderVectors(t *testing.T) {
	eachVector(t, "render_*.jsonl", 2000, func(v *vectors.Conversation) error {
		return harmonytest.CheckConversation(o200k.Tokenizer(), v)
	})
}

func TestParseVectors(t *testing.T) {
	eachVector(t, "parse_*.jsonl", 2000, func(v *vectors.Stream) error {
		return harmonytest.CheckStream(o200k.Tokenizer(), v, nil)
	})
}

// TestTolerantVectors: where the reference finds nothing wrong, the tolerant parsers find the same, by ids and by text.
func TestTolerantVectors(t *testing.T) {
	compared := 0
	random := rand.New(rand.NewSource(1))
	eachVector(t, "parse_*.jsonl", 2000, func(v *vectors.Stream) error {
		ok, err := harmonytest.CheckTolerant(o200k.Tokenizer(), v, random)
		if ok {
			compared++
		}
		return err
	})
	if t.Logf("%d streams compared", compared); compared < 300 {
		t.Errorf("only %d streams were compared", compared)
	}
}
