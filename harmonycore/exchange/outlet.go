package exchange

// outletState is how much of the response the client has.
//
//	held ──▶ begun ──▶ closed
//	  ├───▶ sent ────────▲
//	  └───▶ alone
type outletState uint8

const (
	// outletHeld: nothing. The headers wait until their status is certain.
	outletHeld outletState = iota
	// outletSent: the headers, before their status was certain. The host can hold none.
	outletSent
	// outletBegun: the headers and the beginning of the answer.
	outletBegun
	// outletClosed: all that it gets, be it the whole answer, an error at its end, or a cut.
	outletClosed
	// outletPassing: everything passes unchanged. It is a reply of the gateway, or a response that the gateway leaves as
	// it came.
	outletPassing
)

// outlet is the client's side of a response. It is the one place that turns what is decided of the answer into what the
// host does with held or sent headers. The zero outlet is for a host that holds headers.
//
// Whatever fails while the headers are held becomes a reply with a status. What fails after that is an event at the end
// of a stream, or a cut.
type outlet struct {
	state outletState
	// unheld reports whether the host can hold no headers.
	unheld bool
	// cut is the value of [Report.Cut].
	cut string
}

// hold keeps the headers back. A host that can hold none sends them as they would be by what is known now.
func (o *outlet) hold(status int, contentType string) ResponseAction {
	if !o.unheld {
		return ResponseAction{Hold: true}
	}
	o.state = outletSent
	return ResponseAction{Head: &Head{Status: status, ContentType: contentType}}
}

// wait is for a part of the response that has nothing for the client.
func (o *outlet) wait() ResponseAction { return ResponseAction{Hold: o.state == outletHeld} }

// write gives the client a piece of the answer. Held headers go with the first piece.
func (o *outlet) write(status int, contentType string, piece []byte) ResponseAction {
	if o.state == outletBegun {
		return ResponseAction{Body: piece}
	}
	if len(piece) == 0 {
		return o.wait()
	}
	action := ResponseAction{Body: piece}
	if o.state == outletHeld {
		action.Head = &Head{Status: status, ContentType: contentType}
	}
	o.state = outletBegun
	return action
}

// last gives the client the last piece of the answer.
func (o *outlet) last(status int, contentType string, piece []byte) ResponseAction {
	return o.close(o.write(status, contentType, piece))
}

// close ends the response with action, the last that has something for the client.
func (o *outlet) close(action ResponseAction) ResponseAction {
	o.state = outletClosed
	return action
}

// fail ends a response that cannot go on: by a reply while the headers are held, and else by a cut, of which cause is
// the value of [Report.Cut].
func (o *outlet) fail(r *Reply, cause string) ResponseAction {
	if o.state == outletHeld {
		return o.reply(r)
	}
	return o.cutOff(cause)
}

// cutOff ends a response whose headers have gone. The client sees a transport error.
func (o *outlet) cutOff(cause string) ResponseAction {
	late := o.state == outletSent
	o.state, o.cut = outletClosed, cause
	return ResponseAction{Reset: true, Late: late}
}

// reply answers in place of the response. The reply then passes through the exchange, which leaves it alone.
func (o *outlet) reply(r *Reply) ResponseAction {
	o.state = outletPassing
	return ResponseAction{Reply: r}
}

// pass leaves the response as it came.
func (o *outlet) pass() ResponseAction {
	o.state = outletPassing
	return ResponseAction{Pass: true}
}

// open reports whether the client has not had all that it gets.
func (o *outlet) open() bool {
	return o.state == outletHeld || o.state == outletSent || o.state == outletBegun
}
