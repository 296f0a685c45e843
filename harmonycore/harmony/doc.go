// Package harmony renders conversations to Harmony token ids and parses the answers of a gpt-oss model, given as ids or
// as text.
//
// It knows messages, channels and control tokens, not the OpenAI APIs, inference servers or HTTP.
//
// A [Renderer] turns a [Conversation] into a prompt. The model is then sampled until it emits one of two tokens:
// [tokenizer.Return] ends its answer, and [tokenizer.Call] ends a tool call. The application answers a call with a
// message of the role [Tool]. A parser takes the model's tokens one by one:
//
//   - A [StreamParser] never fails. It sends whatever the model writes to a [Sink] as messages, and counts its repairs
//     as [Recoveries].
//   - A [TextParser] does the same for servers that return text instead of ids.
//   - A [StrictParser] behaves as OpenAI's own parser, openai-harmony 0.0.8, errors included. A [StrictCheck] finds the
//     first error of that parser, and keeps no messages.
//
// [Collect] parses a whole answer at once, and [Parts] lists its content as reasoning, text, preambles, calls and
// results.
//
// No parser allocates memory for each token. A [StrictParser] keeps what it has read; the others keep only what they
// cannot decide yet. A parser reads one stream, and only one goroutine may use it.
//
// A user's text stays text: no spelling in it becomes a control token. The tokenizer is
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer], with the vocabulary of
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k].
//
// The package's API is stable: docs/library.md lists what stays compatible.
package harmony
