package exchange

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// bytesPerToken is about how many bytes of text a token stands for.
const bytesPerToken = 4

// maxConversation is the length of the longest key that is reported, in bytes.
const maxConversation = 128

// session is a client's session, by one of the headers that may name it.
type session struct {
	header string
	hash   affinity.Hash
}

// sessionHeaders returns the names of the headers that name sessions, each once.
func sessionHeaders(models []Model) []string {
	var names []string
	for i := range models {
		names = addSessionHeader(names, &models[i].Routing)
		for j := range models[i].Route {
			names = addSessionHeader(names, &models[i].Route[j].Routing)
		}
	}
	return names
}

func addSessionHeader(names []string, r *contract.Routing) []string {
	if r.Affinity && r.SessionHeader != "" && !slices.Contains(names, r.SessionHeader) {
		return append(names, r.SessionHeader)
	}
	return names
}

// noteSession notes a header that names a session. If it comes more than once, the first counts.
func (e *Exchange) noteSession(name, value string) {
	for _, header := range e.gateway.sessionHeaders {
		known := slices.ContainsFunc(e.sessions, func(s session) bool { return s.header == name })
		if header == name && value != "" && !known {
			e.sessions = append(e.sessions, session{header, affinity.AppendText(0, value)})
		}
	}
}

// alike determines by what a request goes to the same server as others: by its session, or by the key that the client
// gives for the servers' caches. Claude Code names its own session, which is such a key. alike reports whether the
// request goes by neither. The prompt then decides.
func (e *Exchange) alike(model *Model, cacheKey []byte) (byPrompt bool) {
	e.internal = e.internal[:0]
	if len(cacheKey) == 0 {
		cacheKey = []byte(e.conversation)
	}
	if len(cacheKey) <= maxConversation {
		e.report.Conversation = string(cacheKey)
	}
	r := &model.Routing
	if !r.Affinity {
		return false
	}
	for _, s := range e.sessions {
		if s.header == r.SessionHeader {
			e.setAffinity(s.hash, contract.RoutedBySession)
			return false
		}
	}
	if len(cacheKey) > 0 {
		e.setAffinity(affinity.AppendText(0, cacheKey), contract.RoutedByCacheKey)
		return false
	}
	return true
}

func (e *Exchange) setAffinity(h affinity.Hash, by string) {
	e.report.RoutedBy = by
	e.tell(contract.AffinityHeader, string(h.AppendHex(nil)))
}

// tell sets an internal header of the request. The value may lie in the scratch memory.
func (e *Exchange) tell(name, value string) { e.internal = append(e.internal, Header{name, value}) }

// noRole is the id of no token: the user's role is not known in another model's vocabulary.
const noRole uint32 = 1<<32 - 1

// routeByTokens tells the proxy about a prompt.
func (a *modelRequest) routeByTokens(scratch *Scratch) {
	r, seed := &a.model.Routing, a.model.seed
	size := cmp.Or(r.BlockSize, contract.DefaultBlockSize)
	shown := r.BlockHashes > 0 && !a.x.headersForwarded
	if !a.byPrompt && !shown {
		return
	}
	prompt := scratch.prompt
	if a.recall.resumed() {
		prompt = a.recall.firstIDs(size*max(r.BlockHashes, a.model.blocks())+1, prompt)
	}
	if a.byPrompt {
		user := a.x.gateway.userID
		if a.model.Kind.Facts().Renders {
			user = noRole
		}
		a.x.setAffinity(affinity.Prefix(seed, prompt, user, size, a.model.blocks()), contract.RoutedByPrefix)
	}
	if shown {
		scratch.hashes = affinity.AppendBlocks(scratch.hashes[:0], seed, prompt, size, r.BlockHashes)
		scratch.blocks = affinity.AppendList(scratch.blocks[:0], scratch.hashes)
		a.x.tell(contract.BlocksHeader, unsafe.String(unsafe.SliceData(scratch.blocks), len(scratch.blocks)))
	}
}

// routeByText tells the proxy about a conversation, or a prompt, whose tokens are not known.
func (a *modelRequest) routeByText(body []byte) {
	if a.byPrompt {
		size := cmp.Or(a.model.Routing.BlockSize, contract.DefaultBlockSize)
		a.x.setAffinity(affinity.Body(a.model.seed, body, a.model.blocks()*size*bytesPerToken), contract.RoutedByPrefix)
	}
}

// blocks returns how many blocks of a prompt's beginning count for its affinity.
func (m *Model) blocks() int { return cmp.Or(m.Routing.Blocks, contract.DefaultBlocks) }
