// Package ledgertest has the tests of every ledger.
//
// It knows what a ledger answers. It does not know where the ledger keeps its numbers.
package ledgertest
