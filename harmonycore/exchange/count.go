package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// count answers from here how a request looks in tokens, or what tokens say: no server is asked. size is that of the
// request's body, in bytes.
func (e *Exchange) count(model *Model, request *openai.Body, size int, h Host) RequestAction {
	scratch := h.scratch()
	scratch.reserve(size)
	switch e.kind {
	case tokenizing:
		return e.tokenize(model, request, scratch, h)
	case detokenizing:
		ids, failure := openai.DecodeDetokenizeRequest(request, scratch.prompt[:0], model.ContextLength)
		scratch.prompt = ids
		if failure != nil {
			return e.refuse(failure)
		}
		text, ok := e.gateway.options.Tokenizer.AppendDecode(nil, ids)
		if !ok {
			return e.refuse(openai.Invalid("tokens", "Invalid 'tokens': the model has no such tokens."))
		}
		return e.tell(openai.AppendPrompt(nil, text))
	default:
		if _, _, failure := e.render(model, translate.Responses, request, scratch, h); failure != nil {
			return e.refuse(failure)
		}
		return e.tell(openai.AppendInputTokens(nil, len(scratch.prompt)))
	}
}

func (e *Exchange) tokenize(model *Model, request *openai.Body, scratch *Scratch, h Host) RequestAction {
	asked, failure := openai.DecodeTokenizeRequest(request)
	switch {
	case failure != nil:
		return e.refuse(failure)
	case !asked.Chat:
		scratch.prompt = e.gateway.options.Tokenizer.AppendEncodeSpecial(scratch.prompt[:0], asked.Prompt)
	default:
		r, _, failure := e.render(model, translate.Chat, request, scratch, h)
		if failure != nil {
			return e.refuse(failure)
		}
		if !asked.Generation {
			scratch.prompt, _ = e.gateway.renderer.AppendConversation(scratch.prompt[:0], &r.Conversation, harmony.DropBeforeLastFinal)
		}
	}
	if n := len(scratch.prompt); n > model.ContextLength {
		param := "prompt"
		if asked.Chat {
			param = "messages"
		}
		return e.refuse(errContextLength(param, n, model.ContextLength))
	}
	text := e.tokenText
	if !asked.Strings {
		text = nil
	}
	return e.tell(openai.AppendTokens(nil, scratch.prompt, model.ContextLength, text))
}

func (e *Exchange) tokenText(id uint32) []byte {
	text, _ := e.gateway.options.Tokenizer.TokenBytes(id)
	return text
}
