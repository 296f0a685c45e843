package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// maxCallable is the greatest number of tools in a tag that requires a call. Each takes half a kilobyte of the tag,
// whatever its own size.
const maxCallable = 1024

// constrain chooses how the model's servers are held to the answer that the client wants: by a structural tag, or by a
// call whose header is already in the prompt. Both are nil if the client wants nothing special, or if only the prompt
// asks for it. If the servers cannot be held to it, constrain returns an error.
func constrain(model *Model, c *translate.Constraint, scratch *Scratch) (
	tag []byte, prefilled *translate.CallConstraint, failure *openai.Error,
) {
	structural := model.StructuredOutputs == contract.StructuralTags && model.Kind.Facts().StructuralTags
	switch {
	case c.Free():
	case structural && len(c.Calls) > maxCallable:
		return nil, nil, errTooManyTools(len(c.Calls))
	case structural:
		scratch.tag = appendTag(scratch.tag[:0], c)
		return scratch.tag, nil, nil
	case c.Named && len(c.Calls) == 1 && c.Calls[0].Channel == harmony.Commentary:
		// The prompt can end with the header of a function's call, but of no other.
		return nil, &c.Calls[0], nil
	case c.Forced:
		return nil, nil, errToolChoice(model.Kind.Facts().Name)
	case c.StrictAt != "":
		return nil, nil, errStrict(c.StrictAt, model.Kind.Facts().Name)
	}
	return nil, nil, nil
}

// appendTag writes the structural tag for what follows <|start|>assistant: any number of analysis messages, at most one
// preamble, and then the wanted answer. No schema applies before the answer, since it would keep the model from
// reasoning. Control tokens stand in it as tokens: text would let a model spell them letter by letter (RATIONALE.md#219).
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
		t.Token(tokenizer.Channel)
		t.Const("final")
		t.Token(tokenizer.Message)
		appendForm(&t, c)
		t.Close()
	}
	t.Close()
	t.Close()
	return t.Bytes()
}

// appendForm writes the text of the answer.
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
		appendText(t)
	}
}

// appendText writes any text: all tokens but those that a model would begin or end something with. Text that spells such
// a token is only text.
func appendText(t *backend.Tag) {
	t.Tokens(tokenizer.End, tokenizer.Start, tokenizer.Channel, tokenizer.Message, tokenizer.Constrain, tokenizer.Call,
		tokenizer.Return, tokenizer.EndOfText)
}

// appendAside writes a message that is not the answer, and the start of the next message.
func appendAside(t *backend.Tag, channel string) {
	t.Sequence()
	t.Token(tokenizer.Channel)
	t.Const(channel)
	t.Token(tokenizer.Message)
	appendText(t)
	t.Token(tokenizer.End)
	t.Token(tokenizer.Start)
	t.Const("assistant")
	t.Close()
}

// noArguments is the schema of a function without arguments.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// appendCall writes a call with arguments by their schema, or a call of a tool that takes text, with any text or a text
// by its pattern, under each header that gpt-oss writes. The end of the call is optional: a server that takes <|call|> as a
// stop token, and not as text, appends it after the tag's text.
func appendCall(t *backend.Tag, c *translate.CallConstraint) {
	recipient := " to=" + c.Recipient
	t.Sequence()
	t.Or()
	t.Sequence()
	t.Token(tokenizer.Channel)
	t.Const(c.Channel + recipient)
	t.Close()
	t.Sequence()
	t.Const(recipient)
	t.Token(tokenizer.Channel)
	t.Const(c.Channel)
	t.Close()
	t.Close()
	appendContentType(t, c.ContentType)
	t.Token(tokenizer.Message)
	switch {
	case c.Pattern != "":
		t.Regex(c.Pattern)
	case c.Custom:
		appendText(t)
	case c.Parameters == nil:
		t.JSON(noArguments)
	default:
		t.JSON(string(c.Parameters.AppendJSON(nil)))
	}
	t.Optional()
	t.Token(tokenizer.Call)
	t.Close()
	t.Close()
}

// appendContentType writes what a call's header names as the type of its content. The name json has a control token
// before it or not.
func appendContentType(t *backend.Tag, name string) {
	switch name {
	case "":
	case "json":
		t.Or()
		t.Sequence()
		t.Const(" ")
		t.Token(tokenizer.Constrain)
		t.Const("json")
		t.Close()
		t.Const(" json")
		t.Close()
	default:
		t.Const(" " + name)
	}
}
