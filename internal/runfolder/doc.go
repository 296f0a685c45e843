// Package runfolder makes temporary folders for one run of a program, and removes the folders of runs that were killed.
//
// It does not know what is in the folders.
package runfolder
