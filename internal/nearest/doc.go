// Package nearest finds the known word that a misspelt word most likely stands for.
//
// It must not know what the words mean.
package nearest
