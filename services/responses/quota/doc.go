// Package quota limits what requests have at once: how many there are, and how much memory they take.
//
// It knows tenants, and shares what there is between them. It does not know what a request is.
package quota
