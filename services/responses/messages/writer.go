package messages

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Writer writes a message from the events of a response: as events, or whole. One state machine makes both.
//
//	begun ─▶ (block opened ─▶ delta* ─▶ block closed)* ─▶ the client's calls ─▶ ended | error
//
// The client's own calls are held until the response ends: behind them nothing else may come, and the service's calls
// of the same round are shown only when it has ended (RATIONALE.md#244). Text and reasoning behind such a call are left
// out, as without a service.
type Writer struct {
	request *Request
	// send takes events. It is nil for a whole message.
	send    func([]byte) error
	out     []byte
	message anthropic.Message
	events  anthropic.Events
	// block is the block of the item that is open, opened reports whether it has begun, and skips whether the item is left
	// out. preamble reports whether it is text before a call.
	block                   anthropic.OutputBlock
	opened, skips, preamble bool
	// begun reports whether the response is in progress.
	begun bool
	// hidden are the seals of reasoning that the client is not shown, which wait for a call. held are the client's calls.
	hidden [][]byte
	held   []calledItem
	// searched counts the searches of the web.
	searched int
	failure  *openai.Error
}

// NewWriter returns a writer. id is the response's. Without send the message is whole.
func (r *Request) NewWriter(id string, send func([]byte) error) *Writer {
	return &Writer{request: r, send: send, message: anthropic.Message{
		ID: "msg_" + strings.TrimPrefix(id, "resp_"), Model: r.Response.Model}}
}

// eventBody is what of an event the writer reads.
type eventBody struct {
	Item       calledItem      `json:"item"`
	Delta      string          `json:"delta"`
	Arguments  string          `json:"arguments"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Annotation json.RawMessage `json:"annotation"`
	Response   struct {
		Status     string          `json:"status"`
		Usage      json.RawMessage `json:"usage"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
}

// Take takes the next event of the response.
func (w *Writer) Take(e *upstream.Event) error {
	var body eventBody
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	w.take(e.Kind, &body)
	if w.send == nil || len(w.out) == 0 {
		return nil
	}
	err := w.send(w.out)
	w.out = w.out[:0]
	return err
}

func (w *Writer) take(kind string, body *eventBody) {
	switch kind {
	case "response.created":
		if w.send != nil {
			w.out = w.events.AppendStart(w.out, &w.message)
		}
	case "response.in_progress": // again and again in a quiet stream
		if w.begun && w.send != nil {
			w.out = anthropic.AppendPing(w.out)
		}
		w.begun = true
	case "response.output_item.added":
		w.begin(&body.Item)
	case "response.output_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		w.text(body.Delta)
	case "response.output_text.annotation.added":
		w.cite(body.Annotation)
	case "response.mcp_call_arguments.done":
		w.call(body.Arguments)
	case "response.code_interpreter_call_code.done":
		w.call(string(items.JSON(map[string]string{"code": body.Code})))
	case "response.output_item.done":
		w.end(&body.Item)
	case "error":
		w.failure = &openai.Error{Status: statusOf(body.Code), Code: body.Code, Message: body.Message}
	case "response.completed", "response.incomplete":
		w.finish(body)
	case "response.failed":
		w.fail()
	}
}

// begin begins an item.
func (w *Writer) begin(item *calledItem) {
	w.block = anthropic.OutputBlock{Text: w.block.Text[:0]}
	w.opened, w.skips, w.preamble = false, len(w.held) > 0, item.Phase == openai.PhaseCommentary
	switch item.Type {
	case items.TypeReasoning:
		w.block.Kind = anthropic.OutputThinking
		if w.request.thinking != anthropic.ThinkingOff && !w.skips {
			w.open()
		}
	case items.TypeMessage:
		w.block.Kind = anthropic.OutputText
	case items.TypeSearchCall:
		w.block.Kind, w.block.ID, w.block.Name = anthropic.OutputServerUse, item.servedID(), anthropic.WebSearch
		w.call(item.plain().Arguments)
	case items.TypeMCPCall, items.TypeCodeCall:
		w.block.Kind, w.block.ID = anthropic.OutputMCPUse, item.servedID()
		w.block.Name, w.block.Server = item.Name, w.request.tools.name(item.Label)
		if item.Type == items.TypeCodeCall {
			w.block.Name, w.block.Server = items.PythonNamespace, items.PythonNamespace
		}
	}
}

// open opens the block, behind the reasoning that has waited for it.
func (w *Writer) open() {
	w.opened = true
	if w.block.Kind != anthropic.OutputText || w.preamble {
		w.showHidden()
	}
	w.hidden = nil
	if w.send != nil {
		w.out = w.events.AppendBlockOpened(w.out, &w.block)
	}
}

func (w *Writer) showHidden() {
	for _, sealed := range w.hidden {
		w.whole(&anthropic.OutputBlock{Kind: anthropic.OutputRedacted, Sealed: sealed})
	}
	w.hidden = nil
}

// whole writes a block that has no deltas.
func (w *Writer) whole(b *anthropic.OutputBlock) {
	if w.send != nil {
		w.out = w.events.AppendWholeBlock(w.out, b)
		return
	}
	if len(w.message.Content) > 0 {
		w.message.Content = append(w.message.Content, ',')
	}
	w.message.Content = anthropic.AppendOutput(w.message.Content, b)
}

