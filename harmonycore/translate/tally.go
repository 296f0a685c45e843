package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Tally counts what a model has written, by what it is to the client.
type Tally struct {
	// Reasoning, Final and ToolCall are tokens of content: the client's reasoning, its answer with the preambles, and the
	// arguments of its calls. Control tokens and headers are in none of them.
	Reasoning, Final, ToolCall int
	// Calls is how many functions were called.
	Calls int
	// UnfitArguments is how many calls had arguments that do not fit the declared schema.
	UnfitArguments int
	// Messages counts messages by the channel that they named.
	Messages [channelKinds]int
	// FinalFirst says that the model answered before it had reasoned.
	FinalFirst bool
	// NoFinal is how many choices the model has ended by itself without a message on its final channel and without a call.
	NoFinal int
	// HalfBuiltIns is how many calls of the model's own tools, which nobody offered, were dropped because they are not whole.
	HalfBuiltIns int
}

// ChannelKind is a channel as Tally tells them apart.
type ChannelKind uint8

// The channels that gpt-oss is trained on, none, and all others.
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

// String is the channel's name in metrics.
func (k ChannelKind) String() string {
	if int(k) < len(channelNames) {
		return channelNames[k]
	}
	return ""
}

// message counts a message that opens.
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

// add adds what another choice of the same request has counted.
func (t *Tally) add(o *Tally) {
	t.Reasoning += o.Reasoning
	t.Final += o.Final
	t.ToolCall += o.ToolCall
	t.Calls += o.Calls
	t.UnfitArguments += o.UnfitArguments
	t.NoFinal += o.NoFinal
	t.HalfBuiltIns += o.HalfBuiltIns
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
	case callLane:
		t.ToolCall += tokens
	default:
		t.Final += tokens
	}
}
