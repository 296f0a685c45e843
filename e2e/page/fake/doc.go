// Package fake is a fleet for the page to show, without the fleet: a status, an hour of load, and recorded requests.
//
// It knows the types that the page's server takes. It does not know the page.
package fake
