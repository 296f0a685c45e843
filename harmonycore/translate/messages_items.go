package translate

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// add adds a block of a message to the items.
func (t *messagesRequest) add(b *anthropic.Block) *openai.Error {
	in := t.in
	if b.Kind == anthropic.BlockEnd {
		t.count(b.Message)
		return nil
	}
	in.Read(openai.Lasting{Element: b.Message, From: b.From, To: b.To})
	if b.Message < t.known {
		return t.addKnown(b)
	}
	item := openai.InputItem{Kind: openai.ItemMessage, Index: b.Message, Block: b.Index, Role: b.Role}
	if n := len(in.Input); n == 0 || in.Input[n-1].Index != b.Message {
		t.open, t.spoken = false, n
	}
	switch b.Kind {
	case anthropic.BlockText:
		return t.addText(b, &item)
	case anthropic.BlockThinking:
		item.Kind, item.Sealed = openai.ItemReasoning, b.Sealed
		if b.Text != "" {
			item.Content = []string{b.Text}
		}
	case anthropic.BlockToolUse:
		item.Kind, item.CallID, item.Name, item.Arguments = openai.ItemCall, b.ID, b.Name, b.Text
		t.ledToCall()
	case anthropic.BlockToolResult:
		return t.addResult(b, &item)
	case anthropic.BlockServerUse:
		t.addServerUse(b, &item)
		return nil
	case anthropic.BlockServerResult:
		return t.addServerResult(b, &item)
	case anthropic.BlockTools:
		t.open = false
		_, err := t.declare(b, len(in.Input))
		return err
	case anthropic.BlockRemoval:
		return t.withdraw(b, &item)
	}
	t.open = false
	in.Add(&item)
	return nil
}

// addKnown adds what a block of a message makes known that was read before.
func (t *messagesRequest) addKnown(b *anthropic.Block) (err *openai.Error) {
	switch {
	case b.Kind == anthropic.BlockTools:
		_, err = t.declare(b, len(t.in.Input))
	case b.Kind == anthropic.BlockRemoval:
		err = t.withdraw(b, nil)
	case b.Refers:
		_, err = t.declare(b, len(t.in.Input)+1)
	}
	return err
}

// withdraw withdraws a tool. The model is told so in the place of the block. What declares the tool stays, so that the
// prompt begins as the one before it did (RATIONALE.md#250).
func (t *messagesRequest) withdraw(b *anthropic.Block, item *openai.InputItem) *openai.Error {
	t.refers = t.refers || b.Message >= t.known
	for _, name := range b.Found {
		known, shown := t.in.Withdraw(name)
		if !known {
			t.in.Ignored[openai.IgnoredUnknown]++
		}
		if shown && b.Message >= t.known {
			b.Content = append(b.Content, functions+"."+name+" is no longer available. Do not call it.")
			return t.addText(b, item)
		}
	}
	return nil
}

// addText adds text, to the item of the text directly before it in its message if there is any. Instructions in
// several blocks have a blank line between them.
func (t *messagesRequest) addText(b *anthropic.Block, item *openai.InputItem) *openai.Error {
	in := t.in
	if t.open {
		*item = in.Input[len(in.Input)-1]
	}
	if b.Role == openai.RoleSystem {
		if len(b.Content) == 0 || b.Content[0] == "" {
			return nil
		}
		if len(item.Content) > 0 {
			item.Content = append(item.Content, "\n\n")
		}
	}
	if err := t.takeContent(b, item); err != nil {
		return err
	}
	if t.open {
		in.Input[len(in.Input)-1] = *item
	} else {
		in.Add(item)
	}
	t.open = true
	return nil
}

// ledToCall gives the assistant's texts so far in the newest message their phase: a call comes after them.
func (t *messagesRequest) ledToCall() {
	for ; t.spoken < len(t.in.Input); t.spoken++ {
		if item := &t.in.Input[t.spoken]; item.Kind == openai.ItemMessage && item.Role == openai.RoleAssistant {
			item.Phase = openai.PhaseCommentary
		}
	}
}

// failed begins the result of a call that has failed. Nothing else would tell the model (RATIONALE.md#239).
const failed = "Error:\n"

