package exchange

import "slices"

// truncate leaves the oldest turns out of a prompt that does not fit the context: as few as leave room for an answer, and if
// none do, all but the last. answer is how many tokens the client wants at most, 0 if it does not say. starts are where its
// messages begin, turns the messages with which turns do. It returns how many are left out.
//
// What is left of the prompt is what a request without these turns would be rendered as: messages are rendered one by one,
// and which reasoning is dropped is decided by what comes behind it.
func truncate(prompt []uint32, turns, starts []int, context, answer int) ([]uint32, int) {
	if len(prompt) < context {
		return prompt, 0
	}
	// Clients that always ask for more than they need must not lose their conversation for it.
	room := context / 4
	if answer > 0 {
		room = min(room, answer)
	}
	most := context - max(room, 1)
	at := func(turn int) int { return starts[turns[turn]] }
	dropped := 0
	for dropped < len(turns)-1 && len(prompt)-(at(dropped)-at(0)) > most {
		dropped++
	}
	return slices.Delete(prompt, at(0), at(dropped)), dropped
}
