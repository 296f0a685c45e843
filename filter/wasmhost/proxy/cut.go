package proxy

// Cut sets where a server's stream is split before the filter receives it. The network may cut a stream anywhere, and a
// filter must behave the same wherever it is cut.
type Cut struct {
	// Every cuts after every so many bytes; 0 means no such cuts.
	Every int
	// At are offsets in the body at which it is cut as well.
	At []int
}

// cutter cuts one body.
type cutter struct {
	cut    *Cut
	offset int
}

// split calls each with the pieces of p, in order; last reports whether a piece is the last of p.
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
