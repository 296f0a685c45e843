// Package limits is the rate limit service: it answers the rate limit filters of Envoys, which reserve a request's
// tokens before a server is chosen and settle them when the stream has ended.
//
// It knows Envoy's protocol, the headers that OpenAI's clients read, and a ledger. It does not know keys, prompts, or
// where the ledger keeps its numbers.
package limits
