// Package ads gives every Envoy that connects the same resources over delta ADS, and knows which Envoy has accepted
// which of them.
//
// It knows xDS resources and Envoys, not models, pools or the operator's file, nor what is in a resource.
package ads
