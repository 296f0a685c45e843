package translate

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// declarations are the tools of a request, those in front and those that stand in its input. Each is shown where it
// stands, so that a prompt begins as the one before it did (RATIONALE.md#232).
type declarations struct {
	// all are the tools in the order in which they are shown, and shown their names. A tool may be declared again: then
	// both have one name, and the last one counts.
	all     []openai.Tool
	shown   toolset
	schemas *schemas
	// head is how many of them are in front. later are the others.
	head  int
	later []laterTools
	// callable reports whether a tool was not withdrawn, for each of all. It is nil if all can be called.
	callable []bool
}

// laterTools are the tools from ≤ i < to, which stand before an item of the input, and in an element of it.
type laterTools struct{ before, element, from, to int }

func newDeclarations(in *openai.ResponsesRequest) *declarations {
	d := &declarations{all: in.Tools, head: len(in.Tools)}
	if len(in.Declared) > 0 {
		d.all = slices.Clip(in.Tools)
	}
	for i := range in.Declared {
		from := len(d.all)
		d.all = append(d.all, in.Declared[i].Tools...)
		d.later = append(d.later, laterTools{in.Declared[i].Before, in.Declared[i].Element, from, len(d.all)})
	}
	d.shown = newToolset(d.all[:d.head]).with(d.all[d.head:])
	d.schemas = &schemas{declared: d.all}
	if len(in.Withdrawn) > 0 {
		d.callable = make([]bool, len(d.all))
		for i := range d.all {
			d.callable[i] = !in.IsWithdrawn(&d.all[i])
		}
	}
	return d
}

// with returns the tools and those that are declared later. A name that the model has been shown stays what it was: the
// later tool of two has its namespace before it, or a number after it.
func (s toolset) with(later []openai.Tool) toolset {
	if len(later) == 0 {
		return s
	}
	used := make(map[string]int, len(s)+len(later))
	known := make(map[string]string, len(s)+len(later))
	room := maxSchemas
	for i := range s {
		used[s[i].shown]++
		known[s[i].namespace+"."+s[i].name] = s[i].shown
		room -= len(s[i].schema)
	}
	for i := range later {
		t := &later[i]
		key := t.Namespace + "." + t.Name
		shown, again := known[key]
		if !again {
			shown = t.Name
			if used[shown] > 0 && t.Namespace != "" {
				shown = t.Namespace + separator + t.Name
			}
			shown = unusedName(shown, used)
			known[key] = shown
		}
		s = append(s, newShownTool(t, shown, &room))
	}
	return s
}

// takeNames notes whether declarations rename tools that the conversation has called before them: those calls change.
// The declarations that stand before a conversation's end are passed, since the model has been shown them.
func (r *Request) takeNames(in *openai.ResponsesRequest, d *declarations) {
	if len(d.later) == 0 {
		return
	}
	renamed, read := d.renamed(), 0
	if r.env.Past != nil {
		read = r.env.Past.Elements
		for _, at := range renamed {
			r.changes = r.changes || at >= read // its calls may be out of sight
		}
	}
	if len(renamed) > 0 {
		for i := range in.Input {
			item := &in.Input[i]
			if at, ok := renamed[keyOf(item.Namespace, item.Name)]; ok && at > item.Index {
				r.turned = max(r.turned, at+1)
			}
		}
	}
	for len(d.later) > 0 && d.later[0].element < read {
		d.later = d.later[1:]
	}
}

// renamed returns the tools that are shown under another name than their own, by their keys, with the element from
// which on they are. That is -1 for tools in front.
func (d *declarations) renamed() map[string]int {
	renamed := map[string]int{}
	note := func(from, to, element int) {
		for i := from; i < to; i++ {
			if t := &d.shown[i]; t.shown != t.name {
				if _, before := renamed[keyOf(t.namespace, t.name)]; !before {
					renamed[keyOf(t.namespace, t.name)] = element
				}
			}
		}
	}
	note(0, d.head, -1)
	for _, l := range d.later {
		note(l.from, l.to, l.element)
	}
	return renamed
}

// inForce returns the last declaration of each tool that was not withdrawn: the tools that can be called.
func (d *declarations) inForce() (toolset, *schemas) {
	if d.head == len(d.all) && d.callable == nil {
		return d.shown, d.schemas
	}
	last := make(map[string]int, len(d.shown))
	for i := range d.shown {
		last[d.shown[i].shown] = i
	}
	set, of := make(toolset, 0, len(last)), &schemas{of: d.schemas}
	for i := range d.shown {
		if last[d.shown[i].shown] == i && (d.callable == nil || d.callable[i]) {
			set, of.declared = append(set, d.shown[i]), append(of.declared, d.all[i])
			of.places = append(of.places, i)
		}
	}
	return set, of
}

// inFront returns what the first developer message declares.
func (d *declarations) inFront(section *harmony.ToolSection) declaration {
	known := &schemas{declared: d.all[:d.head]}
	if len(d.schemas.read) > 0 {
		known.read = d.schemas.read[:d.head]
	} else if d.head == len(d.all) {
		known = d.schemas
	}
	return d.shown[:d.head].declaration(known, section)
}

// standsIn reports whether the next declaration stands in an element.
func (d *declarations) standsIn(element int) bool {
	return d != nil && len(d.later) > 0 && d.later[0].element == element
}

// addDeclarations adds the tools that stand before the item at index next of the input, each list as a developer
// message of its own.
func (b *builder) addDeclarations(d *declarations, next int) {
	for d != nil && len(d.later) > 0 && d.later[0].before <= next {
		b.addDeclaration(d)
	}
}

// addDeclaration adds the next list of tools.
func (b *builder) addDeclaration(d *declarations) {
	l := d.later[0]
	d.later = d.later[1:]
	namespaces := d.shown[l.from:l.to].namespaces(d.all[l.from:l.to], d.schemas.all()[l.from:l.to])
	if len(namespaces) == 0 {
		return
	}
	b.writing.leave()
	b.messages = append(b.messages, harmony.Message{Role: harmony.Developer, Content: []harmony.Content{{
		Developer: &harmony.DeveloperContent{Tools: namespaces},
	}}})
}
