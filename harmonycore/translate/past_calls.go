package translate

import (
	"slices"
	"strings"
)

// pastCalls holds the calls of a history. Results find their calls in it by id. Ids come from the client, in any length
// and number. If each result looked at all calls, a worker would be busy for minutes. A map would take seconds, because
// TinyGo's collector scans a growing map word by word. So the calls are sorted once, and searched by halving.
type pastCalls struct {
	// list is in the order of the history. byID holds indices into list, ordered by id. Equal ids keep the order of list.
	list []pastCall
	byID []int
}

// pastCall is a call: its id, the tool, and the index of its message.
type pastCall struct {
	id string
	calledTool
	message int
}

// add adds a call. It must not be called after the first find.
func (p *pastCalls) add(id string, tool calledTool) {
	p.list = append(p.list, pastCall{id: id, calledTool: tool})
}

// find returns the last call with this id among the first made calls, or nil.
func (p *pastCalls) find(id string, made int) *pastCall {
	if len(p.byID) < len(p.list) {
		p.sort()
	}
	end, _ := slices.BinarySearchFunc(p.byID, made, func(i, made int) int { return p.compare(i, id, made) })
	if end == 0 {
		return nil
	}
	last := &p.list[p.byID[end-1]]
	if last.id != id {
		return nil
	}
	return last
}

func (p *pastCalls) sort() {
	p.byID = make([]int, len(p.list))
	for i := range p.byID {
		p.byID[i] = i
	}
	slices.SortFunc(p.byID, func(i, j int) int { return p.compare(i, p.list[j].id, j) })
}

// compare compares the call at i with a call that has this id and stands at j.
func (p *pastCalls) compare(i int, id string, j int) int {
	if order := strings.Compare(p.list[i].id, id); order != 0 {
		return order
	}
	return i - j
}
