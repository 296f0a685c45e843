// Package module makes a program the filter. Package main of a module calls [Start] while it initialises, as filter
// does, and tools/build-filter.sh builds it (docs/structure.md).
//
// It knows what a module may bring of its own. It does not know how a filter works.
package module
