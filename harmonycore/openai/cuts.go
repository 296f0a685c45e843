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
	// Update is the last element that changes the effort or the form of the answer, or -1.
	Update int
}

// Cuts appends the places at which a conversation seems to be one that could be continued: behind the instructions that
// it begins with, and behind users' messages and results, each with the updates directly behind it. There are at least
// so many bytes between two of them, but the last one stands behind the last such element. name is the member with the
// conversation, of which the first read elements do not count. ok is false if there is no array.
func (b *Body) Cuts(dst []Cut, name string, read, least int) (cuts []Cut, in Elements, ok bool) {
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
		in = Elements{from + 1, base + members.End - 1, b.root.ends.Values(members.Value, from), -1}
		elements := b.root.ends.Elements(members.Value, from)
		lead := Cut{-1, from + 1}
		for i := 0; i < read && elements.Next(); i++ {
			lead = Cut{i, from + elements.End}
			in.Values -= 1 + b.root.ends.Values(elements.Value, lead.End-len(elements.Value))
		}
		return in.cut(dst, elements, lead, from, least), in, true
	}
	return dst, Elements{}, false
}

// cut is [Body.Cuts] of elements behind the lead, in an array that begins at this place in the body.
func (in *Elements) cut(dst []Cut, elements rawjson.Items, lead Cut, from, least int) []Cut {
	leading := true
	var cut, candidate Cut
	for i := lead.Element + 1; elements.Next(); i++ {
		kind := elementKind(elements.Value)
		if leading && kind == elementInstructions {
			lead = Cut{i, from + elements.End}
			continue
		}
		if leading {
			leading = false
			dst, cut, candidate = append(dst, lead), lead, lead
		}
		if kind == elementUpdate {
			in.Update = i
		}
		switch {
		case kind == elementBorder, kind == elementUpdate && i-1 == candidate.Element && i-1 > lead.Element:
			candidate = Cut{i, from + elements.End} // an update adds nothing
		case candidate.End-cut.End >= least:
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
	elementUpdate
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
			case kind == itemUpdate:
				return elementUpdate
			case strings.HasSuffix(kind, "_call_output"):
				return elementBorder
			default:
				return elementOther
			}
		}
	}
	return elementOther
}
