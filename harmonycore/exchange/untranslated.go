package exchange

import (
	"bytes"
	"hash/fnv"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// path returns the path of the generation's API.
func (g *generation) path() string {
	switch g.api {
	case translate.ResponsesAPI:
		return contract.ResponsesPath
	case translate.MessagesAPI:
		return contract.MessagesPath
	}
	return contract.ChatPath
}

// isSpared reports whether a request is one of those that are not translated, by its id. The model's servers have the
// API themselves then, and the request needs nothing that only the gateway has: an answer for the responses service, a
// form that a header asks for, or sealed reasoning.
func (g *generation) isSpared(m *Model, body []byte, id string) bool {
	o := &g.x.options
	return !inShare(id, m.TranslatedShare()) && slices.Contains(m.Kind.Facts().OwnAPI, g.path()) &&
		!o.declinesService && !o.strict && o.events == "" && !g.mayCarrySealed(body)
}

// mayCarrySealed reports whether the request brings reasoning that the gateway may have sealed, or asks for some. Its
// words may also stand in a text: such a request is translated for nothing, and none the worse.
func (g *generation) mayCarrySealed(body []byte) bool {
	if g.x.gateway.options.SealKeys == nil {
		return false
	}
	switch g.api {
	case translate.ResponsesAPI:
		return bytes.Contains(body, []byte("encrypted_content"))
	case translate.MessagesAPI:
		return bytes.Contains(body, []byte("signature")) || bytes.Contains(body, []byte("redacted_thinking"))
	}
	return false
}

// inShare reports whether the request with this id is in a share, in percent. Ids are spread evenly, whatever they have
// in common.
func inShare(id string, percent int) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	hash := h.Sum64()
	hash ^= hash >> 32
	return int(hash%100) < percent
}

// passUntranslated sends a request to the API of the model's own servers. Only the model's name changes, where the
// servers have another. The client gets their answer as it is.
func (g *generation) passUntranslated(a *modelRequest, body []byte, h Host) RequestAction {
	e, m, kind := g.x, a.model, a.model.Kind.Facts()
	path := g.path()
	if !slices.Contains(kind.OwnAPI, path) {
		return e.refuse(errNotTheirs(path, kind.Name))
	}
	if a.body.ModelInOtherCase {
		return e.refuse(openai.DuplicateKey("model"))
	}
	if failure := a.fitsEstimate(g.param()); failure != nil {
		return e.refuse(failure)
	}
	f := &Forward{
		Path: m.ServerPath(path), Pool: contract.UntranslatedRoute(m.Pool), Without: kind.PrivateHeader, Readable: true,
	}
	if m.ServerModel != a.body.Model {
		scratch := h.scratch()
		scratch.renamed = backend.AppendRenamed(scratch.renamed[:0], body, m.ServerModel)
		f.Body = scratch.renamed
	}
	a.routeByText(body)
	a.reserveUncounted(h)
	f.Internal = e.marks()
	e.sentTo(m)
	e.report.Untranslated = true
	if m.Observes() && !a.unread {
		e.observer = g.observe(a, body, h)
		e.response = e.observer
	} else {
		e.passAnswer(m)
	}
	return RequestAction{Forward: f}
}

// errNotTheirs is for a path of the API that the model's servers do not have, where no request is translated.
func errNotTheirs(path, kind string) *openai.Error {
	return &openai.Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: path + " is not served for this model: its operator has its requests sent to its servers (" + kind +
			") as they are, and those do not have it. Use " + contract.ChatPath + ".",
	}
}
