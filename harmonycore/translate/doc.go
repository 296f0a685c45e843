// Package translate turns OpenAI requests into Harmony conversations, and the messages that a model answers with into
// OpenAI answers.
//
// It knows both sides' meanings, not token ids, inference servers or HTTP.
package translate
