// Package completion answers requests of OpenAI's APIs with a model in the same program: the body of a Chat Completions or
// Responses request becomes a prompt in token ids, and the ids that the model generates become the body of the response.
//
// It knows the translation as a whole, not how tokens are generated nor how requests arrive.
//
// A [Translator] is made once for a model. [Translator.Chat] and [Translator.Responses] make a [Completion] of a request:
// it holds the prompt and how to sample. The model's tokens go into [Completion.Write] as they come, and
// [Completion.End] is called where the model stops. Both return what the client gets: chunks or events of a stream, or
// the whole answer at its end. Errors are an [*Error] with a status and a body in OpenAI's shape, or the stream's last
// event.
//
// The package is package exchange without an inference server: whatever the gateway does to a request and to an answer,
// it does as well.
//
// The package is promised: docs/library.md says what stays compatible.
package completion
