// Package completion answers requests to OpenAI's APIs with a model in the same program. The body of a Chat Completions
// or Responses request becomes a prompt in token ids. The ids that the model generates become the body of the response.
//
// It knows the whole translation. It does not know how tokens are generated or how requests arrive.
//
// Make one [Translator] for a model. [Translator.Chat] and [Translator.Responses] turn a request into a [Completion],
// which holds the prompt and the sampling parameters. Pass the model's tokens to [Completion.Write] as they come, and
// call [Completion.End] when the model stops. Both return bytes for the client: chunks or events of a stream, or the
// whole answer at its end. An error is an [*Error] with a status and a body in OpenAI's form, or the stream's last
// event.
//
// The package is package exchange without an inference server. It treats requests and answers as the gateway does.
//
// The package's API is stable: docs/library.md lists what stays compatible.
package completion
