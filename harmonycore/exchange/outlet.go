package exchange

// outletState is how much of the response the client has got.
//
//	held ──▶ begun ──▶ closed
//	  ├───▶ sent ────────▲
//	  └───▶ alone
type outletState uint8

const (
	// outletHeld: nothing. The headers wait until their status is certain.
	outletHeld outletState = iota
	// outletSent: the headers, before their status was certain. The host cannot hold headers.
	outletSent
	// outletBegun: the headers and the beginning of the answer.
	outletBegun
	// outletClosed: everything. That is the whole answer, an error at its end, or a cut.
	outletClosed
	// outletPassing: whatever passes. That is a reply of the gateway's own, or a response that the gateway leaves
	// unchanged.
	outletPassing
)

// outlet is the client's side of a response. It alone turns decisions on the answer into actions on held or sent
// headers. The zero outlet is for a host that holds headers.
//
// A failure while the headers are held becomes a reply with a status. A later failure becomes an event at the end of a
// stream, or a cut.
type outlet struct {
	state outletState
	// unheld reports whether the host cannot hold headers.
	unheld bool
	// cut is the value of [Report.Cut].
	cut string
}

// hold keeps the headers back. A host that cannot hold headers sends them as known so far.
func (o *outlet) hold(status int, contentType string) ResponseAction {
	if !o.unheld {
		return ResponseAction{Hold: true}
	}
	o.state = outletSent
	return ResponseAction{Head: &Head{Status: status, ContentType: contentType}}
}

// wait handles a part of the response that holds nothing for the client.
func (o *outlet) wait() ResponseAction { return ResponseAction{Hold: o.state == outletHeld} }

// write sends the client a piece of the answer. Held headers are sent with the first piece.
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

// last sends the client the last piece of the answer.
func (o *outlet) last(status int, contentType string, piece []byte) ResponseAction {
	return o.close(o.write(status, contentType, piece))
}

// close ends the response with action, the last one that holds something for the client.
func (o *outlet) close(action ResponseAction) ResponseAction {
	o.state = outletClosed
	return action
}

// fail ends a response that has failed: with a reply while the headers are held, otherwise with a cut. cause is then
// the value of [Report.Cut].
func (o *outlet) fail(r *Reply, cause string) ResponseAction {
	if o.state == outletHeld {
		return o.reply(r)
	}
	return o.cutOff(cause)
}

// cutOff ends a response whose headers have been sent. The client sees a transport error.
func (o *outlet) cutOff(cause string) ResponseAction {
	late := o.state == outletSent
	o.state, o.cut = outletClosed, cause
	return ResponseAction{Reset: true, Late: late}
}

// reply replaces the response. The reply then passes through the exchange, which leaves it unchanged.
func (o *outlet) reply(r *Reply) ResponseAction {
	o.state = outletPassing
	return ResponseAction{Reply: r}
}

// pass leaves the response unchanged.
func (o *outlet) pass() ResponseAction {
	o.state = outletPassing
	return ResponseAction{Pass: true}
}

// open reports whether the client can still get more.
func (o *outlet) open() bool {
	return o.state == outletHeld || o.state == outletSent || o.state == outletBegun
}
