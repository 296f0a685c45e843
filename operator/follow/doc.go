// Package follow reads the operator's file with all that it refers to, hands out versions of it while it changes, and
// runs the parts of a program by them.
//
// It knows the file, the keys file and the values of secrets. It does not know what a part does with a version.
package follow
