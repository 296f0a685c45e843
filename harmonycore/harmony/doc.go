// Package harmony renders conversations to Harmony token ids and parses what a gpt-oss model answers, as ids or as
// text.
//
// It knows messages, channels and control tokens, not the OpenAI APIs, inference servers or HTTP.
//
// A [Renderer] makes a prompt of a [Conversation]. The model is then sampled until one of two tokens:
// [tokenizer.Return] ends its answer, and [tokenizer.Call] ends a tool call, which is answered with a message of the
// role [Tool]. A parser takes the model's tokens one by one:
//
//   - A [StreamParser] never fails. Whatever the model writes becomes messages for a [Sink]. Repairs are counted as
//     [Recoveries].
//   - A [TextParser] does the same for servers that return text instead of ids.
//   - A [StrictParser] is equal to OpenAI's own parser, openai-harmony 0.0.8, errors included. A [StrictCheck] finds its
//     first error, and keeps no messages.
//
// [Collect] parses a whole answer at once, and [Parts] lists its content as reasoning, text, preambles, calls and
// results.
//
// No parser allocates memory for each token. A [StrictParser] keeps what it has read; the others keep only what they
// cannot decide yet. A parser is for one stream and one goroutine.
//
// Text of users is only text: no spelling in it becomes a control token. The tokenizer is
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer], with the vocabulary of
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k].
//
// The package is promised: docs/library.md says what stays compatible.
package harmony
