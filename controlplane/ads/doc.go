// Package ads sends the same resources over delta ADS to every Envoy that connects. It records which Envoy has accepted
// which of them.
//
// It knows xDS resources and Envoys. It does not know models, pools, the operator's file, or what a resource contains.
package ads
