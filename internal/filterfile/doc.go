// Package filterfile stamps the filter's module with its version and a checksum, and tells from a file's bytes whether
// they are such a module, whole and unchanged.
//
// It knows the file. It does not know where the file lies, or who runs it.
package filterfile
