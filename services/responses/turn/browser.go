package turn

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/browse"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// browsing is the state of a turn with a browser.
type browsing struct {
	// chain is the id by which the servers of gpt-oss's own tools know the chain: their pages and sessions are kept for it.
	// Nobody can guess it, so tenants share none.
	chain string
	// pages are those that the browser has shown, or nil if they have not been looked up yet.
	pages *browse.Pages
	// citing are the messages that may cite them, by id. cited are annotations that wait for the delta before them.
	citing map[string]*citing
	cited  []map[string]any
}

// browses reports whether the request offers the browser.
func (t *Turn) browses() bool {
	return t.hosted != nil && t.hosted.Builtins[items.BrowserNamespace] != nil
}

// browser returns the browser of the conversation.
func (t *Turn) browser() *browsing {
	if t.browsing.pages == nil {
		t.browsing.open(t.settings.Tools.BrowserCursors, t.past, t.input)
	}
	return &t.browsing
}

// open reads what the parts of a conversation tell of its browser. cursors reports whether a page that is not known is
// shown as cursor:3.
func (b *browsing) open(cursors bool, parts ...[]store.Item) {
	b.pages = &browse.Pages{Cursors: cursors}
	for _, list := range parts {
		for i := range list {
			switch list[i].Type {
			case items.TypeSearchCall:
				b.remember(list[i].Body)
			case items.TypeCodeCall, items.TypeMCPCall:
			default:
				continue
			}
			var item map[string]json.RawMessage
			client := ""
			if json.Unmarshal(list[i].Body, &item) == nil &&
				json.Unmarshal(items.OrNull(item[items.HiddenClient]), &client) == nil && client != "" {
				b.chain = client
			}
		}
	}
	if b.chain == "" {
		b.chain = items.NewID("chain")
	}
}

// remember notes the page that a stored call has shown.
func (b *browsing) remember(body json.RawMessage) {
	var item map[string]json.RawMessage
	var pair []struct{ Name, Arguments, Output string }
	if json.Unmarshal(body, &item) != nil || json.Unmarshal(items.OrNull(item[items.HiddenItems]), &pair) != nil ||
		len(pair) != 2 {
		return
	}
	b.pages.Shown(browse.Call{Name: pair[0].Name, Arguments: json.RawMessage(pair[0].Arguments)}, pair[1].Output)
}

// action returns the action of a browser's call. A call that has ended changes the pages.
func (b *browsing) action(c *hosted.Call, ended bool) json.RawMessage {
	call := browse.Call{Name: c.Name, Arguments: json.RawMessage(c.Sent)}
	if !ended {
		return b.pages.Asked(call)
	}
	return b.pages.Shown(call, c.Result.Text)
}

// withSources returns a finished item with the pages that the model has opened from it, if it is a search. The findings
// of a search are not in its result, so these are the sources that are known.
func (b *browsing) withSources(raw json.RawMessage) json.RawMessage {
	if items.Of(raw).Type != items.TypeSearchCall {
		return raw
	}
	var fields, action map[string]json.RawMessage
	var pair []struct{ Output string }
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["action"], &action) != nil ||
		string(action["type"]) != `"search"` || json.Unmarshal(items.OrNull(fields[items.HiddenItems]), &pair) != nil || len(pair) != 2 {
		return raw
	}
	type source struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	sources := []source{}
	if cursor, shows := browse.Cursor(pair[1].Output); shows {
		for _, url := range b.pages.Sources(cursor) {
			sources = append(sources, source{"url", url})
		}
	}
	action["sources"] = items.JSON(sources)
	fields["action"] = items.JSON(action)
	return items.JSON(fields)
}

// citing rewrites the citations of one message.
type citing struct {
	citer *browse.Citer
	// index is the message's output_index for the client.
	index json.RawMessage
	// text is what the client has got.
	text  strings.Builder
	cited []browse.Citation
}

