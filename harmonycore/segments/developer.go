package segments

// developer finds the sections of a developer message. Instructions may have any headings, so a section begins where
// its heading is followed by what the renderer writes after it: a namespace, or the name of a format.
type developer struct {
	// tools and format are where a section may begin, as 1 more than the token.
	tools, format int
	// named reports whether the name of a namespace followed the heading of the tools. Such a section begins at the end
	// of the message if no other does: a namespace without tools has no block.
	named bool
	// heading is the last line that was no blank one, if it is a heading.
	heading Kind
}

// line takes a line of the message.
func (s *developer) line(d *divider, at int, text []byte) {
	heading := s.heading
	switch {
	case len(text) == 0:
		return
	case string(text) == "# Tools" && d.kind == Instructions:
		s.heading, s.tools, s.named = Tools, at+1, false
		return
	case string(text) == "# Response Formats":
		s.heading, s.format = Format, at+1
		return
	case hasPrefix(text, "## ") && heading == Format && d.kind != Format:
		s.end(d)
		d.begin(s.format-1, Format)
	case hasPrefix(text, "## ") && heading == Tools:
		s.named = true
	case hasPrefix(text, "namespace ") && s.named && d.kind == Instructions:
		d.begin(s.tools-1, Tools)
	}
	s.heading = 0
}

// end begins the section of the tools that has no block.
func (s *developer) end(d *divider) {
	if d.kind == Instructions && s.named {
		d.begin(s.tools-1, Tools)
	}
	s.named = false
}
