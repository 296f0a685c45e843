// Package hostile makes large requests with which a client could try to hold a worker: families of them, each of any
// size.
//
// It knows the form of requests. It does not know what the gateway answers or how long that takes.
package hostile
