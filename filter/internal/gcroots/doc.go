// Package gcroots reduces the memory that TinyGo's collector scans for pointers, and tells how much was allocated.
//
// It knows TinyGo's runtime and how the module is linked. It does not know what the filter does.
package gcroots
