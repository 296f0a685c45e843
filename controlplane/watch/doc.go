// Package watch tells when the content of files changes: however they are replaced, by an editor's rename, by the
// symlinks of a Kubernetes volume or in place.
//
// It knows files and folders, not what is in the files, nor who reads them.
package watch
