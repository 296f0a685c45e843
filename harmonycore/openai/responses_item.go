package openai

// OutputKind is the kind of an item of a response's output.
type OutputKind uint8

// The values of [OutputKind].
const (
	OutputMessage OutputKind = iota + 1
	OutputReasoning
	// OutputSummary is reasoning whose text is written as its summary.
	OutputSummary
	OutputCall
	OutputCustomCall
	OutputLocalShellCall
	OutputSearchCall
)

// shape is the form in which the text of an item is written.
type shape struct {
	// text begins the names of the events of the text. member precedes the whole text in the item. Both are empty for an
	// item without such events.
	text, member string
	// part begins the names of the events of the part that holds the text. partType is the type of the part. index is the
	// member of these events that holds the part's index. All are empty for calls, which have no parts.
	part, partType, index string
}

var shapes = [...]shape{
	OutputMessage: {"response.output_text", `,"text":`, "response.content_part", "output_text", `,"content_index":0`},
	OutputReasoning: {"response.reasoning_text", `,"text":`, "response.content_part", "reasoning_text",
		`,"content_index":0`},
	OutputSummary: {"response.reasoning_summary_text", `,"text":`, "response.reasoning_summary_part", "summary_text",
		`,"summary_index":0`},
	OutputCall:       {"response.function_call_arguments", `,"arguments":`, "", "", ""},
	OutputCustomCall: {"response.custom_tool_call_input", `,"input":`, "", "", ""},

	OutputLocalShellCall: {},
	OutputSearchCall:     {},
}

// OutputItem is one item of a response's output.
type OutputItem struct {
	Kind   OutputKind
	ID     string
	Status string
	// Phase belongs to an [OutputMessage]. It is empty if nobody knows it.
	Phase string
	// CallID, Name and Namespace belong to a call. Namespace may be empty.
	CallID, Name, Namespace string
	// Text is the text so far of a message or reasoning, or the arguments or input of a call. It is escaped, as
	// [rawjson.AppendEscaped] writes it. For an [OutputLocalShellCall] it is the action, as [LocalShellAction] writes it,
	// and for an [OutputSearchCall] the arguments, as [SearchArguments] does.
	Text []byte
	// Logprobs are the logprobs of an [OutputMessage]'s text so far, as [AppendLogprob] writes them.
	Logprobs []byte
	// Hidden reports whether the text of reasoning is left out.
	Hidden bool
	// Sealed is the reasoning's encrypted_content as JSON text. It is empty if the client has not asked for it.
	Sealed []byte
	// TokenIDs are what the answer was made of, on its last item. They are nil unless the operator has configured them.
	TokenIDs *TokenIDs
	// SampledIDs are the ids of the whole answer, on its last item, as JSON text. They are empty if the client has not
	// asked for them.
	SampledIDs []byte
}

// memberSampled is the member of [OutputItem.SampledIDs] and [InputItem.SampledIDs].
const memberSampled = "sampled_ids"

func (o *OutputItem) shape() *shape { return &shapes[o.Kind] }

// AppendJSON appends the finished item.
func (o *OutputItem) AppendJSON(dst []byte) []byte { return o.append(dst, true) }

// append writes the item. Without content it is an item that has just begun.
func (o *OutputItem) append(dst []byte, content bool) []byte {
	dst = appendMember(dst, `{"id":`, o.ID)
	switch o.Kind {
	case OutputReasoning, OutputSummary:
		dst = appendMember(dst, `,"type":"reasoning","status":`, o.Status)
		dst = append(dst, `,"summary":[`...)
		if content && !o.Hidden && o.Kind == OutputSummary {
			dst = o.appendPart(dst, o.Text)
		}
		dst = append(dst, `],"content":[`...)
		if content && !o.Hidden && o.Kind == OutputReasoning {
			dst = o.appendPart(dst, o.Text)
		}
		dst = append(dst, ']')
		if len(o.Sealed) > 0 {
			dst = append(append(dst, `,"encrypted_content":`...), o.Sealed...)
		}
	case OutputCall, OutputCustomCall:
		if o.Kind == OutputCustomCall {
			dst = append(dst, `,"type":"custom_tool_call"`...)
		} else {
			dst = append(dst, `,"type":"function_call"`...)
		}
		dst = appendMember(dst, `,"status":`, o.Status)
		dst = append(dst, o.shape().member...)
		if content {
			dst = appendEscapedString(dst, o.Text)
		} else {
			dst = append(dst, `""`...)
		}
		dst = appendMember(dst, `,"call_id":`, o.CallID)
		dst = appendMember(dst, `,"name":`, o.Name)
		if o.Namespace != "" {
			dst = appendMember(dst, `,"namespace":`, o.Namespace)
		}
	case OutputLocalShellCall:
		dst = appendMember(dst, `,"type":"local_shell_call","status":`, o.Status)
		dst = append(dst, `,"action":`...)
		if content {
			dst = append(dst, o.Text...)
		} else {
			dst = append(dst, emptyAction...)
		}
		dst = appendMember(dst, `,"call_id":`, o.CallID)
	case OutputSearchCall:
		dst = o.appendSearchCall(dst, content)
	default:
		dst = appendMember(dst, `,"type":"message","status":`, o.Status)
		dst = append(dst, `,"content":[`...)
		if content {
			dst = o.appendPart(dst, o.Text)
		}
		dst = append(dst, ']')
		if o.Phase != "" {
			dst = appendMember(dst, `,"phase":`, o.Phase)
		}
		dst = append(dst, `,"role":"assistant"`...)
	}
	if content {
		dst = o.TokenIDs.AppendMembers(dst)
		if len(o.SampledIDs) > 0 {
			dst = append(append(dst, `,"`+memberSampled+`":`...), o.SampledIDs...)
		}
	}
	return append(dst, '}')
}

// appendPart writes the only part of a message or reasoning.
func (o *OutputItem) appendPart(dst, text []byte) []byte {
	dst = appendMember(dst, `{"type":`, o.shape().partType)
	if o.Kind == OutputMessage {
		dst = append(dst, `,"annotations":[],"logprobs":[`...)
		if len(text) > 0 {
			dst = append(dst, o.Logprobs...)
		}
		dst = append(dst, ']')
	}
	return append(appendEscapedString(append(dst, `,"text":`...), text), '}')
}
