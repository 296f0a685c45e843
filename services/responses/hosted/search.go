package hosted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolsearch"
)

// OfSearch stands for the service's own search in metrics and logs. No server can have this label.
const OfSearch = "(tool search)"

// typeSearch is the type of a search for tools in a request, and the name of the function that the model sees.
const typeSearch = "tool_search"

// The number of tools that a search finds: as the model asks for, or by default.
const (
	defaultFound = 8
	maxFound     = 20
)

// searching is the service's search for the tools of a request that the model is not shown from the start.
type searching struct {
	// on reports whether the service searches. placed reports whether the request says where the model sees the search,
	// needed whether tools of the request wait for one, and taken whether a tool of the client has its name.
	on, placed, needed, taken bool
	// found are the tools that it can find, in the order of the request, and groups their namespaces by name.
	found  []deferred
	groups map[string]*namespace
}

// deferred is a tool that a search can find.
type deferred struct {
	// group is the namespace that the tool is in, without tools, or nil.
	group       *namespace
	name, about string
	// raw is the tool, and text what it is found by.
	raw  json.RawMessage
	text toolsearch.Text
}

// namespace is what the API says of a namespace.
type namespace struct {
	Type        string            `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Tools       []json.RawMessage `json:"tools"`
}

// searched is what of a tool of the client's matters to a search.
type searched struct {
	namespace
	Execution  string          `json:"execution"`
	Deferred   json.RawMessage `json:"defer_loading"`
	Parameters json.RawMessage `json:"parameters"`
}

func isTrue(raw json.RawMessage) bool { return string(raw) == "true" }

// note notes what a tool of the request has to do with a search.
func (s *searching) note(raw json.RawMessage) {
	var f searched
	if json.Unmarshal(raw, &f) != nil {
		return // the gateway reports what is wrong
	}
	s.taken = s.taken || f.Name == typeSearch && f.Type != "namespace"
	s.needed = s.needed || isTrue(f.Deferred)
	for _, inside := range f.Tools {
		var f searched
		s.needed = s.needed || json.Unmarshal(inside, &f) == nil && isTrue(f.Deferred)
	}
}

// settleSearch decides whether the service searches, when all tools have been read. size is how large they are: the
// gateway refuses more than it takes.
func (h *Tools) settleSearch(size int) {
	s := &h.searching
	s.needed = s.needed || slices.ContainsFunc(h.Servers, func(m *Server) bool { return m.deferred })
	s.on = s.on && !h.search && (s.placed || s.needed && !s.taken) && size <= openai.MaxTools
	for i := range h.declared {
		if d := &h.declared[i]; d.search && !s.on {
			d.ignored = true
		}
	}
	for _, m := range h.Servers {
		m.deferred = m.deferred && s.on
	}
}

// Searches reports whether the service searches for tools of the request.
func (h *Tools) Searches() bool { return h != nil && h.searching.on }

// Gather notes the tools that can be found: those of the request, of its servers, and of the items before the answer.
// Of two with one name the later one counts.
func (h *Tools) Gather(parts ...[]store.Item) {
	if !h.Searches() {
		return
	}
	s := &h.searching
	s.found, s.groups = nil, map[string]*namespace{}
	for i := range h.declared {
		d := &h.declared[i]
		switch {
		case d.client():
			s.gather(d.raw)
		case d.server != nil && d.server.deferred:
			s.gather(d.server.namespace())
		}
	}
	for _, list := range parts {
		for i := range list {
			var item struct{ Tools []json.RawMessage }
			if list[i].Type == items.TypeTools && json.Unmarshal(list[i].Body, &item) == nil {
				for _, raw := range item.Tools {
					s.gather(raw)
				}
			}
		}
	}
	last := map[string]int{}
	for i := range s.found {
		last[s.found[i].key()] = i
	}
	for i := range s.found {
		if last[s.found[i].key()] != i {
			s.found[i].raw = nil
		}
	}
	s.found = slices.DeleteFunc(s.found, func(d deferred) bool { return d.raw == nil })
}

// key is what a tool is known by. Neither part has a dot in it. The namespace functions is none.
func (d *deferred) key() string {
	if d.group == nil || d.group.Name == "functions" {
		return "." + d.name
	}
	return d.group.Name + "." + d.name
}

// gather notes a tool, or the tools of a namespace.
func (s *searching) gather(raw json.RawMessage) {
	var f searched
	if json.Unmarshal(raw, &f) != nil {
		return
	}
	if f.Type != "namespace" {
		s.add(nil, raw, &f)
		return
	}
	group := s.groups[f.Name]
	if group == nil {
		group = &namespace{Type: f.Type, Name: f.Name, Description: f.Description}
		s.groups[f.Name] = group
	}
	for _, inside := range f.Tools {
		var f searched
		if json.Unmarshal(inside, &f) == nil {
			s.add(group, inside, &f)
		}
	}
}

func (s *searching) add(group *namespace, raw json.RawMessage, f *searched) {
	if f.Type != "function" && f.Type != "custom" || !isTrue(f.Deferred) {
		return
	}
	d := deferred{group: group, name: f.Name, about: f.Description, raw: raw,
		text: toolsearch.Text{Name: f.Name, About: f.Description + " " + wordsOf(f.Parameters)}}
	if group != nil {
		d.text.Name = group.Name + " " + f.Name
		d.text.About += " " + group.Description
	} else {
		d.raw = whole(raw, f)
	}
	s.found = append(s.found, d)
}

// whole returns a function with the members that the API's functions have.
func whole(raw json.RawMessage, f *searched) json.RawMessage {
	var fields map[string]json.RawMessage
	if f.Type != "function" || json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	for _, name := range []string{"description", "parameters", "strict"} {
		if fields[name] == nil {
			fields[name] = json.RawMessage("null")
		}
	}
	return items.JSON(fields)
}

// maxSchemaWords is how much of a schema a tool is found by, in bytes.
const maxSchemaWords = 4 << 10

// wordsOf returns the names and descriptions in a schema.
func wordsOf(schema json.RawMessage) string {
	var b strings.Builder
	appendWords(&b, schema, false, openai.MaxSchemaDepth)
	return openai.Clip(b.String(), maxSchemaWords)
}

// appendWords appends the words of a part of a schema. names reports whether it has a schema for each name of a value.
// Parts that are nested deeper than so many levels are left out.
func appendWords(b *strings.Builder, part []byte, names bool, levels int) {
	if levels == 0 || b.Len() > maxSchemaWords || len(part) == 0 {
		return
	}
	if part[0] == '[' {
		list := rawjson.Elements(part)
		for list.Next() {
			if list.Kind == rawjson.Object || list.Kind == rawjson.Array {
				appendWords(b, list.Value, false, levels-1)
			}
		}
		return
	}
	members := rawjson.Members(part)
	for members.Next() {
		key := rawjson.Unescape(members.Key)
		switch {
		case names:
			b.WriteString(key + " ")
		case key == "description" && members.Kind == rawjson.String:
			b.WriteString(rawjson.Unescape(members.Value) + " ")
		}
		if members.Kind == rawjson.Object || members.Kind == rawjson.Array {
			appendWords(b, members.Value, key == "properties" && !names, levels-1)
		}
	}
}

// searchParameters are the parameters of the function that the model sees.
const searchParameters = `{"type":"object","properties":{"query":{"type":"string","description":"Words that say what ` +
	`the tool does."},"limit":{"type":"integer","description":"How many tools to load: 8 by default, 20 at most."}},` +
	`"required":["query"]}`

// tool returns the search as the gateway gets it, or nil if it has nothing to find.
func (s *searching) tool() json.RawMessage {
	if !s.on || len(s.found) == 0 {
		return nil
	}
	return items.JSON(map[string]any{"type": typeSearch, "execution": "client", "description": s.description(),
		"parameters": json.RawMessage(searchParameters)})
}

// The limits of what the model reads of tools that it is not shown, in bytes: of all, and of the description of one.
const (
	maxSources     = 4 << 10
	maxDescription = 200
)

// description says what can be found: each namespace with its number of tools, and each tool that is in none.
func (s *searching) description() string {
	var b strings.Builder
	b.WriteString("Searches for tools that are not shown yet, and loads the best matches, which can be called from " +
		"then on. There are:")
	counts, told, left := map[*namespace]int{}, map[*namespace]bool{}, 0
	for i := range s.found {
		counts[s.found[i].group]++
	}
	for i := range s.found {
		d := &s.found[i]
		line, about := d.name, d.about
		if g := d.group; g != nil {
			if told[g] {
				continue
			}
			told[g] = true
			line, about = fmt.Sprintf("%s (tools: %d)", g.Name, counts[g]), g.Description
		}
		if about = strings.Join(strings.Fields(about), " "); about != "" {
			line += ": " + openai.Clip(about, maxDescription)
		}
		if b.Len()+len(line) > maxSources {
			left++
			continue
		}
		b.WriteString("\n- " + line)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n- and %d more", left)
	}
	return b.String()
}

// Texts returns what the tools are found by.
func (h *Tools) Texts() []toolsearch.Text {
	texts := make([]toolsearch.Text, len(h.searching.found))
	for i := range texts {
		texts[i] = h.searching.found[i].text
	}
	return texts
}

// Question returns what a call of the search asks for, and for how many tools. A model may write other members than
// those of the function: then all its words are the question.
func (c *Call) Question() (query string, most int) {
	var f struct{ Query, Limit json.RawMessage }
	_ = json.Unmarshal([]byte(c.Sent), &f) // a text that is no object is the question
	limit := float64(defaultFound)
	_ = json.Unmarshal(items.OrNull(f.Limit), &limit)
	if json.Unmarshal(items.OrNull(f.Query), &query) != nil || query == "" {
		query = c.Sent
	}
	return query, int(min(max(limit, 1), maxFound))
}

// Load returns tools by their places in [Tools.Texts], as an item with an output has them, and their size. The best one
// is there if it is no larger than room, and others as long as they are no larger than atMost together.
func (h *Tools) Load(places []int, atMost, room int64) (tools []json.RawMessage, size int64) {
	tools = []json.RawMessage{}
	var loaded []namespace // one without a name stands for a tool that is in none
	at := map[*namespace]int{}
	for _, place := range places {
		d := &h.searching.found[place]
		i, again := at[d.group]
		again = again && d.group != nil
		bytes := int64(len(d.raw)) + 1
		if d.group != nil && !again {
			bytes += int64(len(items.JSON(d.group)))
		}
		if size+bytes > room || size > 0 && size+bytes > atMost {
			continue
		}
		size += bytes
		if !again {
			i, at[d.group] = len(loaded), len(loaded)
			loaded = append(loaded, namespace{})
			if d.group != nil {
				loaded[i] = *d.group
			}
		}
		loaded[i].Tools = append(loaded[i].Tools, d.raw)
	}
	for i := range loaded {
		if loaded[i].Name == "" {
			tools = append(tools, loaded[i].Tools...)
		} else {
			tools = append(tools, items.JSON(&loaded[i]))
		}
	}
	return tools, size
}
