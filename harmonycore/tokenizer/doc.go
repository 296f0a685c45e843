// Package tokenizer turns text into o200k token ids and ids back into bytes, exactly as the reference does
// (docs/harmony-format.md#tokenizer).
//
// It knows text and ids. It does not know what a message is, or what control tokens mean in it.
//
// A [Tokenizer] comes from package [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k], which holds the
// vocabulary. There are two ways to encode text:
//
//   - [Tokenizer.AppendEncode] is for all text from outside the program. A spelled-out control token stays plain text,
//     so that no user can forge one.
//   - [Tokenizer.AppendEncodeSpecial] is for text that the program itself has written, control tokens included.
//
// An [Encoder] is reusable memory for a caller that encodes often. A [Decoder] decodes a stream of ids.
//
// The package's API is stable: docs/library.md lists what stays compatible.
package tokenizer
