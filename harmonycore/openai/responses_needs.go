package openai

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Needs holds what a Responses request needs beyond one answer of the model (RATIONALE.md#50).
type Needs struct {
	// State reports whether the request refers to something stored, continues after the client has disconnected, or has
	// to do with a compacted conversation.
	State bool
	// Stream reports whether the client wants a stream.
	Stream bool
	// Store reports whether the client wants the response stored, which is the API's default.
	Store bool
	// HostedTool is the place of the type of the first tool that the model is not shown, such as tools[2].type. HostedKind
	// is that type. Both are empty if there is none.
	HostedTool, HostedKind string
	// Deferred reports whether there are tools that a search has to find, and no search of the client's. It is false if
	// there is a hosted tool, which may be a search.
	Deferred bool
}

// ResponsesNeeds reads what a request needs and nothing else. It ignores values of a wrong type, which the decoder
// reports.
func (b *Body) ResponsesNeeds() (Needs, *Error) {
	n := Needs{Store: true}
	err := b.root.members("", func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "previous_response_id":
			n.State = n.State || v.kind == rawjson.String
		case "conversation":
			n.State = n.State || v.kind == rawjson.String || v.kind == rawjson.Object
		case "background":
			n.State = n.State || v.isTrue()
		case "stream":
			n.Stream = v.isTrue()
		case "context_management":
			n.State = n.State || v.kind == rawjson.Array
		case "store":
			n.Store = v.kind <= rawjson.Null || v.isTrue()
		case "input":
			return n.readItems(v)
		case "tools":
			return n.readTools(v)
		}
		return nil
	})
	if err == nil && n.State {
		err = b.requireOneState()
	}
	return n, err
}

func (v value) isTrue() bool {
	return v.kind == rawjson.Bool && len(v.raw) > 0 && v.raw[0] == 't'
}

// readItems looks for items that only a service can read: references to stored ones, and compacted conversations.
func (n *Needs) readItems(v value) *Error {
	if v.kind != rawjson.Array {
		return nil
	}
	return v.elements("input", func(_ int, at string, v value) *Error {
		if n.State {
			return nil
		}
		var err *Error
		n.State, err = v.needsState(at)
		return err
	})
}

// needsState reports whether an item stands for others: a reference to a stored one, or a compacted conversation. A
// reference without a type has an id and no members of a message.
func (v value) needsState(at string) (bool, *Error) {
	if v.kind != rawjson.Object {
		return false, nil
	}
	var f itemFields
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			if v.kind == rawjson.String {
				f.kind = rawjson.Unescape(v.raw)
			} else if v.given() {
				f.kind = "no type"
			}
		case "id":
			f.id = v
		case "role":
			f.role = v
		}
		return nil
	})
	return f.refers() || f.kind == itemCompaction || f.kind == itemCompactionTrigger, err
}

func (n *Needs) readTools(v value) *Error {
	if v.kind != rawjson.Array {
		return nil
	}
	deferred, searches := false, false
	err := v.elements("tools", func(_ int, at string, v value) *Error {
		if n.HostedTool != "" {
			return nil
		}
		h, err := v.toolHead(at)
		if h.kind != "" && !ShownTool(h.kind, h.execution) {
			n.HostedTool, n.HostedKind = join(at, "type"), h.kind
		}
		searches = searches || h.kind == typeToolSearch
		if deferred = deferred || h.deferred; deferred || h.tools.kind != rawjson.Array {
			return err
		}
		return h.tools.elements(at, func(_ int, at string, v value) *Error {
			h, err := v.toolHead(at)
			deferred = deferred || h.deferred
			return err
		})
	})
	n.Deferred = deferred && !searches && n.HostedTool == ""
	return err
}

// toolHead holds what says who runs a tool, and when it is shown: each member is empty if it is not there. Tools are
// those of a namespace.
type toolHead struct {
	kind, execution string
	deferred        bool
	tools           value
}

func (v value) toolHead(at string) (h toolHead, err *Error) {
	if v.kind != rawjson.Object {
		return h, nil
	}
	err = v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			if v.kind == rawjson.String {
				h.kind = rawjson.Unescape(v.raw)
			}
		case "execution":
			if v.kind == rawjson.String {
				h.execution = rawjson.Unescape(v.raw)
			}
		case "defer_loading":
			h.deferred = v.isTrue()
		case "tools":
			h.tools = v
		}
		return nil
	})
	return h, err
}

// typeOf returns an object's member "type", or empty if there is none.
func (v value) typeOf(at string) (string, *Error) {
	h, err := v.toolHead(at)
	return h.kind, err
}

// NotHostedHere returns the error for a tool that the model is not shown and that the gateway cannot run.
func (n *Needs) NotHostedHere() *Error {
	return Unsupported(n.HostedTool, "Unsupported tool: '"+clip(n.HostedKind)+"' is not run here. Declare functions, "+
		"and run them yourself.")
}

// ResponseNotFound returns a 404 for a stored response that does not exist.
func ResponseNotFound(id string) *Error {
	return &Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeResponseNotFound,
		Message: "Response with id '" + clip(id) + "' not found.",
	}
}
