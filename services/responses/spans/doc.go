// Package spans makes the spans of the responses service.
//
// It knows OpenTelemetry and the names of attributes. Spans have no text of a request or an answer, and no ids of
// what is stored. Their errors are codes: an error's message may repeat what a client or a tool wrote. Only the
// gateway's spans have counts of tokens, so that sums are right. It does not know what a span is of.
package spans
