// Package repetition finds a model that says the same again and again, in the ids that it samples.
//
// It must not know what the ids mean, whose answer they are, or what happens to it.
package repetition
