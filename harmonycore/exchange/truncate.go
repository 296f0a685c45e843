package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// truncated appends the messages of a conversation to dst, which is empty. If not all of them fit the context, it
// leaves out the oldest turns: as few as leave room for an answer, or all but the last if none do. more is how many
// tokens follow the messages. dropped is the number of turns left out, and fit reports whether the last turn fits.
//
// It renders the turns from the last to the first, until one does not fit, since a history may be far longer than the
// context. The result is what a request without the dropped turns would be rendered as: messages are rendered one by
// one, and only later messages decide which reasoning is dropped.
func truncated(dst []uint32, g *harmony.Rendering, r *translate.Request, context, more int) (
	out []uint32, dropped int, fit bool, err error,
) {
	dst, fit, err = g.Append(dst, 0, r.Turns[0], context)
	if err != nil || !fit {
		return dst, 0, fit, err
	}
	head, last := len(dst), len(r.Turns)-1
	// A client that always asks for more than it needs must not lose its conversation for that.
	room := context / 4
	if answer := r.Sampling.MaxTokens; answer > 0 {
		room = min(room, answer)
	}
	limit := context - max(room, 1)
	// ends holds where the turns end in dst, the last one first. kept is how many of them leave room for the answer.
	ends, kept := make([]int, 0, len(r.Turns)), 1
	end := len(r.Conversation.Messages)
	for turn := last; turn >= 0; turn-- {
		dst, fit, err = g.Append(dst, r.Turns[turn], end, max(context-more-len(dst), 0))
		if err != nil || !fit && turn == last {
			return dst, 0, fit, err
		}
		if !fit || len(dst)+more >= context && turn < last {
			break
		}
		ends, end = append(ends, len(dst)), r.Turns[turn]
		if len(dst)+more <= limit {
			kept = len(ends)
		}
		if turn == 0 {
			kept = len(ends) // all fit
		}
	}
	dst = dst[:ends[kept-1]]
	slices.Reverse(dst[head:])
	for i, end := range ends[:kept] {
		begin := head
		if i > 0 {
			begin = ends[i-1]
		}
		slices.Reverse(dst[head+len(dst)-end : head+len(dst)-begin])
	}
	return dst, len(r.Turns) - kept, true, nil
}
