// Package refusal has the errors of the responses service, as clients get them, and says which one an error of the
// store is.
//
// It knows the API's errors and the store's. It does not know requests, or how an error is sent.
package refusal
