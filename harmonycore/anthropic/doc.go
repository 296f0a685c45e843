// Package anthropic reads the requests and writes the answers of Anthropic's Messages API.
//
// It knows field names and their types. It does not know Harmony, tokens, inference servers or HTTP. Of package openai
// it uses the body that every API's requests begin as, and the errors that are written in each API's own shape.
package anthropic
