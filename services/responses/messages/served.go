package messages

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/services/responses/browse"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// calledItem is what of an item the writer reads: of a call, of reasoning or of text. It has what no client sees
// ([turn.Turn.Unveil]).
type calledItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Phase     string          `json:"phase"`
	Status    string          `json:"status"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Label     string          `json:"server_label"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Error     json.RawMessage `json:"error"`
	Sealed    string          `json:"encrypted_content"`
	Action    json.RawMessage `json:"action"`
	Plain     []plainItem     `json:"harmony_items"`
	Chain     string          `json:"harmony_client"`
}

// plainItem is a call or its result, as the model's gateway has it.
type plainItem struct{ Name, Arguments, Output string }

// plain returns the call as the model has written it.
func (i *calledItem) plain() plainItem {
	if len(i.Plain) == 0 {
		return plainItem{}
	}
	return i.Plain[0]
}

// result returns what the call has returned, as the model has read it.
func (i *calledItem) result() string {
	if len(i.Plain) < 2 {
		return ""
	}
	return i.Plain[1].Output
}

// arguments returns the arguments of a call of the client's.
func (i *calledItem) arguments() (text string) {
	if i.Input != "" {
		return i.Input
	}
	if json.Unmarshal(items.OrNull(i.Arguments), &text) != nil {
		return string(i.Arguments)
	}
	return text
}

// servedID returns the id of a call that the service runs.
func (i *calledItem) servedID() string {
	_, id, ok := strings.Cut(i.ID, "_")
	if !ok {
		id = i.ID
	}
	if i.Type == items.TypeSearchCall {
		return "srvtoolu_" + id
	}
	return "mcptoolu_" + id
}

// found writes what a call of the browser has returned. The first page carries what the model has read.
func (w *Writer) found(item *calledItem) {
	id, call, text := item.servedID(), item.plain(), item.result()
	block := anthropic.OutputBlock{Kind: anthropic.OutputWhole}
	if item.Status != items.Completed {
		reason := anthropic.SearchUnavailable
		if text == hosted.TextOfDenied {
			reason = anthropic.SearchMaxUses
		}
		block.Text = anthropic.AppendSearchFailed(nil, id, reason)
		w.whole(&block)
		return
	}
	asked := browse.Call{Name: call.Name, Arguments: json.RawMessage(call.Arguments)}
	if strings.HasSuffix(call.Name, ".search") {
		w.searched++
	}
	var action struct{ URL, Query string }
	_ = json.Unmarshal(items.OrNull(item.Action), &action) // one of another form has neither
	pages := []anthropic.Page{}
	for _, f := range browse.PagesOf(asked, text, action.URL) {
		pages = append(pages, anthropic.Page{URL: f.URL, Title: f.Title})
	}
	if len(pages) == 0 {
		pages = append(pages, anthropic.Page{URL: action.URL, Title: action.Query})
	}
	pages[0].Sealed = w.request.sealing.SealSearched(&translate.Searched{Name: call.Name, Arguments: call.Arguments,
		Output: text, Chain: item.Chain})
	block.Text = anthropic.AppendPages(nil, id, pages)
	w.whole(&block)
}

// returned writes what a tool of an MCP server has returned, as the model has read it.
func (w *Writer) returned(item *calledItem) {
	text := item.result()
	if len(item.Plain) < 2 {
		output := ""
		_ = json.Unmarshal(items.OrNull(item.Output), &output) // a call that has failed has none
		text = items.ResultText(output, item.Error, item.Status)
	}
	w.whole(&anthropic.OutputBlock{Kind: anthropic.OutputWhole,
		Text: anthropic.AppendMCPResult(nil, item.servedID(), text, item.Status != items.Completed)})
}
