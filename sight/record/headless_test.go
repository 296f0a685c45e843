package record

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// TestLostBeginning checks that a request of which only the end has come is in the list, and says why.
func TestLostBeginning(t *testing.T) {
	r := newRecorder(t, Options{})
	var b batch
	b.add(tap.Chunk, 7, 0, "data: x\n\n").add(tap.End, 7, 5, tap.EndReport{API: "chat", Model: "m", Status: 200, FirstTokenMS: 3,
		CompletionTokens: 17, Finish: "stop", LostFrames: 12})
	if status := b.post(t, r, "1f"); status != 204 {
		t.Fatalf("status %d", status)
	}
	all := r.Summaries()
	if len(all) != 1 || all[0].Running || all[0].Broken != "its beginning was lost" || all[0].CompletionTokens != 17 ||
		all[0].Model != "m" || all[0].ID != "1f-7" {
		t.Fatalf("got %+v", all)
	}
	lines, _ := r.Lines("1f-7")
	if text := string(lines); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"lost_frames":12`) ||
		!strings.Contains(text, `"broken":"its beginning was lost"`) || strings.Contains(text, "data: x") {
		t.Errorf("the record is %s", text)
	}
}
