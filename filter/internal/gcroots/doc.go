// Package gcroots reduces the memory that TinyGo's collector scans for pointers.
//
// It knows TinyGo's runtime and how the module is linked. It does not know what the filter does.
package gcroots
