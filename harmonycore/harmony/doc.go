// Package harmony renders conversations to Harmony token ids and parses what a gpt-oss model answers, as ids or as text.
//
// It knows messages, channels and control tokens, not the OpenAI APIs, inference servers or HTTP.
//
// A Renderer makes a prompt of a Conversation. The model is sampled until tokenizer.Return, the end of its answer, or
// tokenizer.Call, a tool call to be answered with a message of Role Tool. What it wrote goes, token by token, into a
// parser:
//
//   - StreamParser never fails: whatever the model writes becomes messages for a Sink, and what had to be repaired is
//     counted.
//   - TextParser does the same for servers that return text instead of ids.
//   - StrictParser is equal to OpenAI's own parser, openai-harmony 0.0.8, errors included.
//
// None of them allocates memory for each token; StrictParser keeps what it has read, and StreamParser and TextParser
// only what they cannot tell yet. Parsers are for one stream and one goroutine.
//
// Text of users is only text: no spelling in it becomes a control token. The tokenizer is package tokenizer, with the
// vocabulary of package o200k.
package harmony
