package translate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// historyWriter writes the messages of a request to servers that take conversations.
type historyWriter struct {
	*spoken
	messages chatserver.Messages
	turn     chatserver.Turn
	// The calls of the input from ended to made belong to turn.
	ended, made int
	results     pastResults
}

func (s *spoken) appendMessages(dst []byte) []byte {
	w := historyWriter{
		spoken: s, messages: chatserver.Messages{History: chatserver.HistoryOf(&s.model.Chat)},
		results: resultsIn(s.in.Input),
	}
	if len(s.instructions) > 0 {
		dst = w.messages.AppendInstructions(dst, s.role, s.instructions)
	}
	for i := s.first; i < len(s.in.Input); i++ {
		item := &s.in.Input[i]
		w.takeTokenIDs(item)
		switch {
		case item.Kind == openai.ItemReasoning:
			w.turn.Reasoning(item.Content)
		case item.Kind == openai.ItemCall && item.Answered:
			id := w.call()
			dst = w.endTurn(dst)
			dst = w.messages.AppendResult(dst, id, chatserver.Content{Parts: item.Content})
		case item.Kind == openai.ItemCall:
			w.call()
		case item.Standalone(): // a result that has no call is refused by many servers
			dst = w.endTurn(dst)
			dst = w.messages.AppendUser(dst, contentOf(item))
		case item.Kind == openai.ItemCallOutput:
			dst = w.endTurn(dst)
			if w.results.take(i) {
				dst = w.messages.AppendResult(dst, item.CallID, contentOf(item))
			}
		case item.Role == openai.RoleAssistant:
			w.turn.Text(item.Content)
		case item.Role == openai.RoleUser:
			dst = w.endTurn(dst)
			dst = w.messages.AppendUser(dst, contentOf(item))
		default:
			dst = w.appendLate(dst, item)
		}
	}
	return w.endTurn(dst)
}

func (w *historyWriter) takeTokenIDs(item *openai.InputItem) {
	if item.TokenIDs != nil && w.model.Answers.TokenIDs && item.Kind != openai.ItemCallOutput &&
		(item.Kind != openai.ItemMessage || item.Role == openai.RoleAssistant) {
		w.turn.TokenIDs(item.TokenIDs)
	}
}

// call adds the next call of the input to the turn, and returns its id.
func (w *historyWriter) call() string {
	c := w.calls[w.made]
	w.turn.Call(c)
	w.made++
	return c.ID
}

// endTurn appends the assistant's message and the results of its calls, wherever the client has them.
func (w *historyWriter) endTurn(dst []byte) []byte {
	dst = w.messages.AppendTurn(dst, &w.turn)
	var at []int
	for ; w.ended < w.made; w.ended++ {
		if i := w.results.of(w.calls[w.ended].ID, w.in.Input); i >= 0 && w.results.take(i) {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	for _, i := range at {
		item := &w.in.Input[i]
		dst = w.messages.AppendResult(dst, item.CallID, contentOf(item))
	}
	return dst
}

// appendLate appends instructions that come later than the first turn, if they are not in the first message.
func (w *historyWriter) appendLate(dst []byte, item *openai.InputItem) []byte {
	switch w.model.Chat.LateInstructions {
	case contract.LateUser:
		dst = w.endTurn(dst)
		return w.messages.AppendUser(dst, contentOf(item))
	case contract.LateKeep:
		dst = w.endTurn(dst)
		return w.messages.AppendInstructions(dst, w.roleOf(item.Role), item.Content)
	default:
		return dst
	}
}

// pastResults finds the results of calls by the ids of the calls, as pastCalls finds calls. The zero value has none.
type pastResults struct {
	// byID holds the places of results in the input, ordered by the ids of their calls. Equal ids keep their order. from
	// is for the first of equal ids: the first of them that may not be taken.
	byID, from []int
	taken      []bool
}

func resultsIn(input []openai.InputItem) (r pastResults) {
	for i := range input {
		if input[i].Kind == openai.ItemCallOutput && !input[i].Standalone() {
			r.byID = append(r.byID, i)
		}
	}
	if len(r.byID) == 0 {
		return r
	}
	slices.SortFunc(r.byID, func(i, j int) int {
		return cmp.Or(strings.Compare(input[i].CallID, input[j].CallID), i-j)
	})
	r.from, r.taken = make([]int, len(r.byID)), make([]bool, len(input))
	for i := range r.from {
		r.from[i] = i
	}
	return r
}

// of returns the place of the first result of an id that is not taken, or -1 if there is none.
func (r *pastResults) of(id string, input []openai.InputItem) int {
	first, found := slices.BinarySearchFunc(r.byID, id, func(i int, id string) int {
		return strings.Compare(input[i].CallID, id)
	})
	if !found {
		return -1
	}
	for at := r.from[first]; at < len(r.byID) && input[r.byID[at]].CallID == id; at++ {
		r.from[first] = at
		if !r.taken[r.byID[at]] {
			return r.byID[at]
		}
	}
	return -1
}

// take reports whether the result at a place is taken for the first time.
func (r *pastResults) take(i int) bool {
	first := !r.taken[i]
	r.taken[i] = true
	return first
}
