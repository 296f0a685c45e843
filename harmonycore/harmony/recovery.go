package harmony

// Recovery is a kind of malformed output that a parser repairs: [StreamParser], [TextParser], or one of package
// structure.
type Recovery uint8

// The recoveries.
const (
	// StrayTerminator is an end, return or call token between messages or after an empty header.
	StrayTerminator Recovery = iota
	// StrayControl is a control token without a meaning at its place. It was dropped.
	StrayControl
	// UnknownToken is an id outside the vocabulary. It was dropped.
	UnknownToken
	// DoubledStart is a start token inside a header. The header began again.
	DoubledStart
	// DoubledChannel is a second channel in a header. It replaced the first.
	DoubledChannel
	// MissingStart is a header without a start token.
	MissingStart
	// MissingMessage is a header that ended before its message token. Its text became content.
	MissingMessage
	// MissingEnd is a start token, or a new header, inside content. The open message was closed.
	MissingEnd
	// ImplicitFinal is text without any header. It was delivered as a final message.
	ImplicitFinal
	// AfterStop is a message after a return or a call token.
	AfterStop
	// ChannelInContent is a channel token inside content with a known channel's name after it. They were read as a new
	// header.
	ChannelInContent
	// LongHeader is a header longer than [MaxHeaderTokens]. Its text became content.
	LongHeader
	// DroppedHeader is a header without content, cut off or ended. It was dropped.
	DroppedHeader
	// RepairedRole is a missing, doubled, glued or unknown role word.
	RepairedRole
	// RepairedChannel is a channel without a name or a marker, a channel whose name only begins like a known one, or a
	// channel that holds a recipient.
	RepairedChannel
	// UnknownChannel is a channel that does not begin with a known channel's name. Its name was kept.
	UnknownChannel
	// RepairedRecipient is a recipient that was empty, doubled, cut at a marker or placed after the content type.
	RepairedRecipient
	// LooseWords are words in a header that no rule covers.
	LooseWords
	// InvalidText is a sequence of bytes that is not UTF-8. It was delivered as U+FFFD.
	InvalidText
	// MissingMark is reasoning without the mark that ends it, in a form of text that has one (package structure).
	MissingMark
	// ImplicitSplit is text without any header. It was read as reasoning, a mark, and an answer.
	ImplicitSplit

	recoveryKinds = iota
)

var recoveryNames = [recoveryKinds]string{
	StrayTerminator: "stray_terminator", StrayControl: "stray_control", UnknownToken: "unknown_token",
	DoubledStart: "doubled_start", DoubledChannel: "doubled_channel", MissingStart: "missing_start",
	MissingMessage: "missing_message", MissingEnd: "missing_end", ImplicitFinal: "implicit_final",
	AfterStop: "after_stop", ChannelInContent: "channel_in_content", LongHeader: "long_header",
	DroppedHeader: "dropped_header", RepairedRole: "repaired_role", RepairedChannel: "repaired_channel",
	UnknownChannel: "unknown_channel", RepairedRecipient: "repaired_recipient", LooseWords: "loose_words",
	InvalidText: "invalid_text", MissingMark: "missing_mark", ImplicitSplit: "implicit_split",
}

// String returns the kind's name in metrics and in `harmony inspect`.
func (k Recovery) String() string {
	if int(k) < len(recoveryNames) {
		return recoveryNames[k]
	}
	return ""
}

// Recoveries counts repairs by [Recovery].
type Recoveries [recoveryKinds]uint32

// Total returns the sum over all kinds.
func (r *Recoveries) Total() uint64 {
	var n uint64
	for _, c := range r {
		n += uint64(c)
	}
	return n
}
