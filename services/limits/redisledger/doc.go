// Package redisledger keeps a ledger in Redis, for any number of processes at once. Each step is one atomic script.
//
// It knows Redis, and the keys and the scripts of the ledger. It does not know which client may do what, or who asks.
package redisledger
