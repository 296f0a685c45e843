// Package ledger counts what clients have reserved and used: one reservation and one settlement a request, in whatever
// order they arrive and however often, held to limits of requests, tokens and requests at once.
//
// It knows clients, models and numbers by name. It does not know Envoy, HTTP, the operator's YAML, or where the numbers
// of other processes are kept.
package ledger
