package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// truncated appends the messages of a conversation to dst, which is empty, and leaves out the oldest turns if not all
// fit the context: as few as leave room for an answer, and if none do, all but the last. more is how many tokens follow
// the messages. It returns how many turns are left out, and reports whether the last one fits.
//
// The turns are rendered from the last to the first, until no more fit: a history may be far longer than the context.
// What is left of the prompt is what a request without the others would be rendered as: messages are rendered one by
// one, and which reasoning is dropped is decided by what comes after it.
func truncated(dst []uint32, g *harmony.Rendering, r *translate.Request, context, more int) (
	out []uint32, dropped int, fit bool, err error,
) {
	dst, fit, err = g.Append(dst, 0, r.Turns[0], context)
	if err != nil || !fit {
		return dst, 0, fit, err
	}
	head, last := len(dst), len(r.Turns)-1
	// Clients that always ask for more than they need must not lose their conversation for it.
	room := context / 4
	if answer := r.Sampling.MaxTokens; answer > 0 {
		room = min(room, answer)
	}
	most := context - max(room, 1)
	// ends are where the turns end in dst, the last one first. kept is how many of them leave room for the answer.
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
		if len(dst)+more <= most {
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
