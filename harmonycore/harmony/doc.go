// Package harmony renders conversations to Harmony token ids and parses what a gpt-oss model answers, as ids or as text.
//
// It knows messages, channels and control tokens, not the OpenAI APIs, inference servers or HTTP.
package harmony
