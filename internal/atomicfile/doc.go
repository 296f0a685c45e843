// Package atomicfile writes files so that a reader finds the old content or the new one, and never a part.
//
// It knows files. It does not know what is in them.
package atomicfile
