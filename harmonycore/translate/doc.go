// Package translate turns OpenAI requests into Harmony conversations, and the messages that a model generates into
// OpenAI answers.
//
// It knows what both formats mean. It does not know token ids, inference servers or HTTP.
package translate
