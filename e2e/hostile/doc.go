// Package hostile makes the large requests that a client could send to hold a worker: families of them, each of any size.
//
// It knows what requests look like, not what the gateway says of them or how long it takes.
package hostile
