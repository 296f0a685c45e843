// Package fields tests each field of requests: the tables in docs/, OpenAI's schemas, wrong values, and texts that
// spell control tokens.
//
// It knows requests and their refusals, not the answers of the model.
package fields
