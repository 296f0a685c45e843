package turn

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// hiddenIndex is the output_index of an item that the client does not get.
const hiddenIndex = -1

// numbers reports whether the service numbers the events itself, because some are of its own making.
func (t *Turn) numbers() bool { return t.hosted != nil || t.compaction != nil }

// takeNumbered numbers the event of an item that begins or has ended. It reports whether the item is a call of the
// service's tools, which it keeps.
func (t *Turn) takeNumbered(body map[string]json.RawMessage, added bool) (taken bool, err error) {
	index := 0
	if err := json.Unmarshal(body["output_index"], &index); err != nil {
		return false, err
	}
	call := t.hosted.CallOf(body["item"])
	if added {
		t.indexes[index] = hiddenIndex
		if call == nil {
			t.indexes[index] = t.index
			t.index++
		}
	}
	if call != nil {
		if !added {
			t.round.calls = append(t.round.calls, call)
		}
		return true, nil
	}
	if !added && strings.HasSuffix(items.Of(body["item"]).Type, "_call") {
		t.round.waits = true
	}
	_, err = t.number(body)
	return false, err
}
