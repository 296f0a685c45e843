// Package upstream asks the gateway: it sends plain requests, reads the events of answers, and writes events like the
// gateway's.
//
// It knows HTTP and the form of events. It does not know what is asked, or what becomes of an answer.
package upstream
