package openai

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Cut is a place between two elements of a conversation.
type Cut struct {
	// Element is the index of the element before it, or -1. End is where that ends in the body, or where the first one
	// could begin.
	Element, End int
}

// Elements is where the elements of a conversation are in a body.
type Elements struct {
	// Open is where the first one could begin, and Closed where the array's bracket closes.
	Open, Closed int
	// Values is how many values they have.
	Values int
}

// Cuts appends the places at which a conversation seems to be one that could be continued: behind the instructions that
// it begins with, and behind users' messages and results. There are at least so many bytes between two of them, but the
// last one stands behind the last such element. name is the member with the conversation. ok is false if there is no
// array.
func (b *Body) Cuts(dst []Cut, name string, least int) (cuts []Cut, in Elements, ok bool) {
	base := b.root.at
	members := b.root.ends.Members(b.root.raw, base)
	for members.Next() {
		if rawjson.View(members.Key) != name {
			continue
		}
		if members.Kind != rawjson.Array {
			return dst, Elements{}, false
		}
		from := base + members.End - len(members.Value)
		in = Elements{from + 1, base + members.End - 1, b.root.ends.Values(members.Value, from)}
		return cutsOf(dst, b.root.ends.Elements(members.Value, from), from, least), in, true
	}
	return dst, Elements{}, false
}

// cutsOf is [Body.Cuts] of an array that begins at this place in the body.
func cutsOf(dst []Cut, elements rawjson.Items, from, least int) []Cut {
	lead := Cut{-1, from + 1}
	leading := true
	var cut, candidate Cut
	for i := 0; elements.Next(); i++ {
		kind := elementKind(elements.Value)
		if leading && kind == elementInstructions {
			lead = Cut{i, from + elements.End}
			continue
		}
		if leading {
			leading = false
			dst, cut, candidate = append(dst, lead), lead, lead
		}
		if kind == elementBorder {
			candidate = Cut{i, from + elements.End}
		} else if candidate.End-cut.End >= least {
			dst, cut = append(dst, candidate), candidate
		}
	}
	if leading {
		return append(dst, lead)
	}
	if candidate != cut {
		dst = append(dst, candidate)
	}
	return dst
}

type elementKindOf uint8

const (
	elementOther elementKindOf = iota
	elementInstructions
	elementBorder
)

// elementKind returns what an element seems to be. The reader decides.
func elementKind(element []byte) elementKindOf {
	members := rawjson.Members(element)
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "role":
			switch rawjson.View(members.Value) {
			case RoleSystem, RoleDeveloper:
				return elementInstructions
			case RoleUser, RoleTool:
				return elementBorder
			}
			return elementOther
		case "type":
			switch kind := rawjson.View(members.Value); {
			case kind == "message", kind == itemAdditionalTools: // by its role
			case strings.HasSuffix(kind, "_call_output"):
				return elementBorder
			default:
				return elementOther
			}
		}
	}
	return elementOther
}
