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
	// run is the index of the first call of the newest run.
	run int
}

// pastCall is a call: its id, the tool, and the index of its message.
type pastCall struct {
	id string
	calledTool
	message int
	// run is the index of the first call of its run, which is the calls between which no result stands. results is the
	// number of results for the calls with this id in this run. It counts at the first of them.
	run, results int
}

// add adds a call. It must not be called after the first answer.
func (p *pastCalls) add(id string, tool calledTool) {
	p.list = append(p.list, pastCall{id: id, calledTool: tool, run: p.run})
}

// interrupt ends the run of calls: whatever is added next follows something other than a call.
func (p *pastCalls) interrupt() { p.run = len(p.list) }

// answer returns the call that the next result with this id belongs to, among the first made calls, or nil. Ids may
// repeat: then it is the first call without a result in the last run that has this id, or the last one there if all
// have results.
func (p *pastCalls) answer(id string, made int) *pastCall {
	if len(p.byID) < len(p.list) {
		p.sort()
	}
	end := p.before(id, made)
	if end == 0 || p.list[p.byID[end-1]].id != id {
		return nil
	}
	last := &p.list[p.byID[end-1]]
	first := p.before(id, last.run)
	if first >= end {
		return last // never reached
	}
	answered := &p.list[p.byID[first]].results
	at := min(first+*answered, end-1)
	*answered++
	return &p.list[p.byID[at]]
}

// before returns how many calls of byID come before a call with this id at index i of list.
func (p *pastCalls) before(id string, i int) int {
	n, _ := slices.BinarySearchFunc(p.byID, i, func(at, i int) int { return p.compare(at, id, i) })
	return n
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
