package agents

import (
	"slices"
	"strings"
)

// toolsInFront is how many of an agent's tools stand in front in [Found] and [Lite]. The others come in two lots.
const toolsInFront = 5

// The turns in whose answers or questions something is declared.
const (
	firstLot, secondLot, updateAt = 5, 20, 14
)

// foundLater returns the session as Codex has it with a model that searches for tools: the model has found the tools
// that do not stand in front.
func (s *Session) foundLater() *Session {
	d := s.copied()
	for lot, turn := range []int{firstLot, secondLot} {
		id := "call_search" + string(rune('0'+lot))
		d.insert(s.ends[turn-1], turn, `{"type":"tool_search_call","id":"tsc_`+id+`","call_id":"`+id+
			`","status":"completed","execution":"client","arguments":{"query":"`+s.lot(lot)[0].name+`"}}`,
			`{"type":"tool_search_output","call_id":"`+id+`","status":"completed","execution":"client","tools":[`+
				namespaced(lot, s.lot(lot), true)+`]}`)
	}
	return d
}

// declared returns the session as Codex has it with its newest models: all tools stand in the input, some of them
// later, and the effort is changed once.
func (s *Session) declared() *Session {
	d := s.copied()
	d.insert(0, 0, additional(`{"type":"namespace","name":"functions","description":"","tools":[`+
		strings.Join(functions(s.tools[:toolsInFront], false), ",")+`]}`))
	for lot, turn := range []int{firstLot, secondLot} {
		d.insert(s.ends[turn-1], turn, additional(namespaced(lot, s.lot(lot), false)))
	}
	d.insert(s.ends[updateAt-1], updateAt-1, `{"type":"configuration_update","reasoning":{"effort":"high"}}`)
	return d
}

// lot returns the tools that come together.
func (s *Session) lot(n int) []tool {
	later := s.tools[toolsInFront:]
	return [][]tool{later[:len(later)/2], later[len(later)/2:]}[n]
}

func (s *Session) copied() *Session {
	d := *s
	d.items, d.ends = slices.Clone(s.items), slices.Clone(s.ends)
	return &d
}

// insert inserts items of JSON before the item that had an index. The requests after a turn have them.
func (s *Session) insert(at, turn int, texts ...string) {
	for i := range s.items {
		if s.items[i].kind != raw {
			if at == 0 {
				at = i
				break
			}
			at--
		}
	}
	for i, text := range texts {
		s.items = slices.Insert(s.items, at+i, item{kind: raw, text: text})
	}
	for i := turn; i < len(s.ends); i++ {
		s.ends[i] += len(texts)
	}
}

func additional(tools string) string {
	return `{"type":"additional_tools","role":"developer","tools":[` + tools + `]}`
}

// namespaced returns a lot of tools in a namespace, as a server of tools has them.
func namespaced(lot int, tools []tool, deferred bool) string {
	return `{"type":"namespace","name":"mcp__` + string(rune('a'+lot)) + `","description":"Tools of a server.","tools":[` +
		strings.Join(functions(tools, deferred), ",") + `]}`
}

// functions returns tools as the Responses API has them.
func functions(tools []tool, deferred bool) (all []string) {
	rest := "}"
	if deferred {
		rest = `,"defer_loading":true}`
	}
	for _, t := range tools {
		all = append(all, `{"type":"function","name":"`+t.name+`","description":`+quote(t.description)+
			`,"strict":false,"parameters":`+t.parameters+rest)
	}
	return all
}
