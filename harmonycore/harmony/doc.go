// Package harmony renders conversations to Harmony token ids and parses the ids that a gpt-oss model answers with.
//
// It knows messages, channels and control tokens, not the OpenAI APIs, inference servers or HTTP.
package harmony
