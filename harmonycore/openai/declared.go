package openai

// DeclaredTools is what the member tools is read to. Requests can share it: no reader changes it.
type DeclaredTools struct {
	Tools []Tool
	// Echo is the value of [ResponsesEcho.Tools].
	Echo string
}

// ToolMemory has the declared tools of earlier requests.
type ToolMemory interface {
	// Recall returns what the same JSON was read to in a request to the same API, or nil. json lies in the body. If a body
	// has several such members, Recall is called for each, and the last one counts.
	Recall(json []byte) *DeclaredTools
}

// Remembers makes the decoders of the body ask a memory before they read tools.
func (b *Body) Remembers(m ToolMemory) { b.memory = m }

// recall returns what is remembered of tools.
func recall(m ToolMemory, v value) *DeclaredTools {
	if m == nil {
		return nil
	}
	return m.Recall(v.raw)
}

// Limits reports whether the choice may leave out some of the tools.
func (c *ToolChoice) Limits() bool { return c.none || c.allowed != nil }
