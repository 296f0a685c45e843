// Package clients reads the keys file: the clients of a gateway, the hashes of their keys, and their limits.
//
// It knows the file's form. It does not know who checks keys, who counts, or how a request is read.
package clients
