// Package promptrules asks every front end for gpt-oss what it makes of the same conversations, compares the prompts id
// by id, and attributes each difference to a named rule. It writes the tables of docs/prompt-rules.md.
//
// It knows front ends by their HTTP. It does not know how they render.
package promptrules
