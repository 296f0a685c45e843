// Package tokenizer turns text into o200k token ids and ids back into bytes, exactly as the reference does
// (docs/harmony-format.md#tokenizer).
//
// It knows text and ids, not what a message is or what the control tokens mean to it.
//
// A [Tokenizer] comes from package [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k], which has the
// vocabulary. There are two ways in:
//
//   - [Tokenizer.AppendEncode] is for everything that comes from data. A spelled-out control token stays plain text, so
//     that no user can forge one.
//   - [Tokenizer.AppendEncodeSpecial] is for text that the program itself has written, control tokens included.
//
// An [Encoder] is scratch memory for a caller that encodes often. A [Decoder] decodes a stream of ids.
//
// The package is promised: docs/library.md says what stays compatible.
package tokenizer
