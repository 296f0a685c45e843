package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// servedCount takes the answer of servers that take conversations: they know their template and their tokens, and the
// gateway does not. It reduces the answer to a number, or passes it on.
type servedCount struct {
	x     *Exchange
	model *Model
	// path is the servers' own, without what a hosted API has before it. param is the member of the request that the
	// tokens are made of.
	path, param string
	// appendCount is the [tokenCount]'s. If it is not nil, the client gets a number only, which count finds.
	appendCount func(dst []byte, n int) []byte
	count       backend.TokenCount
}

// askServers sends the request to the model's servers.
func (c *tokenCount) askServers(a *modelRequest, body []byte, h Host) RequestAction {
	scratch := h.scratch()
	if failure := c.ask(a, body, scratch, h); failure != nil {
		return c.x.refuse(failure)
	}
	c.x.response = &servedCount{x: c.x, model: a.model, path: c.path, param: c.param, appendCount: c.appendCount}
	action := c.x.forwardTo(a.model, c.path, scratch.body)
	action.Forward.Readable = !c.x.headersForwarded
	return action
}

// askInput asks for the tokens of a Responses request in vLLM's form, which other servers share.
func (a *modelRequest) askInput(_ []byte, scratch *Scratch, h Host) *openai.Error {
	return a.askPrompt(translate.ResponsesChat, scratch, h)
}

// askMessages is askInput for a request to Messages.
func (a *modelRequest) askMessages(_ []byte, scratch *Scratch, h Host) *openai.Error {
	a.counting = true
	return a.askPrompt(translate.MessagesChat, scratch, h)
}

func (a *modelRequest) askPrompt(read reader, scratch *Scratch, h Host) *openai.Error {
	r, failure := a.read(read, h)
	if failure != nil {
		return failure
	}
	scratch.body = chatserver.AppendBeginning(scratch.body[:0], a.model.ServerModel)
	scratch.body = append(r.AppendPrompt(scratch.body), '}')
	return nil
}

// askTokenize sends a text or a Chat request on. A conversation gets what the servers' prompt for it would have.
func (a *modelRequest) askTokenize(body []byte, scratch *Scratch, h Host) *openai.Error {
	if !chatserver.HasMessages(body) {
		return a.askDetokenize(body, scratch, h)
	}
	changes := changesOf(a.model)
	changes.ExtraBody = ""
	return rewrite(body, scratch, changes)
}

// askDetokenize sends the request on with the name of the model at its servers.
func (a *modelRequest) askDetokenize(body []byte, scratch *Scratch, _ Host) *openai.Error {
	return rewrite(body, scratch, &chatserver.Changes{
		Model: a.model.ServerModel, Chat: &contract.ChatServers{DeveloperRole: contract.DeveloperKeep},
	})
}

func rewrite(body []byte, scratch *Scratch, changes *chatserver.Changes) (failure *openai.Error) {
	scratch.body, failure = chatserver.AppendRewritten(scratch.body[:0], body, changes)
	return failure
}

func (s *servedCount) headers(h ResponseHead) ResponseAction {
	switch {
	case h.failed() || !isJSON(h.ContentType):
		s.x.response = &failedResponse{x: s.x, model: s.model, answer: s.answerFailed}
		return s.x.response.headers(h)
	case h.End:
		return s.x.client.reply(s.x.replyWith(errNotUnderstood()))
	case s.appendCount != nil:
		return s.x.client.hold(200, contentTypeJSON)
	default:
		return s.x.client.pass()
	}
}

func (s *servedCount) body(chunk []byte, end bool) ResponseAction {
	s.count.Write(chunk)
	if !end {
		return s.x.client.wait()
	}
	n, ok := s.count.Count()
	switch {
	case ok && s.appendCount != nil:
		return s.x.client.last(200, contentTypeJSON, s.appendCount(nil, n))
	case s.count.Whole():
		return s.x.client.fail(s.unknown(), CutServer) // llama.cpp has a /tokenize for texts, which counts nothing
	default:
		return s.x.client.fail(s.x.replyWith(errNotUnderstood()), CutServer)
	}
}

func (s *servedCount) trailers() ResponseAction {
	if s.x.client.state == outletClosed {
		return ResponseAction{Pass: true}
	}
	return s.x.client.fail(s.x.replyWith(errNotUnderstood()), CutServer)
}

func (s *servedCount) silent(limit int64) ResponseAction {
	if s.x.client.state == outletClosed {
		return ResponseAction{}
	}
	return s.x.client.fail(s.x.replyWith(errStalled(limit)), CutStall)
}

// answerFailed returns the reply to a server's error. Many servers cannot count tokens, or have another path for it.
func (s *servedCount) answerFailed(failed *backend.Error) *Reply {
	if (failed.Status == 404 || failed.Status == 405) && failed.Code != contract.CodeModelNotFound {
		return s.unknown()
	}
	out, _ := s.x.refused(failed, s.model, s.param)
	return s.x.replyWith(out)
}

// unknown returns the error for servers that do not count. Anthropic's clients estimate the count after a 501.
func (s *servedCount) unknown() *Reply {
	status := 404
	if s.x.Anthropic() {
		status = 501
	}
	return s.x.replyWith(&openai.Error{
		Status: status, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: "This model's servers have no " + s.path + " that answers this request.",
	})
}