// takeText changes the events of a message's text that may have citations: they become links, and annotations. It
// calls before for what comes before the event.
func (b *browsing) takeText(e *upstream.Event, before func(*upstream.Event) error) error {
	switch e.Kind {
	case "response.output_text.delta", "response.output_text.done", "response.content_part.done":
	default:
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	id := ""
	_ = json.Unmarshal(items.OrNull(body["item_id"]), &id)
	c := b.citing[id]
	if c == nil {
		return nil
	}
	switch e.Kind {
	case "response.output_text.delta":
		return b.citeDelta(e, body, c)
	case "response.output_text.done":
		if rest := c.citer.End(); rest != "" {
			c.text.WriteString(rest)
			if err := before(deltaEvent(body, rest)); err != nil {
				return err
			}
		}
		body["text"] = items.JSON(c.text.String())
	default:
		body["part"] = c.cite(body["part"])
	}
	e.Data = items.JSON(body)
	return nil
}

// deltaEvent returns a further delta of the text that an event ends.
func deltaEvent(done map[string]json.RawMessage, text string) *upstream.Event {
	body := map[string]json.RawMessage{"delta": items.JSON(text), "logprobs": json.RawMessage("[]")}
	for _, name := range []string{"item_id", "output_index", "content_index", "sequence_number"} {
		body[name] = done[name]
	}
	const kind = "response.output_text.delta"
	body["type"] = items.JSON(kind)
	return &upstream.Event{Kind: kind, Data: items.JSON(body)}
}

// citeDelta changes a delta. Its citations are sent after it. A delta of which nothing is shown yet has no kind
// afterwards.
func (b *browsing) citeDelta(e *upstream.Event, body map[string]json.RawMessage, c *citing) error {
	delta := ""
	if err := json.Unmarshal(body["delta"], &delta); err != nil {
		return err
	}
	out, cited := c.citer.Write(delta)
	c.text.WriteString(out)
	if out == delta && len(cited) == 0 {
		return nil
	}
	if out == "" {
		e.Kind = ""
		return nil
	}
	body["delta"] = items.JSON(out)
	e.Data = items.JSON(body)
	for i := range cited {
		b.cited = append(b.cited, map[string]any{"item_id": body["item_id"], "output_index": c.index,
			"content_index": body["content_index"], "annotation_index": len(c.cited) + i, "annotation": cited[i]})
	}
	c.cited = append(c.cited, cited...)
	return nil
}

// cite returns a finished part of a message with its citations.
func (c *citing) cite(part json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(part, &fields) != nil {
		return part
	}
	fields["text"] = items.JSON(c.text.String())
	if len(c.cited) > 0 {
		fields["annotations"] = items.JSON(c.cited)
	}
	return items.JSON(fields)
}

// citeItem returns a finished message with its citations. The model's own text is kept for the model.
func (b *browsing) citeItem(item json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal(item, &fields) != nil || json.Unmarshal(items.OrNull(fields["content"]), &parts) != nil ||
		len(parts) != 1 {
		return item
	}
	id := ""
	_ = json.Unmarshal(items.OrNull(fields["id"]), &id)
	c := b.citing[id]
	if c == nil {
		return item
	}
	delete(b.citing, id)
	if len(c.cited) == 0 {
		return item
	}
	fields["content"] = items.JSON([]json.RawMessage{c.cite(parts[0])})
	fields[items.HiddenItems] = items.JSON([]json.RawMessage{items.WithoutSampled(item)})
	return items.JSON(fields)
}

// begin watches a message that begins, which may cite the browser. index is its output_index for the client.
func (b *browsing) begin(item, index json.RawMessage) {
	var fields struct{ ID, Type string }
	if json.Unmarshal(item, &fields) != nil || fields.Type != items.TypeMessage {
		return
	}
	if b.citing == nil {
		b.citing = map[string]*citing{}
	}
	b.citing[fields.ID] = &citing{citer: browse.NewCiter(b.pages), index: index}
}

// showCited sends the annotations that wait for the delta before them.
func (t *Turn) showCited(emit func(*upstream.Event) error) error {
	waiting := t.browsing.cited
	t.browsing.cited = nil
	for _, fields := range waiting {
		if err := t.sendEvent(emit, "response.output_text.annotation.added", fields); err != nil {
			return err
		}
	}
	return nil
}
