package explain

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// meanings describe each kind of recovery for readers who do not know the parser: what was found and what was done
// about it.
var meanings = map[harmony.Recovery]string{
	harmony.StrayTerminator:   "an end, return or call token that ends nothing; dropped",
	harmony.StrayControl:      "a control token that means nothing here; dropped",
	harmony.UnknownToken:      "an id that the vocabulary does not have; dropped",
	harmony.DoubledStart:      "a start token inside a header; the header began again",
	harmony.DoubledChannel:    "a second channel in one header; it took the place of the first",
	harmony.MissingStart:      "a header without a start token",
	harmony.MissingMessage:    "a header that ended without a message token; what is no field became content",
	harmony.MissingEnd:        "a new message inside of one; the open one was closed",
	harmony.ImplicitFinal:     "text without any header; taken for a final answer",
	harmony.AfterStop:         "a message behind a return or call token, where a model should have stopped",
	harmony.ChannelInContent:  "a channel token and a channel's name inside content; taken for a new header",
	harmony.LongHeader:        "a header that did not end; what is no field became content",
	harmony.DroppedHeader:     "a header with nothing behind it; dropped",
	harmony.RepairedRole:      "a role that was missing, doubled, glued to a word or unknown",
	harmony.RepairedChannel:   "a channel without a name, or misspelled; the nearest known one was taken, if any",
	harmony.UnknownChannel:    "a channel that nobody knows; its name was kept",
	harmony.RepairedRecipient: "a recipient that was empty, doubled, misplaced or ran into a marker",
	harmony.LooseWords:        "words in a header that are no field; dropped",
	harmony.InvalidText:       "bytes that are not UTF-8; replaced by U+FFFD",
	harmony.MissingMark:       "reasoning without the mark that ends it",
	harmony.ImplicitSplit:     "text without any header; taken for reasoning, a mark and an answer",
}

// Meaning returns a one-clause description of a kind of recovery.
func Meaning(kind harmony.Recovery) string { return meanings[kind] }
