// Package gptoss is a model without weights. It answers a Harmony prompt deterministically, as a small gpt-oss would:
// with reasoning, a call of a function that fits the question, or a text. Under a structural tag, a schema or a pattern
// it writes only what fits.
//
// It knows token ids, Harmony prompts and JSON schemas. It does not know servers, requests and HTTP.
package gptoss
