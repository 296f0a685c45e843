package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/gbnf"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// The spellings of control tokens in a structural tag.
const (
	markStart     = "<|start|>"
	markEnd       = "<|end|>"
	markMessage   = "<|message|>"
	markChannel   = "<|channel|>"
	markConstrain = "<|constrain|>"
	markCall      = "<|call|>"
)

// maxCallable is the greatest number of tools in a tag that requires a call. Each takes half a kilobyte of the tag,
// whatever its own size.
const maxCallable = 1024

// constrain chooses how the model's servers are held to the answer that the client wants: by a structural tag or a
// grammar, or by a call whose header is already in the prompt. Both are nil if the client wants nothing special, or if
// only the prompt asks for it. If the servers cannot be held to it, constrain returns an error. It counts in r what the
// servers cannot be held to and nobody was promised.
func constrain(model *Model, r *translate.Request, scratch *Scratch) (
	tag []byte, prefilled *translate.CallConstraint, failure *openai.Error,
) {
	c, facts := &r.Constraint, model.Kind.Facts()
	structural := model.StructuredOutputs == contract.StructuralTags && facts.HoldsForms()
	switch {
	case c.Free():
	case model.StructuredOutputs == contract.RefuseStructure:
		return nil, nil, refuseForm(c)
	case structural && c.Loose && len(c.Calls) > maxCallable:
		// The grammars are only shown.
	case structural && len(c.Calls) > maxCallable:
		return nil, nil, errTooManyTools(len(c.Calls))
	case structural && facts.Grammars:
		w := gbnf.New(scratch.tag[:0])
		writeTag(w, c)
		scratch.tag = w.Bytes()
		if r.UnenforcedGrammars += w.Unheld; w.Unheld > 0 && c.StrictAt != "" {
			return nil, nil, errStrictSchema(c.StrictAt, facts.Name)
		}
		return scratch.tag, nil, nil
	case structural:
		t := backend.NewTag(scratch.tag[:0])
		writeTag(&t, c)
		scratch.tag = t.Bytes()
		return scratch.tag, nil, nil
	case c.Named && len(c.Calls) == 1 && c.Calls[0].Channel == harmony.Commentary:
		// The prompt can end with the header of a function's call, but of no other.
		return nil, &c.Calls[0], nil
	case c.Forced:
		return nil, nil, errToolChoice(facts.Name)
	case c.StrictAt != "":
		return nil, nil, errStrict(c.StrictAt, facts.Name)
	}
	return nil, nil, nil
}

// refuseForm returns the error for a request whose answer has a form, where servers cannot be held to one and the
// prompt alone is not to ask for it. A tool that the model may or may not call has no promised form.
func refuseForm(c *translate.Constraint) *openai.Error {
	switch {
	case c.Forced:
		return errForcedCall()
	case c.Formed():
		return errForm(c.StrictAt)
	}
	return nil
}

// tagWriter writes what an answer is held to: a [backend.Tag], or a [gbnf.Writer].
type tagWriter interface {
	Sequence()
	Or()
	Star()
	Optional()
	Close()
	Const(text string)
	Text(excluded ...string)
	Regex(pattern string)
	Grammar(ebnf string, leftRecursive bool)
	JSON(schema string)
}

// writeTag writes the tag for what follows <|start|>assistant: any number of analysis messages, at most one preamble,
// and then the wanted answer. No schema applies before the answer, since it would keep the model from reasoning.
func writeTag(t tagWriter, c *translate.Constraint) {
	t.Sequence()
	t.Star()
	writeAside(t, "analysis")
	t.Close()
	t.Optional()
	writeAside(t, "commentary")
	t.Close()
	t.Or()
	for i := range c.Calls {
		writeCall(t, &c.Calls[i])
	}
	if !c.Forced {
		t.Sequence()
		t.Const(markChannel + "final" + markMessage)
		writeForm(t, c)
		t.Close()
	}
	t.Close()
	t.Close()
}

// writeForm writes the text of the answer.
func writeForm(t tagWriter, c *translate.Constraint) {
	switch {
	case c.Schema != "":
		t.JSON(c.Schema)
	case c.Pattern != "":
		t.Regex(c.Pattern)
	case c.Grammar != "":
		t.Grammar(c.Grammar, false) // the client's own EBNF is checked by the server alone
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

// writeAside writes a message that is not the answer, and the start of the next message. Its text may not contain a
// token with which a model would begin something that the tag does not foresee.
func writeAside(t tagWriter, channel string) {
	t.Sequence()
	t.Const(markChannel + channel + markMessage)
	t.Text(markEnd, markStart, markChannel, markMessage, markCall)
	t.Const(markEnd + markStart + "assistant")
	t.Close()
}

// noArguments is the schema of a function without arguments.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// writeCall writes a call with arguments by their schema, or a call of a tool that takes text, with any text or a text
// by its pattern or grammar, under each header that gpt-oss writes. The end of the call is optional: a server that takes
// <|call|> as a stop token, and not as text, appends it after the tag's text.
func writeCall(t tagWriter, c *translate.CallConstraint) {
	recipient := " to=" + c.Recipient
	t.Sequence()
	t.Or()
	t.Const(markChannel + c.Channel + recipient)
	t.Const(recipient + markChannel + c.Channel)
	t.Close()
	switch c.ContentType {
	case "":
		t.Const(markMessage)
	case "json":
		t.Or()
		t.Const(" " + markConstrain + "json" + markMessage)
		t.Const(" json" + markMessage)
		t.Close()
	default:
		t.Const(" " + c.ContentType + markMessage)
	}
	switch {
	case c.Pattern != "":
		t.Regex(c.Pattern)
	case c.Grammar != "":
		t.Grammar(c.Grammar, c.LeftRecursive)
	case c.Custom || c.Free:
		t.Text(markEnd, markStart, markChannel, markMessage, markCall)
	case c.Parameters == nil:
		t.JSON(noArguments)
	default:
		t.JSON(string(c.Parameters.AppendJSON(nil)))
	}
	t.Optional()
	t.Const(markCall)
	t.Close()
	t.Close()
}
