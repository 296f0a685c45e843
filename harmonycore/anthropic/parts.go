package anthropic

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Media is a part that is no text. Its texts are as they are spelled in the body.
type Media struct {
	// Part is the part's index in [Block.Content].
	Part int
	// Document reports whether it is a document, and no image.
	Document bool
	// Data is the part itself in base64, of the type MediaType. Without it URL has its address. Without both it is
	// somewhere that only Anthropic knows. Name is a document's title.
	MediaType, Data, URL, Name []byte
}

// readPart reads a part of a message or of a result. It reports whether it knows its type.
func (r *reader) readPart(f *fields, at place) (known bool, err *openai.Error) {
	b := &r.block
	switch rawjson.View(f.kind) {
	case typeText:
		content := ""
		err = borrow(&f.text, at.in("text"), &content)
		b.Content = append(b.Content, content)
	case typeImage, typeDocument:
		err = r.readMedia(f, at)
	case typeSearch:
		err = r.readFound(f, at)
	default:
		return false, nil
	}
	return true, err
}

// readMedia reads an image or a document. A document that is text is text.
func (r *reader) readMedia(f *fields, at place) *openai.Error {
	b, at := &r.block, at.in("source")
	if f.source.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	m := Media{Document: rawjson.View(f.kind) == typeDocument}
	if f.title.Kind == rawjson.String {
		m.Name = f.title.Value
	}
	var kind []byte
	var data, content rawjson.Part
	members := f.source.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = members.Value
		case "media_type":
			if members.Kind == rawjson.String {
				m.MediaType = members.Value
			}
		case "data":
			data = members.Part()
		case "url":
			if members.Kind == rawjson.String {
				m.URL = members.Value
			}
		case "content":
			content = members.Part()
		}
	}
	switch rawjson.View(kind) {
	case "text":
		b.addTitle(m.Name)
		content := ""
		err := borrow(&data, at.in("data"), &content)
		b.Content = append(b.Content, content)
		return err
	case "content":
		b.addTitle(m.Name)
		return r.readParts(&content, at.in("content"), true)
	case "base64":
		if err := requireText(&data, at.in("data")); err != nil {
			return err
		}
		m.Data = data.Value
	}
	m.Part = len(b.Content)
	b.Content, b.Media = append(b.Content, ""), append(b.Media, m)
	return nil
}

// addTitle adds the title of a document as a line of text.
func (b *Block) addTitle(raw []byte) {
	if len(raw) > 0 {
		b.Content = append(b.Content, rawjson.Unescape(raw)+"\n")
	}
}

// readFound reads a result of the client's own search, as text: where it is from, its title and its texts.
func (r *reader) readFound(f *fields, at place) *openai.Error {
	b := &r.block
	for _, v := range [...]*rawjson.Part{&f.title, &f.source} {
		if v.Kind == rawjson.String {
			b.addTitle(v.Value)
		}
	}
	return r.readParts(&f.content, at.in("content"), true)
}

// readParts reads the content of a result, a document or a search: a text, or parts. inner is set for the content of a
// part, whose parts have no parts.
func (r *reader) readParts(v *rawjson.Part, at place, inner bool) *openai.Error {
	b := &r.block
	switch {
	case !v.Given():
		return nil
	case v.Kind == rawjson.String:
		b.Content = append(b.Content, rawjson.Borrow(v.Value))
		return nil
	case v.Kind != rawjson.Array:
		return wrongType(at, "a valid string or array")
	}
	list := v.Items()
	for i := 0; list.Next(); i++ {
		v, at := list.Part(), at.part(i)
		if err := r.count(1, at); err != nil {
			return err
		}
		var f fields
		if err := f.read(&v, at); err != nil {
			return err
		}
		known := false
		var err *openai.Error
		switch kind := rawjson.View(f.kind); {
		case kind == typeReference && !inner:
			known, err = true, b.refer(&f, at)
		case kind == typeText || kind == typeImage || !inner:
			known, err = r.readPart(&f, at)
		}
		if err != nil {
			return err
		}
		if !known {
			r.Ignored.Unknown++
		}
	}
	return nil
}

