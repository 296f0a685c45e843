package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// This file is for requests of other APIs, which are turned into requests to Responses.

// NewItemsRequest returns a request without items and tools, for a model and a body of so many values. keepsMedia is
// set for servers that take conversations.
func NewItemsRequest(model string, values int, keepsMedia bool) *ResponsesRequest {
	return &ResponsesRequest{Model: model, values: values, keepsMedia: keepsMedia}
}

// Add adds an item to the input. An item takes at least two values of the body, so its values tell how many items there
// may be: the list has no room for more. Garbage is left behind only when it first grows.
func (r *ResponsesRequest) Add(item *InputItem) {
	const first, growth, valuesPerItem = 16, 4, 2
	if n, most := len(r.Input), r.values/valuesPerItem; n == cap(r.Input) && n < most {
		larger := make([]InputItem, n, min(max(first, growth*n), most))
		copy(larger, r.Input)
		r.Input = larger
	}
	r.Input = append(r.Input, *item)
}

// KeepsMedia reports whether the items may have [InputItem.Media].
func (r *ResponsesRequest) KeepsMedia() bool { return r.keepsMedia }

// Follow makes the request one whose input is the end of a conversation.
func (r *ResponsesRequest) Follow(f *Follows) { r.follows = f }

// Read says which element is read.
func (r *ResponsesRequest) Read(element Lasting) { r.declared.element = element }

// Declare declares tools that a search has found where they stand: before the item at this index of the input. It
// overwrites the list. The request's own tools must be there already. size is how long those of them are that are not
// declared yet as they are, in bytes.
func (r *ResponsesRequest) Declare(tools []Tool, before int) (size int) {
	fresh := r.takeNew(tools, true)
	for i := range fresh {
		size += len(fresh[i].Description) + len(fresh[i].Parameters)
	}
	if len(fresh) > 0 {
		r.place(fresh, before)
	}
	return size
}

// InFront returns the tools that the input begins with, until [ResponsesRequest.Settle] is called.
func (r *ResponsesRequest) InFront() []Tool { return r.declared.leading }

// Settle decides which tools the model is shown, when all have been declared. searched reports whether deferred ones
// may be found.
func (r *ResponsesRequest) Settle(searched bool) *Error {
	r.searched = searched
	return r.settleTools()
}

// FoundText is the result of a search that has found so many tools, for the model.
func FoundText(n int) string { return foundText(n) }

// NoCalls returns the choice of no tools.
func NoCalls() ToolChoice { return ToolChoice{none: true} }

// Take reads a sampling parameter of this name.
func (s *Sampling) Take(name string, p *rawjson.Part) *Error {
	return s.read(name, value{kind: p.Kind, raw: p.Value})
}

// TakeSchema makes the form one that has this schema, strictly. param is the schema's place.
func (t *TextFormat) TakeSchema(name, param string, p *rawjson.Part) *Error {
	if len(p.Value) > maxFormat {
		return tooLong(param, maxFormat)
	}
	*t = TextFormat{Name: name, StrictAt: param}
	return t.setSchema(param, value{kind: p.Kind, raw: p.Value})
}

// NewImage returns an image at a part's index. raw is its address as it is spelled in JSON, behind what comes before it.
func NewImage(part int, before string, raw []byte) Media {
	return Media{Part: part, kind: mediaImage, members: []mediaMember{
		{name: "url", v: value{kind: rawjson.String, raw: raw}, before: before},
	}}
}

// NewFile returns a file at a part's index. data and name are as they are spelled in JSON, the data behind what comes
// before it. Without a name it has none.
func NewFile(part int, before string, data, name []byte) Media {
	m := Media{Part: part, kind: mediaFile, members: []mediaMember{
		{name: "file_data", v: value{kind: rawjson.String, raw: data}, before: before},
	}}
	if len(name) > 0 {
		m.members = append(m.members, mediaMember{name: "filename", v: value{kind: rawjson.String, raw: name}})
	}
	return m
}
