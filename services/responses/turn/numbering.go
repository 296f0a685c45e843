package turn

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// hiddenIndex is the output_index of an item that the client does not get.
const hiddenIndex = -1

// numbers reports whether the service numbers the events itself, because some are of its own making.
func (t *Turn) numbers() bool { return t.hosted != nil || t.compaction != nil }

// renumber changes the numbers of an event. An event of a hidden item has no kind afterwards.
func (t *Turn) renumber(e *upstream.Event) error {
	if !t.numbers() {
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	hidden, err := t.number(body)
	if err != nil {
		return err
	}
	if hidden {
		e.Kind = ""
		return nil
	}
	e.Data = items.JSON(body)
	return nil
}

// passNumbered renumbers an event of the service's own, and gives it to the client.
func (t *Turn) passNumbered(e *upstream.Event, emit func(*upstream.Event) error) error {
	if err := t.renumber(e); err != nil || e.Kind == "" {
		return err
	}
	return t.pass(e, emit)
}

// number changes the numbers of an event, and reports whether its item is hidden.
func (t *Turn) number(body map[string]json.RawMessage) (hidden bool, err error) {
	if raw, has := body["output_index"]; has {
		index := 0
		if err := json.Unmarshal(raw, &index); err != nil {
			return false, err
		}
		to, known := t.round.indexes[index]
		if !known || to == hiddenIndex {
			return true, nil
		}
		body["output_index"] = items.JSON(to)
	}
	body["sequence_number"] = items.JSON(t.sequence)
	return false, nil
}

// takeNumbered numbers the event of an item that begins or has ended. It reports whether the item is a call of the
// service's tools, which it keeps.
func (t *Turn) takeNumbered(body map[string]json.RawMessage, added bool) (taken bool, err error) {
	index := 0
	if err := json.Unmarshal(body["output_index"], &index); err != nil {
		return false, err
	}
	call := t.hosted.CallOf(body["item"])
	if added {
		t.round.indexes[index] = hiddenIndex
		if call == nil {
			t.round.indexes[index] = t.index
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