// readResult reads the result of a call. One without a content is an empty text.
func (r *reader) readResult(f *fields, at place) *openai.Error {
	b := &r.block
	if err := text(&f.toolUseID, at.in("tool_use_id"), &b.ID); err != nil {
		return err
	}
	if err := boolean(&f.isError, at.in("is_error"), &b.Failed); err != nil {
		return err
	}
	return r.readParts(&f.content, at, false)
}

// refer reads a reference to a tool.
func (b *Block) refer(f *fields, at place) *openai.Error {
	v := &f.toolName
	if !v.Given() {
		v = &f.name
	}
	name := ""
	if err := text(v, at.in("tool_name"), &name); err != nil {
		return err
	}
	b.Found, b.Refers = append(b.Found, name), true
	return nil
}

// readAddition reads a block that makes a tool known: one of the request's own tools, or one that stands here. It
// reports whether it knows its form.
func (b *Block) readAddition(f *fields, at place) (known bool, err *openai.Error) {
	at = at.in("tool")
	var tool fields
	if err = tool.read(&f.tool, at); err != nil {
		return true, err
	}
	switch rawjson.View(tool.kind) {
	case typeReference:
		return true, b.refer(&tool, at)
	case "tool_definition":
	default:
		return false, nil
	}
	at = at.in("definition")
	read, kind, err := readTool(&tool.definition, at)
	if err == nil && kind != "" {
		err = serverTool(at, kind)
	}
	b.Tool, b.Size = &read, len(tool.definition.Value)
	return true, err
}

// readRemoval reads a block that withdraws a tool. It reports whether it knows its form.
func (b *Block) readRemoval(f *fields, at place) (known bool, err *openai.Error) {
	at = at.in("tool")
	var tool fields
	if err = tool.read(&f.tool, at); err != nil {
		return true, err
	}
	if rawjson.View(tool.kind) != typeReference {
		return false, nil
	}
	return true, b.refer(&tool, at)
}

// unparsed is the only member of an input that Claude Code could not read as JSON. Its member raw is what the model had
// written.
const unparsed = "__unparsedToolInput"

// readCall reads a call.
func (b *Block) readCall(f *fields, at place) *openai.Error {
	if err := text(&f.id, at.in("id"), &b.ID); err != nil {
		return err
	}
	if err := calledName(&f.name, at.in("name"), &b.Name); err != nil {
		return err
	}
	b.readInput(&f.input)
	return nil
}

// readInput reads the input of a call.
func (b *Block) readInput(v *rawjson.Part) {
	switch v.Kind {
	case 0, rawjson.Null:
		b.Text = "{}"
		return
	case rawjson.String:
		b.Text = `"` + string(v.Value) + `"`
		return
	case rawjson.Object:
		members := v.Items()
		if members.Next() && rawjson.View(members.Key) == unparsed {
			part := members.Part()
			inner := part.Items()
			for inner.Next() {
				if rawjson.View(inner.Key) == "raw" && inner.Kind == rawjson.String {
					b.Text = rawjson.Borrow(inner.Value)
					return
				}
			}
		}
	}
	b.Text = rawjson.Keep(rawjson.AppendCompact(v.Value[:0], v.Value))
}

// calledName reads the name in a call of the history. The call may come from another model with its own rules. The name
// must still be one word, because it becomes a part of a header.
func calledName(v *rawjson.Part, at place, dst *string) *openai.Error {
	if err := text(v, at, dst); err != nil {
		return err
	}
	const maxLength = 256
	ok := len(*dst) > 0 && len(*dst) <= maxLength
	for i := 0; ok && i < len(*dst); i++ {
		ok = (*dst)[i] > ' ' && (*dst)[i] != 0x7F
	}
	if !ok {
		return invalid(at, "String should have 1 to 256 bytes without spaces")
	}
	return nil
}
