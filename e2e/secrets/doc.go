// Package secrets tests sealed reasoning and its keys, and that no text of a request or of an answer is logged.
//
// It knows what clients send and what is logged, not how text is encrypted.
package secrets
