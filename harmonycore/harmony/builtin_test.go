package harmony

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestBuiltinTools compares the ids of a system message with what tools/harmonyvectors/builtin.py prints.
func TestBuiltinTools(t *testing.T) {
	const count, sum = 667, "3246d90a6817130b566997e7f0075ff6ef51358d0bee606ca1ec6fad16e095cd"
	system := &SystemContent{Tools: []Namespace{PythonTools(), ContainerTools(), BrowserTools()}}
	ids, err := NewRenderer(o200k.Tokenizer()).AppendMessage(
		nil, &Message{Role: System, Content: []Content{{System: system}}})
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i, id := range ids {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendUint(text, uint64(id), 10)
	}
	if got := sha256.Sum256(text); len(ids) != count || hex.EncodeToString(got[:]) != sum {
		t.Errorf("%d ids, %x", len(ids), got)
	}
}
