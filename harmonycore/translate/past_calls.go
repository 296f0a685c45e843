package translate

import (
	"slices"
	"strings"
)

// pastCalls are the calls of a history, for results to find theirs by its id. Ids are the client's own, of any length and
// number: results that each looked through all calls would hold a worker for minutes, and so would, for seconds, a map
// that grows while TinyGo's collector scans it word by word.
type pastCalls struct {
	// list is in the order of the history, and byID has its indices in the order of the ids, those of one id as in list.
	list []pastCall
	byID []int
}

// pastCall is a call by its id, under the name that the model sees, and which message it has become.
type pastCall struct {
	id, shown string
	message   int
}

// add is for before the first find.
func (p *pastCalls) add(id, shown string) {
	p.list = append(p.list, pastCall{id: id, shown: shown})
}

// find returns the last one with this id among the first made calls, or nil.
func (p *pastCalls) find(id string, made int) *pastCall {
	if len(p.byID) < len(p.list) {
		p.sort()
	}
	behind, _ := slices.BinarySearchFunc(p.byID, made, func(i, made int) int { return p.compare(i, id, made) })
	if behind == 0 {
		return nil
	}
	last := &p.list[p.byID[behind-1]]
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

// compare says how the call i stands to one with this id at j.
func (p *pastCalls) compare(i int, id string, j int) int {
	if order := strings.Compare(p.list[i].id, id); order != 0 {
		return order
	}
	return i - j
}
