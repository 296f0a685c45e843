// Package socket serves the WebSocket mode of the Responses API: connections, their frames, lanes and queues, and the
// limits of all of them.
//
// It knows the form of frames. It does not know how a response is made, what is stored, or how clients are authorized.
package socket
