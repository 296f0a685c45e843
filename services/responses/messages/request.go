package messages

import (
	"bytes"
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Request is a request to Messages, as the service makes a response for it.
type Request struct {
	// Response is the request for the response, and Past what it continues: all of the conversation.
	Response *input.Request
	Past     []store.Item
	// Stream reports whether the client wants events.
	Stream bool
	// thinking is what the client is shown of the reasoning, and maxTokens how long the answer may be, or 0.
	thinking  anthropic.Thinking
	maxTokens int64
	sealing   *translate.Sealing
	tools     declared
}

// Read reads a body. counting reports whether the client wants a count of tokens only. Memory for the values of the
// body is taken before they are read.
func Read(body []byte, c *input.Caller, counting bool) (*Request, *openai.Error) {
	values, err := rawjson.Count(body, rawjson.MaxDepth, openai.MaxValues)
	if err == nil && c.Share.Hold(items.MemoryPerDecoded*int64(values)) != nil {
		return nil, refusal.Overloaded("no memory for another request now")
	}
	opened, failure := openai.Open(body) // it reports what is wrong
	if failure != nil {
		return nil, failure
	}
	model := c.Settings.Model(opened.Model)
	sealing := &translate.Sealing{Keys: c.Settings.Sealer.Keys, Tenant: c.TenantValue}
	read, failure := translate.ReadServed(opened, &model, sealing, counting)
	if failure != nil {
		return nil, failure
	}
	if len(read.Stop) > 0 {
		return nil, refused("stop_sequences", "stop_sequences: not together with tools that a server runs. Leave them out")
	}
	r := &Request{Stream: read.Stream, thinking: read.Thinking, maxTokens: int64(read.MaxTokens), sealing: sealing}
	if model.Answers.HideReasoning {
		r.thinking = anthropic.ThinkingOff
	}
	if failure := r.tools.read(read, c); failure != nil {
		return nil, failure
	}
	r.Response = &input.Request{Fields: r.fields(read), Model: opened.Model, Stream: true, IncludesRead: true}
	if sealing.Keys != nil {
		r.Response.Includes = []string{items.IncludeSealed}
		r.Response.Fields["include"] = items.JSON(r.Response.Includes)
	}
	w := itemWriter{read: read, keys: sealing.Keys, bound: *c.Bound(opened.Model), now: c.Settings.Sealer.Now().Unix()}
	r.Past = w.items()
	size := int64(0)
	for i := range r.Past {
		size += int64(len(r.Past[i].Body))
	}
	if c.Share.Take(size) != nil {
		return nil, refusal.Overloaded("no memory for another request now")
	}
	return r, nil
}

// fields returns the members of the request that have the same meaning in Responses.
func (r *Request) fields(read *translate.ServedMessages) map[string]json.RawMessage {
	f := map[string]json.RawMessage{"model": items.JSON(read.Model), "tools": items.JSON(r.tools.list)}
	if text := read.Instructions(); text != "" {
		f["instructions"] = items.JSON(text)
	}
	if read.MaxTokens > 0 {
		f["max_output_tokens"] = items.JSON(max(read.MaxTokens, upstream.MinTokens))
	}
	if effort := read.Items.Effort; effort != "" {
		f["reasoning"] = items.JSON(map[string]string{"effort": effort})
	}
	if read.Budget != nil {
		f["thinking_token_budget"] = items.JSON(*read.Budget)
	}
	if read.Schema.Given() {
		f["text"] = items.JSON(map[string]any{"format": map[string]any{"type": "json_schema", "name": "response",
			"strict": true, "schema": json.RawMessage(bytes.Clone(read.Schema.Value))}})
	}
	for i := range read.Sampling {
		if p := &read.Sampling[i]; p.Value.Kind == rawjson.Number {
			f[p.Name] = bytes.Clone(p.Value.Value)
		} else {
			f[p.Name] = items.JSON("not a number") // the gateway reports what is wrong
		}
	}
	switch choice := &read.Choice; {
	case choice.None:
		f["tool_choice"] = items.JSON("none")
	case choice.Required && choice.Name == "":
		f["tool_choice"] = items.JSON("required")
	case choice.Required && choice.Name == anthropic.WebSearch && r.tools.searches:
		f["tool_choice"] = items.JSON(map[string]string{"type": choice.Name})
	case choice.Required:
		f["tool_choice"] = items.JSON(map[string]string{"type": "function", "name": choice.Name})
	}
	if read.Choice.OneCall {
		f["parallel_tool_calls"] = json.RawMessage("false")
	}
	return f
}
