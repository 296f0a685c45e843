// Package meshtest compares the objects for a mesh with golden files, for the tests of all meshes.
//
// It knows files and objects. It does not know what is in an object.
package meshtest
