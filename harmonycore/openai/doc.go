// Package openai reads the requests and writes the answers of the Chat Completions and Responses APIs.
//
// It knows field names and their types, not Harmony, tokens, inference servers or HTTP.
package openai
