// Package handover is what the filter and the responses service tell each other of an answer that another server may
// have to finish: what of it has been sampled, in the stream, and where to go on, behind a request's body.
//
// It knows tokens by their ids, and the keys that both sides have. It does not know what an answer says, or who sends a
// request.
package handover
