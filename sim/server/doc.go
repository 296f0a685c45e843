// Package server is what all simulated servers have in common: how a request is accepted and recorded, the pace of an
// answer, its faults, batches and a cache, what two servers of one request hand over, and the forms that several kinds
// of servers share.
//
// It knows a kind of server as a [Protocol] only. It does not know which kinds there are: it hands on the [Options] that
// only some of them read.
package server
