package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
)

// Request has the members of a request for a response that the service handles itself.
type Request struct {
	// Fields are those that are passed on unchanged. The gateway checks them.
	Fields map[string]json.RawMessage
	Model  string
	// Previous and Conversation are what the response continues. One of them at most is not empty.
	Previous, Conversation    string
	Stream, Background, Store bool
	// Prewarm reports whether the client wants no answer, but a response to continue.
	Prewarm bool
	// Includes are the values of include. IncludesRead reports whether they could be read: the gateway reports what is
	// wrong with them.
	Includes     []string
	IncludesRead bool
	// Input holds the items. A text is an item too.
	Input []json.RawMessage
}

// Parse reads the body of a request.
func Parse(body []byte) (*Request, *openai.Error) {
	r, failure := parseFields(body)
	if failure != nil {
		return nil, failure
	}
	return r, r.read()
}

// parseFields returns a request of which no field has been read.
func parseFields(body []byte) (*Request, *openai.Error) {
	r := &Request{Store: true}
	if err := json.Unmarshal(body, &r.Fields); err != nil || r.Fields == nil {
		return nil, refusal.Bad(contract.CodeInvalidJSON, "", "The body is not a JSON object.")
	}
	return r, nil
}

// read reads the fields that the service handles itself.
func (r *Request) read() *openai.Error {
	for _, field := range []struct {
		name, want string
		into       any
	}{
		{"previous_response_id", "a string", &r.Previous},
		{"stream", "a boolean", &r.Stream},
		{"background", "a boolean", &r.Background},
		{"store", "a boolean", &r.Store},
	} {
		if failure := r.take(field.name, field.want, field.into); failure != nil {
			return failure
		}
	}
	// The gateway reports these, if they are wrong.
	_ = json.Unmarshal(r.Fields["model"], &r.Model)
	r.IncludesRead = json.Unmarshal(items.OrNull(r.Fields["include"]), &r.Includes) == nil
	if failure := r.takeConversation(); failure != nil {
		return failure
	}
	switch {
	case r.Previous != "" && r.Conversation != "":
		return refusal.Bad(contract.CodeMutuallyExclusive, "previous_response_id", "Mutually exclusive parameters. "+
			"Ensure you are only providing one of: 'previous_response_id' or 'conversation'.")
	case r.Background && !r.Store:
		return refusal.Bad(contract.CodeUnsupportedParameter, "background",
			"Unsupported parameter: 'background' needs 'store' to be true.")
	}
	return r.takeInput()
}

// take reads a field and removes it.
func (r *Request) take(name, want string, into any) *openai.Error {
	raw, given := r.Fields[name]
	delete(r.Fields, name)
	if !given || items.IsNull(raw) {
		return nil
	}
	if json.Unmarshal(raw, into) != nil {
		return refusal.WrongType(name, want)
	}
	return nil
}

// takeConversation reads the conversation's id, which is the field itself or its member.
func (r *Request) takeConversation() *openai.Error {
	var whole json.RawMessage
	if failure := r.take("conversation", "", &whole); failure != nil || whole == nil {
		return failure
	}
	var object struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(whole, &r.Conversation) == nil {
		return nil
	}
	if json.Unmarshal(whole, &object) != nil || object.ID == nil {
		return refusal.WrongType("conversation", "a string, or an object with an id")
	}
	r.Conversation = *object.ID
	return nil
}

func (r *Request) takeInput() *openai.Error {
	raw, given := r.Fields["input"]
	delete(r.Fields, "input")
	if !given || items.IsNull(raw) {
		return nil
	}
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		r.Input = []json.RawMessage{items.JSON(map[string]string{"type": "message", "role": "user", "content": text})}
		return nil
	}
	if json.Unmarshal(raw, &r.Input) != nil {
		return refusal.WrongType("input", "a string or an array of items")
	}
	return nil
}

// includesValue reports whether the client asked for an addition to the answer.
func (r *Request) includesValue(value string) bool { return slices.Contains(r.Includes, value) }

// Plain returns the body of a request that needs no store: fields of a request, and all items.
func Plain(fields map[string]json.RawMessage, list []json.RawMessage, stream bool) []byte {
	b := bytes.NewBufferString(`{"store":false,"stream":`)
	fmt.Fprintf(b, "%t", stream)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteByte(',')
		b.Write(items.JSON(name))
		b.WriteByte(':')
		b.Write(fields[name])
	}
	b.WriteString(`,"input":[`)
	for i, item := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// ParseFrame reads a frame as the body of a request.
func ParseFrame(frame []byte) (*Request, *openai.Error) {
	r, failure := parseFields(frame)
	if failure != nil {
		return nil, failure
	}
	for _, name := range []string{"type", "stream_id", "stream", "background"} { // they have no meaning within a frame
		delete(r.Fields, name)
	}
	generate := true
	if failure := r.take("generate", "a boolean", &generate); failure != nil {
		return nil, failure
	}
	r.Stream, r.Prewarm = true, !generate
	return r, r.read()
}

// CompactThreshold returns how many tokens a request may have before it is compacted, or 0 for any number. The gateway
// reports a value that is wrong.
func (r *Request) CompactThreshold() int64 {
	var entries []struct {
		Type      string `json:"type"`
		Threshold int64  `json:"compact_threshold"`
	}
	_ = json.Unmarshal(items.OrNull(r.Fields["context_management"]), &entries)
	for i := range entries {
		if entries[i].Type == items.TypeCompaction {
			return entries[i].Threshold
		}
	}
	return 0
}

// Seals reports whether the reasoning is hidden from the client, so that only the gateway's sealed text of it is left.
func (r *Request) Seals(s *settings.Snapshot) bool {
	return s.Sealer.Keys != nil && s.Model(r.Model).Answers.HideReasoning && !r.includesValue(items.IncludeSealed)
}
