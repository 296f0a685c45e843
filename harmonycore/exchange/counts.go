package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// tokenCount is the endpoint of requests for the tokens of a request, or for the text of tokens. The gateway answers
// them without a server. Only servers that take conversations are asked.
type tokenCount struct {
	x       *Exchange
	reading reading
	// api is the API of the request, if a responses service may get it instead.
	api translate.API
	// count writes the answer into the body of the scratch memory. If it is nil, the answer is how many tokens the prompt
	// has that read makes of the request.
	count func(*modelRequest, *Scratch, Host) *openai.Error
	read  reader
	// path is where servers are asked. ask writes what they are asked into the body of the scratch memory. param is the
	// member of the request that the tokens are made of.
	path, param string
	// appendCount writes the number that the client gets. If it is nil, such servers' answer passes.
	appendCount func(dst []byte, n int) []byte
	ask         func(a *modelRequest, body []byte, s *Scratch, h Host) *openai.Error
}

func beginInputTokens(x *Exchange, _ string) endpoint {
	return &tokenCount{
		x: x, reading: reading{modelOptional: true, onlyModel: true}, api: translate.ResponsesAPI,
		read: translate.Responses, path: contract.TokenizePath, param: paramInput,
		ask: (*modelRequest).askInput, appendCount: openai.AppendInputTokens,
	}
}

func beginTokenize(x *Exchange, _ string) endpoint {
	return &tokenCount{
		x: x, reading: reading{modelOptional: true, onlyModel: true}, count: (*modelRequest).tokenize,
		path: contract.TokenizePath, param: paramMessages, ask: (*modelRequest).askTokenize,
	}
}

func beginDetokenize(x *Exchange, _ string) endpoint {
	return &tokenCount{
		x: x, reading: reading{modelOptional: true, onlyModel: true, ids: true}, count: (*modelRequest).detokenize,
		path: contract.DetokenizePath, param: "tokens", ask: (*modelRequest).askDetokenize,
	}
}

func (c *tokenCount) head() RequestHead {
	head := c.x.awaitBody()
	if c.x.headersForwarded {
		model := c.x.gateway.onlyModel()
		head.Path = model.ServerPath(model.servers.countPath(model, c.path))
	}
	return head
}

func (c *tokenCount) request(body []byte, h Host) RequestAction {
	a, action := c.x.open(body, h, c.reading)
	if a == nil {
		return action
	}
	if action, decided := a.decideService(c.api, false); decided {
		return action
	}
	return a.model.servers.count(c, a, body, h)
}

// answer answers the request without a server.
func (c *tokenCount) answer(a *modelRequest, h Host) RequestAction {
	scratch := h.scratch()
	count := c.count
	if count == nil {
		count = c.countPrompt
	}
	if failure := count(a, scratch, h); failure != nil {
		return c.x.refuse(failure)
	}
	return c.x.answer(&Reply{Status: 200, Body: scratch.body})
}

func (c *tokenCount) early() response { return c.x.earlyReply() }

// prompt writes into scratch the prompt that the request would be sent as.
func (a *modelRequest) prompt(read reader, param string, scratch *Scratch, h Host) *openai.Error {
	r, failure := a.read(read, h)
	if failure == nil {
		_, failure = a.render(r, param, scratch)
	}
	return failure
}

// countPrompt writes how many tokens the prompt has that the request would be sent as.
func (c *tokenCount) countPrompt(a *modelRequest, scratch *Scratch, h Host) *openai.Error {
	a.counting = true
	if failure := a.prompt(c.read, c.param, scratch, h); failure != nil {
		return failure
	}
	if len(scratch.prompt) > a.context {
		return a.tooLong(c.param, len(scratch.prompt))
	}
	scratch.body = c.appendCount(scratch.body[:0], len(scratch.prompt))
	return nil
}

func (a *modelRequest) tokenize(scratch *Scratch, h Host) *openai.Error {
	request, failure := openai.DecodeTokenizeRequest(a.body)
	if failure != nil {
		return failure
	}
	context := a.context
	param := "prompt"
	if request.Chat {
		param = paramMessages
		if failure := a.prompt(translate.Chat, param, scratch, h); failure != nil {
			return failure
		}
		if !request.Generation {
			scratch.prompt = withoutLastHeader(scratch.prompt)
		}
	} else if !a.encode(request.Prompt, scratch) {
		return errContextLength(param, context)
	}
	if len(scratch.prompt) > context {
		return errContextLength(param, context)
	}
	text := a.tokenText
	if !request.Strings {
		text = nil
	}
	scratch.body = openai.AppendTokens(scratch.body[:0], scratch.prompt, context, text)
	return nil
}

func (a *modelRequest) detokenize(scratch *Scratch, _ Host) *openai.Error {
	var failure *openai.Error
	scratch.prompt, failure = openai.DecodeDetokenizeRequest(a.body, scratch.prompt[:0], a.context)
	if failure != nil {
		return failure
	}
	t := a.x.gateway.options.Tokenizer
	text, ok := t.AppendDecode(make([]byte, 0, t.DecodedLen(scratch.prompt)), scratch.prompt)
	if !ok {
		return openai.Invalid("tokens", "Invalid 'tokens': the model has no such tokens.")
	}
	scratch.body = openai.AppendPrompt(scratch.body[:0], text)
	return nil
}

// encode writes into scratch the tokens of a text that may spell control tokens. It reports whether they fit the
// model's context.
func (a *modelRequest) encode(text string, scratch *Scratch) bool {
	scratch.reserve(a.size, a.context)
	t := a.x.gateway.options.Tokenizer
	encoder := t.Borrow()
	defer t.Return(encoder)
	ids, ok := encoder.AppendSpecialWithin(scratch.prompt[:0], t, text, a.context)
	scratch.prompt = ids
	return ok
}

// withoutLastHeader removes the header that the model would complete. It begins at the last <|start|>.
func withoutLastHeader(prompt []uint32) []uint32 {
	for i := len(prompt) - 1; i >= 0; i-- {
		if prompt[i] == tokenizer.Start {
			return prompt[:i]
		}
	}
	return prompt
}

func (a *modelRequest) tokenText(id uint32) []byte {
	text, _ := a.x.gateway.options.Tokenizer.TokenBytes(id)
	return text
}