// saysFailed reports whether a result itself says that its call has failed.
func saysFailed(content []string) bool {
	for _, text := range content {
		if text != "" {
			return strings.HasPrefix(text, "Error") || strings.HasPrefix(text, "<tool_use_error>")
		}
	}
	return false
}

// addResult adds the result of a call, and declares the tools that it refers to behind it.
func (t *messagesRequest) addResult(b *anthropic.Block, item *openai.InputItem) *openai.Error {
	in := t.in
	t.open = false
	item.Kind, item.Role, item.CallID = openai.ItemCallOutput, "", b.ID
	if b.Failed && !saysFailed(b.Content) {
		item.Content = append(item.Content, failed)
	}
	if err := t.takeContent(b, item); err != nil {
		return err
	}
	if b.Refers {
		found, err := t.declare(b, len(in.Input)+1)
		if err != nil {
			return err
		}
		if hasText(item.Content) {
			item.Content = append(item.Content, "\n")
		}
		item.Content = append(item.Content, openai.FoundText(found))
	}
	in.Add(item)
	return nil
}

// takeContent adds the parts of a block to an item. Of parts that are no text a model that reads text only gets notes.
func (t *messagesRequest) takeContent(b *anthropic.Block, item *openai.InputItem) *openai.Error {
	from := len(item.Content)
	item.Content = append(item.Content, b.Content...)
	for i := range b.Media {
		m := &b.Media[i]
		at := anthropic.Place(b.Message, b.Index)
		if t.in.KeepsMedia() {
			kept, err := mediaOf(m, from+m.Part, at)
			if err != nil {
				return err
			}
			item.Media = append(item.Media, kept)
			continue
		}
		kind, class := "input_image", "image_block"
		if m.Document {
			kind, class = "input_file", "document_block"
		}
		item.Content[from+m.Part] = openai.OmissionNote(kind)
		if t.in.Dropped.Count++; t.in.Dropped.First == nil {
			// Claude Code sends a note instead of the part if this is the whole message.
			t.in.Dropped.First = openai.Unsupported("", "capability_rejected: "+class)
		}
	}
	return nil
}

// mediaOf returns a part in the form that servers read, at this index of its item's content.
func mediaOf(m *anthropic.Media, part int, at string) (openai.Media, *openai.Error) {
	before := "data:" + string(m.MediaType) + ";base64,"
	switch {
	case m.Document && m.Data != nil:
		return openai.NewFile(part, before, m.Data, m.Name), nil
	case m.Document:
		return openai.Media{}, openai.Unsupported(at, "this model's servers take documents as base64 only")
	case m.Data != nil:
		return openai.NewImage(part, before, m.Data), nil
	case len(m.URL) > 0:
		return openai.NewImage(part, "", m.URL), nil
	}
	return openai.Media{}, openai.Unsupported(at, "no files are stored at this model's servers: send the image as base64")
}

// declare declares the tools that a block refers to, or has, before the item at this index. It returns how many there
// are.
func (t *messagesRequest) declare(b *anthropic.Block, before int) (found int, err *openai.Error) {
	t.refers = t.refers || b.Message >= t.known
	var tools []openai.Tool
	if b.Tool != nil {
		if t.toolBytes += b.Size; t.toolBytes > openai.MaxTools {
			return 0, tooManyTools(b)
		}
		tools = append(tools, functionOf(b.Tool))
	}
	for _, name := range b.Found {
		if i := t.placeOf(name); i >= 0 {
			tools = append(tools, t.tools[i])
		} else {
			t.in.Ignored[openai.IgnoredUnknown]++
		}
	}
	found = len(tools)
	if t.declaredBytes += t.in.Declare(tools, before); t.declaredBytes > openai.MaxTools {
		return 0, tooManyTools(b)
	}
	return found, nil
}

func tooManyTools(b *anthropic.Block) *openai.Error {
	return openai.Invalid(anthropic.Place(b.Message, b.Index), "the tools up to here are larger than the limit of "+
		strconv.Itoa(openai.MaxTools)+" bytes")
}

// placeOf returns the place of a tool among the request's own, or -1.
func (t *messagesRequest) placeOf(name string) int {
	if t.byName == nil {
		t.byName = make(map[string]int, len(t.tools))
		for i := range t.tools {
			t.byName[t.tools[i].Name] = i
		}
	}
	if i, ok := t.byName[name]; ok {
		return i
	}
	return -1
}
