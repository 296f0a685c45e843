package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// count answers from here how a request looks in tokens, or what tokens say: no server is asked. size is that of the
// request's body, in bytes.
func (e *Exchange) count(model *Model, request *openai.Body, size int, h Host) RequestAction {
	scratch := h.scratch()
	var failure *openai.Error
	switch e.kind {
	case tokenizing:
		failure = e.tokenize(model, request, size, scratch, h)
	case detokenizing:
		failure = e.detokenize(model, request, scratch)
	default:
		failure = e.prompt(model, translate.Responses, request, size, scratch, h)
		if failure == nil && len(scratch.prompt) > model.ContextLength {
			failure = errContextLength(e.kind.prompt(), model.ContextLength)
		}
		if failure == nil {
			scratch.body = openai.AppendInputTokens(scratch.body[:0], len(scratch.prompt))
		}
	}
	if failure != nil {
		return e.refuse(failure)
	}
	return e.tell(scratch.body)
}

// prompt leaves in scratch the prompt that a request would be sent as.
func (e *Exchange) prompt(model *Model, read reader, request *openai.Body, size int, scratch *Scratch, h Host) *openai.Error {
	r, failure := e.read(model, read, request, h)
	if failure == nil {
		_, failure = e.render(model, r, size, scratch)
	}
	return failure
}

// withoutLastHeader leaves out the header at which the model goes on: it begins with the last <|start|>.
func withoutLastHeader(prompt []uint32) []uint32 {
	for i := len(prompt) - 1; i >= 0; i-- {
		if prompt[i] == tokenizer.Start {
			return prompt[:i]
		}
	}
	return prompt
}

// encode leaves in scratch the tokens of a text in which control tokens may be spelled, and reports whether it has no more
// than most.
func (e *Exchange) encode(text string, size, most int, scratch *Scratch) bool {
	scratch.reserve(size, most)
	t := e.gateway.options.Tokenizer
	encoder := t.Borrow()
	defer t.Return(encoder)
	ids, ok := encoder.AppendSpecialWithin(scratch.prompt[:0], t, text, most)
	scratch.prompt = ids
	return ok
}

func (e *Exchange) tokenize(model *Model, request *openai.Body, size int, scratch *Scratch, h Host) *openai.Error {
	asked, failure := openai.DecodeTokenizeRequest(request)
	if failure != nil {
		return failure
	}
	param := "prompt"
	if asked.Chat {
		param = "messages"
		if failure := e.prompt(model, translate.Chat, request, size, scratch, h); failure != nil {
			return failure
		}
		if !asked.Generation {
			scratch.prompt = withoutLastHeader(scratch.prompt)
		}
	} else if !e.encode(asked.Prompt, size, model.ContextLength, scratch) {
		return errContextLength(param, model.ContextLength)
	}
	if len(scratch.prompt) > model.ContextLength {
		return errContextLength(param, model.ContextLength)
	}
	text := e.tokenText
	if !asked.Strings {
		text = nil
	}
	scratch.body = openai.AppendTokens(scratch.body[:0], scratch.prompt, model.ContextLength, text)
	return nil
}

func (e *Exchange) detokenize(model *Model, request *openai.Body, scratch *Scratch) *openai.Error {
	var failure *openai.Error
	if scratch.prompt, failure = openai.DecodeDetokenizeRequest(request, scratch.prompt[:0], model.ContextLength); failure != nil {
		return failure
	}
	text, ok := e.gateway.options.Tokenizer.AppendDecode(nil, scratch.prompt)
	if !ok {
		return openai.Invalid("tokens", "Invalid 'tokens': the model has no such tokens.")
	}
	scratch.body = openai.AppendPrompt(scratch.body[:0], text)
	return nil
}

func (e *Exchange) tokenText(id uint32) []byte {
	text, _ := e.gateway.options.Tokenizer.TokenBytes(id)
	return text
}
