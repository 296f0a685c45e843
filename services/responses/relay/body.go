package relay

import "io"

// once is a body that is forgotten as it is sent: a request may wait for minutes then, and its body is most of it.
type once struct {
	left []byte
	// spent is called when nothing is left.
	spent func()
}

// Read implements [io.Reader].
func (o *once) Read(p []byte) (int, error) {
	if len(o.left) == 0 {
		if o.spent != nil {
			o.spent()
			o.left, o.spent = nil, nil
		}
		return 0, io.EOF
	}
	n := copy(p, o.left)
	o.left = o.left[n:]
	return n, nil
}

// minSpent is the size from which a body is forgotten. Go's client sends a smaller one again by itself where it turns
// out that an idle connection was closed. Of a larger one some has been written by then.
const minSpent = 64 << 10
