package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// The spellings of control tokens, as they stand in a structural tag.
const (
	markStart     = "<|start|>"
	markEnd       = "<|end|>"
	markMessage   = "<|message|>"
	markChannel   = "<|channel|>"
	markConstrain = "<|constrain|>"
	markCall      = "<|call|>"
)

// maxCallable is the most tools that a tag can hold a call to: each takes half a kilobyte of it, whatever its own size.
const maxCallable = 1024

// constrain chooses how a model's servers are made to keep to what the client wants of the answer: by a structural tag,
// or by a call whose header the prompt has already. Both are nil where the client wants nothing, or where the prompt
// alone asks for it. A wish that the servers cannot be held to is an error.
func constrain(model *Model, c *translate.Constraint, scratch *Scratch) (
	tag []byte, prefilled *translate.CallConstraint, failure *openai.Error,
) {
	structural := model.StructuredOutputs == contract.StructuralTags
	switch {
	case c.Free():
	case structural && len(c.Calls) > maxCallable:
		return nil, nil, errTooManyTools(len(c.Calls))
	case structural:
		scratch.tag = appendTag(scratch.tag[:0], c)
		return scratch.tag, nil, nil
	case c.Named && len(c.Calls) == 1:
		return nil, &c.Calls[0], nil
	case c.Forced:
		return nil, nil, errToolChoice(model.Dialect.Kind())
	case c.StrictAt != "":
		return nil, nil, errStrict(c.StrictAt, model.Dialect.Kind())
	}
	return nil, nil, nil
}

// appendTag writes the structural tag for what follows <|start|>assistant: any number of thoughts, at most one
// preamble, and then what is wanted. No schema holds before that: it would keep the model from thinking.
func appendTag(dst []byte, c *translate.Constraint) []byte {
	t := backend.NewTag(dst)
	t.Sequence()
	t.Star()
	appendAside(&t, "analysis")
	t.Close()
	t.Optional()
	appendAside(&t, "commentary")
	t.Close()
	t.Or()
	for i := range c.Calls {
		appendCall(&t, &c.Calls[i])
	}
	if !c.Forced {
		t.Sequence()
		t.Const(markChannel + "final" + markMessage)
		appendForm(&t, c)
		t.Close()
	}
	t.Close()
	t.Close()
	return t.Bytes()
}

// appendForm is the text of the answer.
func appendForm(t *backend.Tag, c *translate.Constraint) {
	switch {
	case c.Schema != "":
		t.JSON(c.Schema)
	case c.Pattern != "":
		t.Regex(c.Pattern)
	case c.Grammar != "":
		t.Grammar(c.Grammar)
	case len(c.Choices) > 0:
		t.Or()
		for _, text := range c.Choices {
			t.Const(text)
		}
		t.Close()
	default:
		t.Text(markEnd, markStart, markChannel, markMessage, markCall)
	}
}

// appendAside is a message that is not the answer, and the start of the next one. Its text has none of the tokens by
// which a model would leave it for something that the tag does not foresee.
func appendAside(t *backend.Tag, channel string) {
	t.Sequence()
	t.Const(markChannel + channel + markMessage)
	t.Text(markEnd, markStart, markChannel, markMessage, markCall)
	t.Const(markEnd + markStart + "assistant")
	t.Close()
}

// noArguments is the schema of a function that takes none.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// appendCall is a call with arguments of its schema, or a custom tool's with any text or one of its pattern, under each
// header that gpt-oss writes. Its end is optional: a server that takes <|call|> for a stop token, and not for text,
// writes it after what the tag says.
func appendCall(t *backend.Tag, c *translate.CallConstraint) {
	recipient := " to=functions." + c.Name
	t.Sequence()
	t.Or()
	t.Const(markChannel + "commentary" + recipient)
	t.Const(recipient + markChannel + "commentary")
	t.Close()
	switch {
	case c.Pattern != "":
		t.Const(markMessage)
		t.Regex(c.Pattern)
	case c.Custom:
		t.Const(markMessage)
		t.Text(markEnd, markStart, markChannel, markMessage, markCall)
	default:
		t.Or()
		t.Const(" " + markConstrain + "json" + markMessage)
		t.Const(" json" + markMessage)
		t.Close()
		if c.Parameters == nil {
			t.JSON(noArguments)
		} else {
			t.JSON(string(c.Parameters.AppendJSON(nil)))
		}
	}
	t.Optional()
	t.Const(markCall)
	t.Close()
	t.Close()
}
