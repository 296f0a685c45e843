package openai

// Follows says that an input is the end of a conversation whose beginning was read before. Its first elements are those
// of the beginning that last ([Lasting]). They make no items.
type Follows struct {
	// Joins reports whether the beginning is nothing but instructions and tools, which more of them would join.
	Joins bool
	// Elements is how many elements of the beginning there are, and Front how many of them are read as [Lasting] ones in
	// front.
	Elements, Front int
}

// Follow makes the decoder of a Responses body read its input as the end of a conversation.
func (b *Body) Follow(f *Follows) { b.follows = f }

// Lasting is an element of the input that counts for all that comes after it: it declares tools, or changes the effort
// or the form of the answer.
type Lasting struct {
	// Element is its index, From and To are where it is in the body.
	Element, From, To int
}

// Counted is what was counted in an element of a conversation.
type Counted struct {
	Element int
	Counts
}

// Counts are numbers of parts of a conversation that are told to operators.
type Counts struct {
	// Ignored counts the items whose meaning the model does not get, and Dropped the parts that were replaced by notes.
	Ignored Ignored
	Dropped int
}

// Add adds others.
func (c *Counts) Add(o *Counts) {
	for i, n := range o.Ignored {
		c.Ignored[i] += n
	}
	c.Dropped += o.Dropped
}

// Minus returns the counts without others.
func (c Counts) Minus(o *Counts) Counts {
	for i, n := range o.Ignored {
		c.Ignored[i] -= n
	}
	c.Dropped -= o.Dropped
	return c
}

// read is how many elements of the input were read before.
func (f *Follows) read() int {
	if f == nil {
		return 0
	}
	return f.Elements
}

// lasts notes that the element that is read lasts. front reports whether it stands in front.
func (r *ResponsesRequest) lasts(front bool) {
	e := &r.declared.element
	if e.Element < r.follows.read() {
		return
	}
	if n := len(r.Lasting); n == 0 || r.Lasting[n-1].Element != e.Element {
		r.Lasting = append(r.Lasting, *e)
	}
	if front {
		r.Front = len(r.Lasting)
	}
}

// turns notes that an element changes what stands before it.
func (r *ResponsesRequest) turns(element int) {
	if element >= r.follows.read() {
		r.Turned = max(r.Turned, element+1)
	}
}

// turnsWithFirst notes that what stands in front changes with the first tools that have something, if those in front do
// not have it.
func (r *ResponsesRequest) turnsWithFirst(has func([]Tool) bool, front []Tool) {
	if has(front) {
		return
	}
	for i := range r.Declared {
		if has(r.Declared[i].Tools) {
			r.turns(r.Declared[i].Element)
			return
		}
	}
}
