package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// tokenizerInfo is the endpoint that describes the tokenizer of the gateway's Harmony models, which all have the same.
type tokenizerInfo struct{ x *Exchange }

// beginTokenizerInfo leaves the request to another server, if there is one: it names no model.
func beginTokenizerInfo(x *Exchange, _ string) endpoint {
	if x.gateway.options.Passthrough {
		return nil
	}
	return &tokenizerInfo{x: x}
}

func (t *tokenizerInfo) head() RequestHead { return t.x.awaitBody() }

func (t *tokenizerInfo) request([]byte, Host) RequestAction {
	context := t.x.gateway.promptContext
	if context == 0 {
		return t.x.refuse(errNoTokenizer())
	}
	info := openai.TokenizerInfo{ContextLength: context}
	info.BOS, _ = tokenizer.SpecialName(tokenizer.StartOfText)
	info.EOS, _ = tokenizer.SpecialName(tokenizer.Return)
	info.Pad, _ = tokenizer.SpecialName(tokenizer.EndOfText)
	return t.x.answer(&Reply{Status: 200, Body: info.AppendJSON(nil)})
}

func (t *tokenizerInfo) early() response { return t.x.earlyReply() }

// errNoTokenizer is for a gateway whose models are all behind servers that have the tokenizer.
func errNoTokenizer() *openai.Error {
	return &openai.Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: contract.TokenizerInfoPath + " is not served here: only the servers of these models know their tokenizer. " +
			"Use " + contract.TokenizePath + ".",
	}
}
