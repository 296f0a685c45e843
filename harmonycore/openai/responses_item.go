package openai

// OutputKind tells the items of a response's output apart.
type OutputKind uint8

// The kinds of output items.
const (
	OutputMessage OutputKind = iota + 1
	OutputReasoning
	OutputCall
	OutputCustomCall
)

// OutputItem is one item of a response's output.
type OutputItem struct {
	Kind   OutputKind
	ID     string
	Status string
	// Phase is that of an OutputMessage.
	Phase string
	// CallID, Name and Namespace are those of a call; Namespace may be empty.
	CallID, Name, Namespace string
	// Text is the message's or the reasoning's text or the call's arguments or input so far, escaped as
	// jsontext.AppendEscaped writes it.
	Text []byte
	// Hidden says that an OutputReasoning shows no text.
	Hidden bool
	// Sealed is an OutputReasoning's encrypted_content as JSON text, or empty where the client has not asked for it.
	Sealed []byte
}

func (o *OutputItem) isCall() bool { return o.Kind == OutputCall || o.Kind == OutputCustomCall }

// textMember is the name of the member that a call's text is in.
func (o *OutputItem) textMember() string {
	if o.Kind == OutputCustomCall {
		return `,"input":`
	}
	return `,"arguments":`
}

// AppendJSON appends the item as it is when it is finished.
func (o *OutputItem) AppendJSON(dst []byte) []byte { return o.append(dst, true) }

// append writes the item; without its content it is one that just begins.
func (o *OutputItem) append(dst []byte, content bool) []byte {
	dst = appendMember(dst, `{"id":`, o.ID)
	switch o.Kind {
	case OutputReasoning:
		dst = appendMember(dst, `,"type":"reasoning","status":`, o.Status)
		dst = append(dst, `,"summary":[],"content":[`...)
		if content && !o.Hidden {
			dst = o.appendPart(dst, o.Text)
		}
		dst = append(dst, ']')
		if len(o.Sealed) > 0 {
			dst = append(append(dst, `,"encrypted_content":`...), o.Sealed...)
		}
		return append(dst, '}')
	case OutputCall, OutputCustomCall:
		if o.Kind == OutputCustomCall {
			dst = append(dst, `,"type":"custom_tool_call"`...)
		} else {
			dst = append(dst, `,"type":"function_call"`...)
		}
		dst = appendMember(dst, `,"status":`, o.Status)
		dst = append(dst, o.textMember()...)
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
		return append(dst, '}')
	default:
		dst = appendMember(dst, `,"type":"message","status":`, o.Status)
		dst = append(dst, `,"content":[`...)
		if content {
			dst = o.appendPart(dst, o.Text)
		}
		dst = appendMember(dst, `],"phase":`, o.Phase)
		return append(dst, `,"role":"assistant"}`...)
	}
}

// appendPart writes the one content part that a message or a reasoning has.
func (o *OutputItem) appendPart(dst, text []byte) []byte {
	if o.Kind == OutputReasoning {
		dst = append(dst, `{"type":"reasoning_text","text":`...)
		return append(appendEscapedString(dst, text), '}')
	}
	dst = append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":`...)
	return append(appendEscapedString(dst, text), '}')
}
