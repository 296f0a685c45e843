package turn

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// stream is what the client has of a response: its finished items, and the numbers of its events.
type stream struct {
	// share pays for the items.
	share *quota.Share
	// unveiled reports whether the events keep what only the service sees.
	unveiled bool
	// includes are the additions to items that the client has asked for.
	includes []string
	// sealing reports whether the gateway is asked for the sealed reasoning only for the service. The client does not get
	// it.
	sealing bool
	// sampling reports whether the service keeps the ids that the model samples. The client gets them if it asks.
	sampling bool
	// output holds the finished items: as the gateway has sent them, or of the service's own making.
	output []json.RawMessage
	// sequence is the number of events that the client has got, and index the number of items that have begun.
	sequence int64
	index    int
	// begun is the number of events that the client has from an earlier attempt.
	begun int64
	// indexes are the client's output_index for each of the gateway's in this round. The indexes of calls of the service's
	// tools are hiddenIndex.
	indexes map[int]int
	// unfinished is the item that the client has seen begin and not end, or nil.
	unfinished *openItem
}

// shown returns a finished item as the client gets it.
func (s *stream) shown(raw json.RawMessage) json.RawMessage {
	if s.unveiled {
		return raw
	}
	if s.sealing {
		raw = items.WithoutSealed(raw)
	}
	return items.WithoutHidden(raw, s.includes)
}

// open sends the events with which a stream begins, of the service's own making.
func (s *stream) open(o upstream.Object, send func(*upstream.Event) error) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := send(&upstream.Event{Kind: kind, Data: upstream.Lifecycle(kind, s.sequence, items.JSON(o))}); err != nil {
			return err
		}
		s.sequence++
	}
	return nil
}

// pass gives an event to the client, if it does not have it from an earlier attempt.
func (s *stream) pass(e *upstream.Event, emit func(*upstream.Event) error) error {
	if err := s.follow(e); err != nil {
		return err
	}
	s.sequence++
	if s.sequence <= s.begun {
		return nil
	}
	return emit(e)
}

// renumber changes the numbers of an event. An event of a hidden item has no kind afterwards.
func (s *stream) renumber(e *upstream.Event) error {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	hidden, err := s.number(body)
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
func (s *stream) passNumbered(e *upstream.Event, emit func(*upstream.Event) error) error {
	if err := s.renumber(e); err != nil || e.Kind == "" {
		return err
	}
	return s.pass(e, emit)
}

// number changes the numbers of an event, and reports whether its item is hidden.
func (s *stream) number(body map[string]json.RawMessage) (hidden bool, err error) {
	if raw, has := body["output_index"]; has {
		index := 0
		if err := json.Unmarshal(raw, &index); err != nil {
			return false, err
		}
		to, known := s.indexes[index]
		if !known || to == hiddenIndex {
			return true, nil
		}
		body["output_index"] = items.JSON(to)
	}
	body["sequence_number"] = items.JSON(s.sequence)
	return false, nil
}

// sendEvent gives the client an event about an item of the service's own.
func (s *stream) sendEvent(emit func(*upstream.Event) error, kind string, fields map[string]any) error {
	fields["type"], fields["sequence_number"] = kind, s.sequence
	return s.pass(&upstream.Event{Kind: kind, Data: items.JSON(fields)}, emit)
}

// showItem gives the client an item that is finished when it begins.
func (s *stream) showItem(item json.RawMessage, emit func(*upstream.Event) error) error {
	if err := s.share.Take(int64(len(item))); err != nil {
		return err
	}
	return s.during(item, item, emit, func(int) error { return nil })
}

// during shows an item: as it begins, what happens meanwhile, and as it ends.
func (s *stream) during(begun, finished json.RawMessage, emit func(*upstream.Event) error,
	meanwhile func(index int) error) error {
	index := s.index
	s.index++
	err := s.sendEvent(emit, "response.output_item.added", map[string]any{"output_index": index, "item": s.shown(begun)})
	if err == nil {
		err = meanwhile(index)
	}
	if err != nil {
		return err
	}
	return s.finishItem(index, finished, emit)
}

// finishItem shows and keeps a finished item.
func (s *stream) finishItem(index int, item json.RawMessage, emit func(*upstream.Event) error) error {
	s.output = append(s.output, item)
	return s.sendEvent(emit, "response.output_item.done", map[string]any{"output_index": index, "item": s.shown(item)})
}

// sendEach sends events that tell of an item's progress.
func (s *stream) sendEach(emit func(*upstream.Event) error, index int, id string, kinds ...string) error {
	for _, kind := range kinds {
		if err := s.sendEvent(emit, kind, map[string]any{"output_index": index, "item_id": id}); err != nil {
			return err
		}
	}
	return nil
}
