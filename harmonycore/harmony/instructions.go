package harmony

import (
	"slices"
	"strings"
)

// sections appends parts of a text with a blank line between them. An empty part counts too.
type sections struct {
	dst     []byte
	started bool
}

func (s *sections) next() {
	if s.started {
		s.dst = append(s.dst, "\n\n"...)
	}
	s.started = true
}

func (e Effort) word() string {
	switch e {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	}
	return ""
}

// appendSystem appends the text of a system message (docs/harmony-format.md#instructions). calls reports whether the
// conversation has function tools.
func appendSystem(dst []byte, c *SystemContent, calls bool) ([]byte, error) {
	s := sections{dst: dst}
	first := true
	for _, line := range [...]struct {
		label string
		text  Optional
	}{{"", c.ModelIdentity}, {"Knowledge cutoff: ", c.KnowledgeCutoff}, {"Current date: ", c.ConversationStartDate}} {
		if !line.text.Set {
			continue
		}
		if first {
			s.next()
			first = false
		} else {
			s.dst = append(s.dst, '\n')
		}
		s.dst = append(append(s.dst, line.label...), line.text.Value...)
	}
	if word := c.Effort.word(); word != "" {
		s.next()
		s.dst = append(append(s.dst, "Reasoning: "...), word...)
	}
	if err := s.tools(c.Tools); err != nil {
		return dst, err
	}
	if c.Channels != nil && len(c.Channels.Valid) > 0 {
		s.next()
		s.dst = append(s.dst, "# Valid channels: "...)
		for i, name := range c.Channels.Valid {
			if i > 0 {
				s.dst = append(s.dst, ", "...)
			}
			s.dst = append(s.dst, name...)
		}
		s.dst = append(s.dst, '.')
		if c.Channels.Required {
			s.dst = append(s.dst, " Channel must be included for every message."...)
		}
		if calls {
			s.dst = append(s.dst, "\nCalls to these tools must go to the commentary channel: 'functions'."...)
		}
	}
	return s.dst, nil
}

// appendDeveloper appends the text of a developer message (docs/harmony-format.md#instructions).
func appendDeveloper(dst []byte, c *DeveloperContent) ([]byte, error) {
	s := sections{dst: dst}
	if c.Instructions.Set {
		s.instructions(c)
	}
	err := s.tools(c.Tools)
	return s.dst, err
}

func (s *sections) instructions(c *DeveloperContent) {
	s.next()
	s.dst = append(append(s.dst, "# Instructions\n\n"...), c.Instructions.Value...)
}

// tools appends the tools section: one block for each namespace, in the byte order of their keys.
func (s *sections) tools(list []Namespace) error {
	if len(list) == 0 {
		return nil
	}
	s.next()
	s.dst = append(s.dst, "# Tools"...)
	if !slices.IsSortedFunc(list, byKey) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, byKey)
	}
	for i := range list {
		s.next()
		var err error
		if s.dst, err = appendNamespace(s.dst, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func byKey(a, b Namespace) int { return strings.Compare(a.Key, b.Key) }

func appendNamespace(dst []byte, n *Namespace) ([]byte, error) {
	dst = append(append(append(dst, "## "...), n.Name...), '\n')
	prefix := "\n"
	if len(n.Tools) > 0 {
		prefix = "\n// "
	}
	if n.Description.Set {
		dst = appendLines(dst, n.Description.Value, prefix)
	}
	if len(n.Tools) == 0 {
		return dst, nil
	}
	dst = append(append(append(dst, "\nnamespace "...), n.Name...), " {\n"...)
	for i := range n.Tools {
		tool := &n.Tools[i]
		dst = appendLines(dst, tool.Description, prefix)
		dst = append(append(append(dst, "\ntype "...), tool.Name...), " = ("...)
		if p := tool.Parameters; p != nil && !isNull(&p.value) {
			w := schemaWriter{dst: append(dst, "_: "...)}
			w.typeOf(&p.value, 0, 1)
			if w.err != nil {
				return dst, w.err
			}
			dst = w.dst
		}
		dst = append(dst, ") => any;\n"...)
	}
	return append(append(dst, "\n} // namespace "...), n.Name...), nil
}

// appendLines appends each line of text after prefix. LF or CR LF ends a line; an empty last line is left out.
func appendLines(dst []byte, text, prefix string) []byte {
	for text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		dst = append(append(dst, prefix...), line...)
		text = rest
	}
	return dst
}
