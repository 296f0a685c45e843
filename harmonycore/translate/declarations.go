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
}

// laterTools are the tools from ≤ i < to, which stand before an item of the input.
type laterTools struct{ before, from, to int }

func newDeclarations(in *openai.ResponsesRequest) *declarations {
	d := &declarations{all: in.Tools, head: len(in.Tools)}
	if len(in.Declared) > 0 {
		d.all = slices.Clip(in.Tools)
	}
	for i := range in.Declared {
		from := len(d.all)
		d.all = append(d.all, in.Declared[i].Tools...)
		d.later = append(d.later, laterTools{in.Declared[i].Before, from, len(d.all)})
	}
	d.shown = newToolset(d.all[:d.head]).with(d.all[d.head:])
	d.schemas = &schemas{declared: d.all}
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

// inForce returns the last declaration of each tool: the tools that can be called.
func (d *declarations) inForce() (toolset, *schemas) {
	if len(d.later) == 0 {
		return d.shown, d.schemas
	}
	last := make(map[string]int, len(d.shown))
	for i := range d.shown {
		last[d.shown[i].shown] = i
	}
	set, of := make(toolset, 0, len(last)), &schemas{of: d.schemas}
	for i := range d.shown {
		if last[d.shown[i].shown] == i {
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

// addDeclarations adds the tools that stand before the item at index next of the input, each list as a developer
// message of its own.
func (b *builder) addDeclarations(d *declarations, next int) {
	for d != nil && len(d.later) > 0 && d.later[0].before <= next {
		l := d.later[0]
		d.later = d.later[1:]
		namespaces := d.shown[l.from:l.to].namespaces(d.all[l.from:l.to], d.schemas.all()[l.from:l.to])
		if len(namespaces) == 0 {
			continue
		}
		b.writing.leave()
		b.messages = append(b.messages, harmony.Message{Role: harmony.Developer, Content: []harmony.Content{{
			Developer: &harmony.DeveloperContent{Tools: namespaces},
		}}})
	}
}
