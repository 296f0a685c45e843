package translate

// turns are the messages of a conversation with which it could go on behind its head, if all between was left out: the
// first one behind the head, then every user's message, but for those that stand between a call and its result. They are
// nil where nothing is to be left out.
type turns []int

// asked notes that a user's message is the next one.
func (t turns) asked(next int) turns {
	if n := len(t); n == 0 || t[n-1] == next {
		return t
	}
	return append(t, next)
}

// returned notes that the next message is the result of this call.
func (t turns) returned(call int) turns {
	for len(t) > 1 && t[len(t)-1] > call {
		t = t[:len(t)-1]
	}
	return t
}
