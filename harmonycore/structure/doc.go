// Package structure finds the messages in the text that a model writes. There is an [Adapter] for each form of text.
//
// It does not know where the text comes from, nor what becomes of the messages.
package structure
