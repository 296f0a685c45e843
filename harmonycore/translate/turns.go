package translate

// turns are the indices of the messages at which a conversation can continue after its head, if everything in between
// is left out. These are the first message after the head, and every user's message that does not stand between a call
// and its result. turns is nil if nothing may be left out (RATIONALE.md#51).
type turns []int

// addUser records that the message at index next is a user's.
func (t turns) addUser(next int) turns {
	if n := len(t); n == 0 || t[n-1] == next {
		return t
	}
	return append(t, next)
}

// addResult records that the next message is the result of the call at this index.
func (t turns) addResult(call int) turns {
	for len(t) > 1 && t[len(t)-1] > call {
		t = t[:len(t)-1]
	}
	return t
}
