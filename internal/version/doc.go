// Package version says which version of Harmony Edge a program, a filter or a checkout is (RATIONALE.md#111).
//
// It knows how versions are spelled, and where a build finds its own. It does not know what is built or released.
package version
