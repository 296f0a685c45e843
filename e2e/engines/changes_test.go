package engines

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

// TestChanges checks that each change is named, and that the prompts are of more than one block of any engine.
func TestChanges(t *testing.T) {
	for i, c := range Changes() {
		d, err := inspect.NewDiff(o200k.Tokenizer(), inspect.DiffFile{Name: "a", Data: c.First},
			inspect.DiffFile{Name: "b", Data: c.Next}, inspect.DiffOptions{Block: 1})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := RenderLine(c.Next)
		if err != nil {
			t.Fatal(err)
		}
		if d.Reason.String() != c.Reason || len(ids) != d.Cached+d.Computed || len(ids) < 300 {
			t.Errorf("change %d, %s: %+v, %d ids", i, c.Reason, d.Difference, len(ids))
		}
	}
}
