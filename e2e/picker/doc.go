// Package picker tests pools whose servers are chosen by an endpoint picker: ours, somebody else's, and one in front.
//
// It knows which server a request reaches and why, not what the answers say.
package picker
