package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Tally counts what a model has generated, by its use for the client.
type Tally struct {
	// Reasoning, Preamble, Final and ToolCall count tokens of content: of the client's reasoning, of the text before its
	// calls, of its answer, and of the arguments of its calls. Control tokens and headers are not counted.
	Reasoning, Preamble, Final, ToolCall int
	// Calls is the number of calls of functions.
	Calls int
	// UnfitArguments is the number of calls whose arguments do not match the declared schema.
	UnfitArguments int
	// Messages counts messages by the channel in their header.
	Messages [channelKinds]int
	// FinalFirst reports whether the model answered before any reasoning.
	FinalFirst bool
	// NoFinal is the number of choices that the model ended by itself without a final message and without a call.
	NoFinal int
	// IncompleteBuiltIns is the number of incomplete calls of built-in tools that were dropped. Built-in tools are the
	// model's own tools that the request does not offer.
	IncompleteBuiltIns int
	// AfterCalls is the number of messages that were left out because they came after a call, where the API allows nothing
	// but calls there.
	AfterCalls int
}

// ChannelKind is a channel as [Tally] counts it.
type ChannelKind uint8

// The channels that gpt-oss is trained on, no channel, and all other channels.
const (
	AnalysisChannel ChannelKind = iota
	CommentaryChannel
	FinalChannel
	NoChannel
	OtherChannel

	channelKinds = iota
)

var channelNames = [channelKinds]string{
	AnalysisChannel: harmony.Analysis, CommentaryChannel: harmony.Commentary, FinalChannel: harmony.Final,
	NoChannel: "none", OtherChannel: "other",
}

// String returns the channel's name in metrics.
func (k ChannelKind) String() string {
	if int(k) < len(channelNames) {
		return channelNames[k]
	}
	return ""
}

// message counts a message that opens on this channel.
func (t *Tally) message(channel string) {
	kind := OtherChannel
	switch channel {
	case harmony.Analysis:
		kind = AnalysisChannel
	case harmony.Commentary:
		kind = CommentaryChannel
	case harmony.Final:
		kind = FinalChannel
		t.FinalFirst = t.FinalFirst || t.Messages[AnalysisChannel] == 0
	case "":
		kind = NoChannel
	}
	t.Messages[kind]++
}

// add adds the counts of another choice of the same request.
func (t *Tally) add(o *Tally) {
	t.Reasoning += o.Reasoning
	t.Preamble += o.Preamble
	t.Final += o.Final
	t.ToolCall += o.ToolCall
	t.Calls += o.Calls
	t.UnfitArguments += o.UnfitArguments
	t.NoFinal += o.NoFinal
	t.IncompleteBuiltIns += o.IncompleteBuiltIns
	t.AfterCalls += o.AfterCalls
	for i := range t.Messages {
		t.Messages[i] += o.Messages[i]
	}
	t.FinalFirst = t.FinalFirst || o.FinalFirst
}

// content counts tokens of a message's content.
func (t *Tally) content(l lane, tokens int) {
	switch l {
	case reasoningLane:
		t.Reasoning += tokens
	case preambleLane:
		t.Preamble += tokens
	case callLane:
		t.ToolCall += tokens
	default:
		t.Final += tokens
	}
}
