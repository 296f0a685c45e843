// Package page serves the page on which people see a gateway, or a fleet of them: its API, its files, and the way of its
// playground to the gateway.
//
// It does not know where the status and the metrics that it shows come from.
package page
