package openai

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Needs is what a Responses request asks for beyond one answer of the model's.
type Needs struct {
	// State says that something is asked for which was stored before, or which goes on when the client has left.
	State bool
	// Store says that the response is to be kept, which the API does unless it is told not to.
	Store bool
	// HostedTool is where the first tool says that it is one which the model is not shown, as tools[2].type; HostedKind is
	// its type. Both are empty where there is none.
	HostedTool, HostedKind string
}

// ResponsesNeeds reads what a request needs, and nothing else of it: what is of the wrong type is no need, and is left
// to the decoder's judgement.
func (b *Body) ResponsesNeeds() (Needs, *Error) {
	n := Needs{Store: true}
	err := b.root.members("", func(key []byte, v value) *Error {
		switch string(key) {
		case "previous_response_id":
			n.State = n.State || v.kind == rawjson.String
		case "conversation":
			n.State = n.State || v.kind == rawjson.String || v.kind == rawjson.Object
		case "background":
			n.State = n.State || v.isTrue()
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
		err = b.statesOnce()
	}
	return n, err
}

func (v value) isTrue() bool {
	return v.kind == rawjson.Bool && len(v.raw) > 0 && v.raw[0] == 't'
}

// readItems looks for items that stand for stored ones.
func (n *Needs) readItems(v value) *Error {
	if v.kind != rawjson.Array {
		return nil
	}
	return v.elements("input", func(_ int, at string, v value) *Error {
		if n.State {
			return nil
		}
		var err *Error
		n.State, err = v.refers(at)
		return err
	})
}

// refers reports whether an item stands for a stored one. The type of such an item may be missing: then it has an id, and
// nothing of a message's.
func (v value) refers(at string) (bool, *Error) {
	if v.kind != rawjson.Object {
		return false, nil
	}
	var f itemFields
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
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
	return f.refers(), err
}

func (n *Needs) readTools(v value) *Error {
	if v.kind != rawjson.Array {
		return nil
	}
	return v.elements("tools", func(_ int, at string, v value) *Error {
		if n.HostedTool != "" {
			return nil
		}
		kind, err := v.typeOf(at)
		if kind != "" && !shownTool(kind) {
			n.HostedTool, n.HostedKind = join(at, "type"), kind
		}
		return err
	})
}

// typeOf is what an object's member "type" says, or empty.
func (v value) typeOf(at string) (kind string, err *Error) {
	if v.kind != rawjson.Object {
		return "", nil
	}
	err = v.members(at, func(key []byte, v value) *Error {
		if string(key) == "type" && v.kind == rawjson.String {
			kind = rawjson.Unescape(v.raw)
		}
		return nil
	})
	return kind, err
}

// NotHostedHere is the error for a tool that neither the model is shown nor anybody runs.
func (n *Needs) NotHostedHere() *Error {
	return Unsupported(n.HostedTool, "Unsupported tool: '"+clip(n.HostedKind)+"' is not run here. Declare functions, and run them yourself.")
}

// ResponseNotFound is the error for a stored response that is not there.
func ResponseNotFound(id string) *Error {
	return &Error{
		Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeResponseNotFound,
		Message: "Response with id '" + clip(id) + "' not found.",
	}
}
