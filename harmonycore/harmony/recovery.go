package harmony

// Recovery is a kind of malformed output that [StreamParser] and [TextParser] repair.
type Recovery uint8

// The recoveries.
const (
	// StrayTerminator is an end, return or call between messages or behind an empty header.
	StrayTerminator Recovery = iota
	// StrayControl is a control token that was dropped where it means nothing.
	StrayControl
	// UnknownToken is an id outside the vocabulary, dropped.
	UnknownToken
	// DoubledStart is a start inside a header, which began again.
	DoubledStart
	// DoubledChannel is a second channel in a header, which took the place of the first.
	DoubledChannel
	// MissingStart is a header that began without start.
	MissingStart
	// MissingMessage is a header that ended before its message token; its text became content.
	MissingMessage
	// MissingEnd is a start, or a new header, inside content: the open message was closed.
	MissingEnd
	// ImplicitFinal is text without any header, delivered as a final message.
	ImplicitFinal
	// AfterStop is a message behind a return or a call.
	AfterStop
	// ChannelInContent is a channel token and a known channel's name inside content, taken as a new header.
	ChannelInContent
	// LongHeader is a header that grew past its limit; its text became content.
	LongHeader
	// DroppedHeader is a header without content that was given up: cut off, or ended with nothing in it.
	DroppedHeader
	// RepairedRole is a role word that was missing, doubled, glued or unknown.
	RepairedRole
	// RepairedChannel is a channel without a name or a marker, with a name that only begins like a known one, or with a
	// recipient's.
	RepairedChannel
	// UnknownChannel is a channel that no prefix makes known; its name was kept.
	UnknownChannel
	// RepairedRecipient is a recipient that was empty, doubled, cut at a marker or came behind the content type.
	RepairedRecipient
	// LooseWords are words in a header that no rule takes.
	LooseWords
	// InvalidText is a part that is not UTF-8, delivered as U+FFFD.
	InvalidText

	recoveryKinds = iota
)

var recoveryNames = [recoveryKinds]string{
	StrayTerminator: "stray_terminator", StrayControl: "stray_control", UnknownToken: "unknown_token",
	DoubledStart: "doubled_start", DoubledChannel: "doubled_channel", MissingStart: "missing_start",
	MissingMessage: "missing_message", MissingEnd: "missing_end", ImplicitFinal: "implicit_final",
	AfterStop: "after_stop", ChannelInContent: "channel_in_content", LongHeader: "long_header",
	DroppedHeader: "dropped_header", RepairedRole: "repaired_role", RepairedChannel: "repaired_channel",
	UnknownChannel: "unknown_channel", RepairedRecipient: "repaired_recipient", LooseWords: "loose_words",
	InvalidText: "invalid_text",
}

// String is the kind's name in metrics and in `harmony inspect`.
func (k Recovery) String() string {
	if int(k) < len(recoveryNames) {
		return recoveryNames[k]
	}
	return ""
}

// Recoveries counts what was repaired, by [Recovery].
type Recoveries [recoveryKinds]uint32

// Total is the sum over all kinds.
func (r *Recoveries) Total() uint64 {
	var n uint64
	for _, c := range r {
		n += uint64(c)
	}
	return n
}
