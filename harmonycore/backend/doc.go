// Package backend speaks the wire formats of inference servers: a prompt's ids go in, events of generated ids come out.
//
// It knows servers' JSON, not Harmony's messages nor the OpenAI API that the client speaks.
package backend
