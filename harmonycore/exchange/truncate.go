package exchange

import "slices"

// truncate leaves the oldest turns out of a prompt: as few as make it no longer than most tokens, and if none do, all but
// the last. starts are where its messages begin, turns the messages with which turns do. It returns how many are left out.
//
// What is left of the prompt is what a request without these turns would be rendered as: messages are rendered one by one,
// and which reasoning is dropped is decided by what comes behind it.
func truncate(prompt []uint32, turns, starts []int, most int) ([]uint32, int) {
	at := func(turn int) int { return starts[turns[turn]] }
	dropped := 0
	for dropped < len(turns)-1 && len(prompt)-(at(dropped)-at(0)) > most {
		dropped++
	}
	return slices.Delete(prompt, at(0), at(dropped)), dropped
}