// close ends the block.
func (w *Writer) close() {
	w.opened = false
	if w.send != nil {
		w.out = w.events.AppendBlockClosed(w.out)
		return
	}
	w.whole(&w.block)
}

// text takes a piece of the item's text.
func (w *Writer) text(piece string) {
	if w.skips || piece == "" || w.block.Kind == anthropic.OutputThinking &&
		w.request.thinking != anthropic.ThinkingShown {
		return
	}
	if !w.opened {
		w.open()
	}
	if w.send != nil {
		w.out = w.events.AppendDelta(w.out, []byte(piece))
	} else {
		w.block.Text = rawjson.AppendEscaped(w.block.Text, piece)
	}
}

// cite takes a citation of the text.
func (w *Writer) cite(annotation json.RawMessage) {
	var a struct{ URL, Title string }
	if !w.opened || w.block.Kind != anthropic.OutputText || json.Unmarshal(annotation, &a) != nil || a.URL == "" {
		return
	}
	citation := anthropic.AppendCitation(nil, a.URL, a.Title)
	if w.send != nil {
		w.out = w.events.AppendCited(w.out, citation)
		return
	}
	if len(w.block.Citations) > 0 {
		w.block.Citations = append(w.block.Citations, ',')
	}
	w.block.Citations = append(w.block.Citations, citation...)
}

// call writes a call that the service runs. It is shown before it has ended, so that a client sees what it waits for.
func (w *Writer) call(arguments string) {
	if w.opened || w.block.Kind != anthropic.OutputServerUse && w.block.Kind != anthropic.OutputMCPUse {
		return
	}
	w.block.Arguments = []byte(arguments)
	w.open()
	if w.send != nil {
		w.out = w.events.AppendDelta(w.out, w.block.AppendInput(nil))
	}
	w.close()
}

// end ends an item.
func (w *Writer) end(item *calledItem) {
	switch item.Type {
	case items.TypeReasoning:
		w.endReasoning(item)
	case items.TypeMessage:
		if w.opened {
			w.close()
		}
	case items.TypeSearchCall:
		w.found(item)
	case items.TypeMCPCall, items.TypeCodeCall:
		w.returned(item)
	case "function_call", "custom_tool_call":
		w.held = append(w.held, *item)
	}
	w.block.Kind = 0
}

// endReasoning ends reasoning. What is sealed of it comes back as its signature.
func (w *Writer) endReasoning(item *calledItem) {
	sealed := []byte(`""`)
	if item.Sealed != "" {
		sealed = items.JSON(item.Sealed)
	}
	switch {
	case w.skips:
	case !w.opened && item.Sealed != "":
		w.hidden = append(w.hidden, sealed)
	case w.opened:
		if w.block.Sealed = sealed; w.send != nil {
			w.out = w.events.AppendSignature(w.out, &w.block)
		}
		w.close()
	}
}

// finish ends the message.
func (w *Writer) finish(body *eventBody) {
	cut := false
	for i := range w.held {
		w.useTool(&w.held[i])
		cut = cut || w.held[i].Status == items.Incomplete
	}
	var u upstream.Usage
	_ = json.Unmarshal(items.OrNull(body.Response.Usage), &u) // without one, nothing was counted
	w.message.Usage = anthropic.Usage{Prompt: int(u.Input), Cached: int(u.InputDetails.Cached),
		Output: int(u.Output), Thinking: int(u.OutputDetails.Reasoning), Served: true, Searches: w.searched}
	w.message.StopReason = w.stopReason(body, &u, cut)
	if w.send != nil {
		w.out = w.events.AppendEnd(w.out, &w.message)
	}
}

// useTool writes a call that the client is to run.
func (w *Writer) useTool(item *calledItem) {
	w.block = anthropic.OutputBlock{Kind: anthropic.OutputToolUse, ID: "toolu_" + strings.TrimPrefix(item.CallID, "call_"),
		Name: item.Name, Arguments: []byte(item.arguments())}
	w.open()
	if input := w.block.AppendInput(nil); w.send != nil && string(input) != "{}" {
		w.out = w.events.AppendDelta(w.out, input)
	}
	w.close()
}

// stopReason returns why the message has ended. cut reports whether one of the client's calls is not whole.
func (w *Writer) stopReason(body *eventBody, u *upstream.Usage, cut bool) string {
	reason := body.Response.Incomplete.Reason
	switch {
	case reason == openai.ReasonContentFilter:
		return anthropic.StopRefusal
	case len(w.held) > 0 && !cut:
		return anthropic.StopToolUse
	case reason == "":
		return anthropic.StopEndTurn
	case w.request.maxTokens == 0 || u.Output+upstream.MinTokens < w.request.maxTokens:
		return anthropic.StopWindow // nothing else has cut it
	}
	return anthropic.StopMaxTokens
}

// fail ends a message that has failed.
func (w *Writer) fail() {
	if w.failure == nil {
		w.failure = &openai.Error{Status: 500, Message: "The answer has failed. Try again."}
	}
	if w.send != nil {
		w.out = w.events.AppendFailure(w.out, w.failure)
	}
}

// Message returns the whole message.
func (w *Writer) Message() []byte { return w.message.AppendJSON(nil) }
