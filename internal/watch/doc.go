// Package watch reports when the content of files changes, whichever way a file is replaced: in place, by an editor's
// rename, or by the symlinks of a Kubernetes volume.
//
// It knows files and folders. It does not know what is in a file, or which code reads it.
package watch
