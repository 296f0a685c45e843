// Package openai reads the requests and writes the answers of OpenAI's Chat Completions and Responses APIs.
//
// It knows field names and their types. It does not know Harmony, tokens, inference servers or HTTP.
package openai
