// Package gcroots narrows what TinyGo's collector takes for pointers.
//
// It knows TinyGo's runtime and how the module is linked, not what the filter does.
package gcroots
