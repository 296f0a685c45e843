// Package relay passes a client's request for an answer of Chat Completions or Messages on to the gateway, and the
// answer back, byte for byte. It ends a stream that the model's server has cut with an error of the API, asks once more
// for an answer that was lost before its client has seen any of it, and keeps quiet streams alive.
//
// It knows where the events of a stream end, which one is the last, and which show nothing yet. It does not know what a
// request asks for, or who sends it.
package relay
