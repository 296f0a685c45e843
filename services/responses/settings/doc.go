// Package settings has what can change while the responses service runs, and the snapshot of it that a request keeps.
//
// It knows the models by their names and the operator's tools. It does not know requests, or when settings change.
package settings
