package openai

// IgnoredKind is the kind of an item whose meaning the model does not get.
type IgnoredKind uint8

// The values of [IgnoredKind].
const (
	// IgnoredUnknown is an item of a type that the gateway does not know.
	IgnoredUnknown IgnoredKind = iota
	// IgnoredCompaction stands for items that only its maker can read. The model gets a note.
	IgnoredCompaction
	// IgnoredReasoning is reasoning that only its maker can read, and that has no text.
	IgnoredReasoning
	// IgnoredBilling is a line of a system prompt that says who pays.
	IgnoredBilling
	// IgnoredSignature is a seal of another service beside the text of reasoning, which the model gets.
	IgnoredSignature
	// IgnoredMember is a member of the body that the gateway does not know.
	IgnoredMember
	// IgnoredKinds is the number of kinds.
	IgnoredKinds
)

// String returns the kind's name in metrics.
func (k IgnoredKind) String() string {
	switch k {
	case IgnoredUnknown:
		return "unknown"
	case IgnoredCompaction:
		return "compaction"
	case IgnoredReasoning:
		return "reasoning"
	case IgnoredBilling:
		return "billing"
	case IgnoredSignature:
		return "signature"
	case IgnoredMember:
		return "member"
	default:
		return ""
	}
}

// Ignored counts ignored items by kind.
type Ignored [IgnoredKinds]int

// Any reports whether there are any.
func (i *Ignored) Any() bool {
	for _, n := range i {
		if n > 0 {
			return true
		}
	}
	return false
}

// compactionNote returns what the model gets for a compaction that cannot be read. It stands where the summary would,
// and is the user's as that is.
func compactionNote() InputItem {
	return InputItem{Kind: ItemMessage, Role: RoleUser, Content: []string{
		"[An earlier part of this conversation was compacted by another service and cannot be read here.]",
	}}
}
