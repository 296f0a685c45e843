// Package nearest finds the word that somebody may have meant who wrote another.
//
// It must not know what the words stand for.
package nearest
