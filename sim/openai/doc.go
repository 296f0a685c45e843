// Package openai has servers that speak OpenAI's API of any make: /v1/completions in text, and
// /v1/chat/completions, with a template of its own and with reasoning in each form that servers have.
//
// It knows OpenAI's API, and that such a server is a vLLM in everything else. It does not know the gateway's reading of
// that API.
package openai
