package proxy

// Cut says where a server's stream is split before the filter gets it. A filter must do the same wherever a stream is
// cut, and the network cuts where it likes.
type Cut struct {
	// Every cuts after so many bytes; 0 does not.
	Every int
	// At are offsets in the body at which it is cut as well.
	At []int
}

// cutter is one body on its way.
type cutter struct {
	cut    *Cut
	offset int
}

// split calls each with the pieces of p in order, and says which is the last.
func (c *cutter) split(p []byte, each func(piece []byte, last bool)) {
	if c.cut == nil || len(p) == 0 {
		each(p, true)
		return
	}
	for len(p) > 0 {
		size := len(p)
		if c.cut.Every > 0 {
			size = min(size, c.cut.Every)
		}
		for _, at := range c.cut.At {
			if ahead := at - c.offset; ahead > 0 {
				size = min(size, ahead)
			}
		}
		piece := p[:size]
		p = p[size:]
		c.offset += size
		each(piece, len(p) == 0)
	}
}
