package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// This file has the endpoints of Anthropic's API that differ from OpenAI's.

func beginMessages(x *Exchange, _ string) endpoint {
	x.form = anthropicForm
	return &generation{x: x, api: translate.MessagesAPI}
}

func beginCountTokens(x *Exchange, _ string) endpoint {
	x.form = anthropicForm
	return &tokenCount{
		x: x, api: translate.MessagesAPI, read: translate.Messages,
		path: contract.TokenizePath, param: paramMessages, ask: (*modelRequest).askMessages,
		appendCount: anthropic.AppendInputTokens,
	}
}

// beginOtherMessages begins the exchange of a request to a path of Anthropic's API that the gateway does not have. It
// leaves the request to another server, if there is one.
func (g *Gateway) beginOtherMessages(method, path string) *Exchange {
	if g.options.Passthrough || method == "OPTIONS" || errorFormOf(path) != anthropicForm {
		return nil
	}
	return g.beginRefusal(apiOther, anthropicForm, errNotMessages())
}

// errNotMessages is for a path of Anthropic's API that the gateway does not have.
func errNotMessages() *openai.Error {
	return &openai.Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: "Nothing is served at this URL. The API is POST " + contract.MessagesPath + " and POST " +
			contract.CountTokensPath + ".",
	}
}
