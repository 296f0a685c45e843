// Package queue orders the requests that wait for a pool's servers: by class, fairly among clients by what requests
// cost, and within bounds.
//
// It knows clients, costs and times. It does not know servers, requests' contents, and how a request waits.
package queue
